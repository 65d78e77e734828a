package model

import (
	"fmt"
	"slices"
)

// The properties of what producers and workers do all day: Enqueue, Claim, and what closes an attempt.

// hot are the operations that P6 speaks of. A rescue isn't among them, but it only adds as well.
func hot(a Action) bool {
	switch a.(type) {
	case Enqueue, EnqueueTx, Claim, Complete, Fail, Retry, Snooze:
		return true
	}
	return false
}

// P6: the hot operations only insert. A row that was there is there unchanged; what is added to it stands in
// tables of its own in a database: the evidence of a ready row, the closure of a claim.
func hotOperationsOnlyAdd(p Step) error {
	if !hot(p.Action) {
		return nil
	}
	for _, e := range p.Pre.Entries() {
		after, ok := entryAt(p.Post, e.Lane, e.Seq)
		if e.Batch == 0 {
			after.Batch = 0
		}
		if !ok || after != e {
			return fmt.Errorf("the ready row of job %d was changed", e.Job)
		}
	}
	for _, c := range p.Pre.Claims() {
		after, ok := p.Post.Claim(c.ID())
		if c.Outcome == Open {
			after.Outcome = Open
		}
		if !ok || after != c {
			return fmt.Errorf("the claim of attempt %s was changed", c.ID())
		}
	}
	for _, t := range p.Pre.Terminals() {
		if !slices.Contains(p.Post.Terminals(), t) {
			return fmt.Errorf("the end of job %d was changed", t.Job)
		}
	}
	return nil
}

// P7, hazard 3: new ready rows and new claims go into the current generation; a sealed one gets nothing but what
// belongs to its own rows, so that at last nobody touches it and it can be truncated.
func sealedGetsNoNewRows(p Step) error {
	for _, e := range p.Post.Entries() {
		if _, old := entryAt(p.Pre, e.Lane, e.Seq); !old && e.Gen != p.Pre.Vars().Queue.Generation {
			return fmt.Errorf("a ready row of job %d was added to generation %d", e.Job, e.Gen)
		}
	}
	for _, c := range p.Post.Claims() {
		if _, old := p.Pre.Claim(c.ID()); !old && c.Gen != p.Pre.Vars().Claims.Generation {
			return fmt.Errorf("the claim of attempt %s was added to generation %d", c.ID(), c.Gen)
		}
	}
	for _, l := range p.Post.Leases() {
		if _, old := p.Pre.Lease(l.ID()); !old && l.Gen != p.Pre.Vars().Leases.Generation {
			return fmt.Errorf("the lease of attempt %s was added to generation %d", l.ID(), l.Gen)
		}
	}
	return nil
}

// addsBesideSealed: the step added a row to a ring that has a sealed generation, so it could have gone wrong.
func addsBesideSealed(p Step) bool {
	v := p.Pre.Vars()
	return len(p.Post.Entries()) > len(p.Pre.Entries()) && v.Queue.Pruned < v.Queue.Generation ||
		len(p.Post.Claims()) > len(p.Pre.Claims()) && v.Claims.Pruned < v.Claims.Generation ||
		len(p.Post.Leases()) > len(p.Pre.Leases()) && v.Leases.Pruned < v.Leases.Generation
}

// P4: what waits is handed out by priority, and in its lane by seq; nothing better is left waiting, wherever in
// the ring it is and however late it was committed.
func lowestIsHandedOut(p Step) error {
	claim, ok := p.Action.(Claim)
	if !ok {
		return nil
	}
	ages := waitingOrders(p.Pre, claim.Queue) // then lanes are compared by MostUrgentIsHandedOut
	for _, left := range waitingOf(p.Post, claim.Queue) {
		for _, before := range waitingOf(p.Pre, claim.Queue) {
			after, _ := entryAt(p.Post, before.Lane, before.Seq)
			if after.Batch != 0 && byPosition(left, before) < 0 && !(ages && left.Lane != before.Lane) {
				return fmt.Errorf("job %d was handed out, and job %d, which comes first, was not", before.Job, left.Job)
			}
		}
	}
	return nil
}

// handedOutAndLeft: the claim had a choice.
func handedOutAndLeft(p Step) bool {
	claim, ok := p.Action.(Claim)
	return ok && handedOut(p) && len(waitingOf(p.Post, claim.Queue)) > 0
}

// P4, P5: a claim hands out as many as it was asked for, or all that wait, in the order that it says. No job is
// skipped that can be seen, so a producer's rows are never passed over once it commits (hazard 2).
func claimSkipsNothing(p Step) error {
	claim, ok := p.Action.(Claim)
	if !ok || claimsPaused(p) {
		return nil
	}
	waiting, got := waitingOf(p.Pre, claim.Queue), p.Result.(Claimed).Handouts
	if want := min(claim.Limit, len(waiting)); len(got) != want {
		return fmt.Errorf("%d wait and %d were asked for, but %d were handed out", len(waiting), claim.Limit, len(got))
	}
	for i, h := range got {
		if !waitingOrders(p.Pre, claim.Queue) && h.Job != waiting[i].Job {
			return fmt.Errorf("place %d of the answer is job %d, not job %d", i+1, h.Job, waiting[i].Job)
		}
	}
	return nil
}

// waitingOf lists what waits in a queue, in the order in which it is due to be handed out where that is a matter of lanes alone.
func waitingOf(s Store, queue string) []EntryRow {
	first, _ := s.Config().Lane(queue, 1)
	return slices.Collect(where(s.Entries(), func(e EntryRow) bool {
		return e.Waiting() && e.Lane >= first && e.Lane < first+s.Config().LanesOfQueue()
	}))
}

func handedOut(p Step) bool {
	r, ok := p.Result.(Claimed)
	return ok && len(r.Handouts) > 0
}

// P3: run_lease counts a job's claims and never falls: each claim is one above all before it, and what goes back
// to ready takes its number along.
func leaseNeverFalls(p Step) error {
	for _, e := range p.Post.Entries() {
		if _, old := entryAt(p.Pre, e.Lane, e.Seq); !old && e.Lease < highestLease(p.Pre, e.Job) {
			return fmt.Errorf("job %d went back to ready with run_lease %d, which it had passed", e.Job, e.Lease)
		}
	}
	for _, d := range p.Post.DeferredRows() {
		if _, old := p.Pre.Deferred(d.Job); !old && d.Lease < highestLease(p.Pre, d.Job) {
			return fmt.Errorf("job %d was put off with run_lease %d, which it had passed", d.Job, d.Lease)
		}
	}
	if r, ok := p.Result.(Claimed); ok {
		for _, h := range r.Handouts {
			if highest := highestLease(p.Pre, h.Job); h.Lease != highest+1 {
				return fmt.Errorf("job %d was handed out with run_lease %d after %d", h.Job, h.Lease, highest)
			}
		}
	}
	return nil
}

// highestLease is the highest run_lease that a job's rows tell of.
func highestLease(s Store, job int) int {
	highest := 0
	for _, e := range s.Entries() {
		if e.Job == job {
			highest = max(highest, e.Lease)
		}
	}
	for _, c := range s.Claims() {
		if c.Job == job {
			highest = max(highest, c.Lease)
		}
	}
	return highest
}

// reclaimed: a job was handed out that had been before.
func reclaimed(p Step) bool {
	r, ok := p.Result.(Claimed)
	return ok && slices.ContainsFunc(r.Handouts, func(h Handout) bool { return h.Lease > 1 })
}

// P3: how an attempt ended is written once. Two closures of one claim and none of another would make counts equal
// that aren't: it is why a prune proves by sets.
func closureIsFinal(p Step) error {
	for _, c := range p.Pre.Claims() {
		if after, ok := p.Post.Claim(c.ID()); ok && c.Outcome != Open && after.Outcome != c.Outcome {
			return fmt.Errorf("attempt %s was %s and became %s", c.ID(), c.Outcome, after.Outcome)
		}
	}
	return nil
}

// closedBesideClosed: the step could have closed what was closed before.
func closedBesideClosed(p Step) bool {
	closed := func(c ClaimRow) bool { return c.Outcome != Open }
	switch p.Action.(type) {
	case Complete, Fail, Retry, Snooze, Cancel, RescueStale, RescueDeadline, CallbackTimeout:
		return slices.ContainsFunc(p.Pre.Claims(), closed)
	}
	return false
}

// tells: the operation only writes what an attempt tells of itself. It answers as a close does.
func tells(a Action) bool {
	switch a.(type) {
	case Heartbeat, Progress:
		return true
	}
	return false
}

// P3: an attempt that is told that it is stale has changed nothing. One that the same call closed, and names
// again, is told the truth both times.
func staleChangesNothing(p Step) error {
	r, ok := p.Result.(Closed)
	if !ok || tells(p.Action) {
		return nil
	}
	for _, a := range r.Attempts {
		closedHere := func(b ClosedAttempt) bool { return b.ID == a.ID && !b.Stale }
		if !a.Stale || slices.ContainsFunc(r.Attempts, closedHere) {
			continue
		}
		before, _ := p.Pre.Claim(a.ID)
		after, _ := p.Post.Claim(a.ID)
		open := before.Outcome == Open && before.Job != 0 && before.Tx == 0 // to its own transaction it is over
		if before != after || open || ends(p.Pre, a.ID) != ends(p.Post, a.ID) {
			return fmt.Errorf("attempt %s was told that it is stale, but it was open, or has ended now", a.ID)
		}
	}
	return nil
}

// ends counts the terminal rows of one attempt.
func ends(s Store, id AttemptID) int {
	n := 0
	for _, t := range s.Terminals() {
		n += one(t.Job == id.Job && t.Lease == id.Lease)
	}
	return n
}

// staleKnown: an attempt was called stale whose claim is still there to be compared.
func staleKnown(p Step) bool {
	r, ok := p.Result.(Closed)
	return ok && !tells(p.Action) && slices.ContainsFunc(r.Attempts, func(a ClosedAttempt) bool {
		_, known := p.Pre.Claim(a.ID)
		return a.Stale && known
	})
}
