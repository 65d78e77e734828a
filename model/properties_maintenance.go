package model

import (
	"fmt"
	"slices"
)

// The properties of what maintenance does beside them: rescue and prune.

// P2, hazard 4: what a prune takes away is spent. Each ready row was committed and handed out, and no attempt of
// one is open; each claim is closed. It is said of rows, whatever the rule proved and how.
func onlySpentIsPruned(p Step) error {
	gone := func(before, after Ring, gen int) bool { return before.Pruned <= gen && gen < after.Pruned }
	before, after := p.Pre.Vars(), p.Post.Vars()
	for _, e := range p.Pre.Entries() {
		if gone(before.Queue, after.Queue, e.Gen) && (!e.Visible() || e.Waiting()) {
			return fmt.Errorf("the ready row of job %d was pruned before it was handed out", e.Job)
		}
	}
	for _, l := range p.Pre.Leases() {
		if gone(before.Leases, after.Leases, l.Gen) {
			return fmt.Errorf("attempt %s waits, and its lease was pruned", l.ID())
		}
	}
	for _, c := range p.Pre.Claims() {
		if c.Outcome == Open && (gone(before.Claims, after.Claims, c.Gen) || gone(before.Queue, after.Queue, c.ReadyGen)) {
			return fmt.Errorf("attempt %s is open, and its claim or its ready row was pruned", c.ID())
		}
	}
	return nil
}

// prunedSome: an empty generation proves nothing.
func prunedSome(p Step) bool {
	status, _ := statusOf(p.Result)
	return status == Pruned &&
		(len(p.Post.Entries()) < len(p.Pre.Entries()) || len(p.Post.Claims()) < len(p.Pre.Claims()))
}

// P8: a failed row that is younger than the retention outlives every prune: where it is, or carried, once, with all that
// it says.
func retentionIsKept(p Step) error {
	prune, ok := p.Action.(PruneQueue)
	if !ok || prune.Retention <= 0 {
		return nil
	}
	for _, t := range p.Pre.Terminals() {
		young := t.State == Failed && t.FinalizedAt >= prune.Now-prune.Retention
		carried := t
		carried.Gen, carried.Wide = p.Pre.Vars().Queue.Generation, true
		if young && !slices.Contains(p.Post.Terminals(), t) && !slices.Contains(p.Post.Terminals(), carried) {
			return fmt.Errorf("job %d failed at %d and was pruned at %d", t.Job, t.FinalizedAt, prune.Now)
		}
	}
	return nil
}

// retentionMatters: a failed row stands in a sealed generation, and the prune was asked to keep such rows.
func retentionMatters(p Step) bool {
	prune, ok := p.Action.(PruneQueue)
	return ok && prune.Retention > 0 && slices.ContainsFunc(p.Pre.Terminals(), func(t TerminalRow) bool {
		return t.State == Failed && p.Pre.Vars().Queue.Sealed(t.Gen)
	})
}

// newlyRescued are the claims that the step closed as rescued, or as expired.
func newlyRescued(p Step) []ClaimRow {
	return slices.Collect(where(p.Pre.Claims(), func(c ClaimRow) bool {
		after, ok := p.Post.Claim(c.ID())
		return c.Outcome == Open && ok && givesBack(after.Outcome)
	}))
}

func rescued(p Step) bool { return len(newlyRescued(p)) > 0 }

// P2: a rescued job with attempts left waits again, with the numbers of the attempt that was lost; one without has
// failed. So a job whose worker dies each time comes to an end, and not before it was tried as often as was asked.
func rescueGivesWhatIsLeft(p Step) error {
	for _, c := range newlyRescued(p) {
		e, _ := p.Post.NewestEntry(c.Job)
		_, ended := p.Post.Terminal(c.Job)
		_, held := p.Post.DLQ(c.Job)
		ended = ended || held
		waits := e.Waiting() && e.Lease == c.Lease && e.Attempt == c.Attempt
		if left := c.Attempt < c.MaxAttempts; waits != left || ended == left {
			return fmt.Errorf("attempt %s, number %d of %d, was rescued, and waits=%t ended=%t",
				c.ID(), c.Attempt, c.MaxAttempts, waits, ended)
		}
	}
	return nil
}

// P3: a rescue closes what is older than its cutoff and nothing younger, oldest claim generation first, and
// leaves an older one only for its limit. What it closes too early runs twice; what it leaves for ever keeps a slot
// from being pruned.
func rescueTakesTheOldest(p Step) error {
	rescue, ok := p.Action.(RescueStale)
	if !ok {
		return nil
	}
	closed := newlyRescued(p)
	r := p.Result.(RescuedCount)
	if r.closed() != len(closed) || len(closed) > rescue.Limit {
		return fmt.Errorf("%s answers %s and closed %d", rescue, r, len(closed))
	}
	for _, c := range closed {
		if lastHeard(p.Pre, c) >= rescue.Now-rescue.Older {
			return fmt.Errorf("attempt %s of time %d was rescued, too young for %s", c.ID(), c.ClaimedAt, rescue)
		}
		for left := range p.Post.OpenClaims() {
			if lastHeard(p.Pre, left) < rescue.Now-rescue.Older && !waits(p.Pre, left.ID()) && inReach(p, left, c) && byAge(left, c) < 0 {
				return fmt.Errorf("attempt %s was rescued, and the older %s was not", c.ID(), left.ID())
			}
		}
	}
	for left := range p.Post.OpenClaims() {
		if lastHeard(p.Pre, left) < rescue.Now-rescue.Older && !waits(p.Pre, left.ID()) && !kept(p.Pre, left.ID()) && len(closed)+r.Busy < rescue.Limit {
			return fmt.Errorf("attempt %s is older than the cutoff of %s and is still open", left.ID(), rescue)
		}
	}
	return nil
}

// rescueLeftSome: the rescue had a choice.
func rescueLeftSome(p Step) bool {
	_, ok := p.Action.(RescueStale)
	return ok && rescued(p) && slices.ContainsFunc(p.Post.Claims(), func(c ClaimRow) bool { return c.Outcome == Open })
}

// P3: a sweep of deadlines closes what has reached its deadline and nothing else, and leaves such a one only for its
// limit. What it leaves for ever holds its claim slot; what it closes too early runs twice.
func deadlinesAreKept(p Step) error {
	rescue, ok := p.Action.(RescueDeadline)
	if !ok {
		return nil
	}
	closed := newlyRescued(p)
	r := p.Result.(RescuedCount)
	if r.closed() != len(closed) || len(closed) > rescue.Limit {
		return fmt.Errorf("%s answers %s and closed %d", rescue, r, len(closed))
	}
	expired := func(c ClaimRow) bool { return c.Deadline != 0 && c.Deadline <= rescue.Now }
	for _, c := range closed {
		if !expired(c) {
			return fmt.Errorf("attempt %s with the deadline %d was closed by %s", c.ID(), c.Deadline, rescue)
		}
	}
	for left := range p.Post.OpenClaims() {
		if expired(left) && !kept(p.Pre, left.ID()) && len(closed)+r.Busy < rescue.Limit {
			return fmt.Errorf("the deadline %d of attempt %s has passed, and %s left it open", left.Deadline, left.ID(), rescue)
		}
	}
	return nil
}

// deadlineMatters: the sweep closed one attempt and left another open.
func deadlineMatters(p Step) bool {
	_, ok := p.Action.(RescueDeadline)
	return ok && rescued(p) && slices.ContainsFunc(p.Post.Claims(), func(c ClaimRow) bool { return c.Outcome == Open })
}

// lastHeard is when the attempt was last heard of, by its rows: the claim, and what it has told.
func lastHeard(s Store, c ClaimRow) int {
	heard := c.ClaimedAt
	for _, a := range s.AttemptStates() {
		if a.ID() == c.ID() {
			heard = max(heard, a.Heartbeat)
		}
	}
	return heard
}
