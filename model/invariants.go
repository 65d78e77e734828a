package model

import (
	"cmp"
	"fmt"
	"slices"
)

// Invariant must hold of every state that operations can reach. It speaks of rows and never asks the rules, so
// that a wrong rule can't excuse itself.
//
// Invariants are given one by one, not as one conjunction: the name that fails is the diagnosis.
type Invariant struct {
	Name    string
	Promise string // which promise to a user it guards
	// Check is nil where the invariant holds; else it says of which row it doesn't.
	Check func(Store) error
	// Antecedent says whether the state is one in which the invariant could fail: one that never was has shown
	// nothing.
	Antecedent func(Store) bool
}

// Invariants are all of them: of jobs and their attempts, of what is not committed, of counts, of rings. A test has a
// wrong rule for each, which that invariant finds.
func Invariants() []Invariant {
	return []Invariant{
		// Tested when a row was handed out.
		{"NoJobIsLost", "P2", noJobIsLost, hasEntry(func(_ Store, e EntryRow) bool { return e.Batch != 0 })},
		// Tested when a job went back to ready.
		{"NoJobIsTwice", "P2", noJobIsTwice, hasEntry(func(_ Store, e EntryRow) bool { return e.Visible() && e.Lease > 0 })},
		// Tested when a job went back to ready.
		{"OneRowPerLease", "P3", oneRowPerLease, hasEntry(func(_ Store, e EntryRow) bool { return e.Visible() && e.Lease > 0 })},
		// Tested when a claim was closed.
		{"ClosureHasItsOutcome", "P2", closureHasItsOutcome, hasClaim(closedInUnpruned)},
		// Tested when a job ended.
		{"TerminalHasItsReadyRow", "P2", terminalHasItsReadyRow, hasNarrowTerminal},
		// Tested when a job was claimed again.
		{"OneOpenClaim", "P3", oneOpenClaim, hasClaim(func(_ Store, c ClaimRow) bool { return c.Lease > 1 })},
		// Tested when a job was claimed again, and runs.
		{"OpenClaimIsNewest", "P3", openClaimIsNewest, hasClaim(func(_ Store, c ClaimRow) bool {
			return c.Outcome == Open && c.Lease > 1
		})},
		// Tested when a claim is there with its ready row.
		{"ClaimHasItsEvidence", "P3", claimHasItsEvidence, hasClaim(readyRowIsUnpruned)},
		// Tested when a claim is row-local.
		{"ShapeFollowsTheJob", "P3", shapeFollowsTheJob, hasClaim(func(_ Store, c ClaimRow) bool { return c.Local != 0 })},
		// Tested when an attempt has told of itself.
		{"StateEndsWithItsAttempt", "P3", stateEndsWithItsAttempt, func(s Store) bool { return len(s.AttemptStates()) > 0 }},
		// Tested when an attempt waits.
		{"WaitingIsOpen", "P3", waitingIsOpen, func(s Store) bool { return len(s.Leases()) > 0 }},
		// Tested when a caller's transaction has completed an attempt.
		{"ClosingIsOpen", "P3", closingIsOpen, hasClaim(func(_ Store, c ClaimRow) bool { return c.Tx != 0 })},
		// Tested when a job is at its last attempt.
		{"AttemptsWithinMax", "P3", attemptsWithinMax, hasClaim(func(_ Store, c ClaimRow) bool {
			return c.Attempt == c.MaxAttempts
		})},
		// Tested when a key was taken over.
		{"OneJobPerKey", "P5", oneJobPerKey, func(s Store) bool {
			return slices.ContainsFunc(s.Uniques(), func(u UniqueRow) bool { return !u.Active })
		}},
		// Tested when a ready row is not committed.
		{"UncommittedIsUnseen", "P1", uncommittedIsUnseen, hasEntry(func(_ Store, e EntryRow) bool { return !e.Visible() })},
		// Tested when an old snapshot has written.
		{"OldSnapshotStaysOutOfTheRing", "P1", oldSnapshotStaysOutOfTheRing, hasOldSnapshotRow},
		// Tested when there is a job to count.
		{"CountsAreExact", "P9", countsAreExact, func(s Store) bool { return len(places(s)) > 0 }},
		// Tested when a ring is full, so that its next rotation would overrun it.
		{"RingIsNotOverrun", "P2", ringIsNotOverrun, aRingIsFull},
		// Tested when something was pruned, and something is there.
		{"RowsAreInUnprunedGenerations", "P2", rowsAreInUnprunedGenerations, rowsAndPruned},
		// Tested when an open claim has one of its two places in a sealed slot.
		{"OpenClaimKeepsItsSlots", "P2", openClaimKeepsItsSlots, hasClaim(func(s Store, c ClaimRow) bool {
			return c.Outcome == Open && (s.Vars().Queue.Sealed(c.ReadyGen) || s.Vars().Claims.Sealed(c.Gen))
		})},
		// Tested when a row that is not committed is in a sealed slot.
		{"OpenProducerKeepsItsSlot", "P5", openProducerKeepsItsSlot, hasEntry(func(s Store, e EntryRow) bool {
			return !e.Visible() && s.Vars().Queue.Sealed(e.Gen)
		})},
	}
}

// place is where a job is. A committed job is in exactly one place until its rows are pruned.
type place struct {
	job  int
	lane int
	is   JobState
}

// removed is the place of a job whose end an operator has taken away. No reader is told of it: to them the job isn't
// there; but nor is it lost.
const removed JobState = "removed"

// places lists the places of each committed job, job by job: by where it is, not by what any count says. Two items of
// one job, or none, are what some invariants look for.
func places(s Store) []place {
	var all []place
	for _, e := range s.Entries() {
		if e.Waiting() {
			all = append(all, place{e.Job, e.Lane, JobAvailable})
		}
	}
	for _, d := range s.DeferredRows() {
		if d.Tx == 0 {
			all = append(all, place{d.Job, d.Lane, d.State})
		}
	}
	for _, c := range s.Claims() {
		if c.Outcome == Open {
			is := JobRunning
			if waits(s, c.ID()) {
				is = JobWaiting
			}
			all = append(all, place{c.Job, c.Lane, is})
		}
	}
	for _, t := range s.Terminals() {
		all = append(all, place{t.Job, t.Lane, t.place()})
	}
	for _, d := range s.DLQRows() {
		all = append(all, place{d.Job, d.Lane, JobDLQ})
	}
	for _, r := range s.RemovedRows() {
		all = append(all, place{r.Job, r.Lane, removed})
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.job, b.job) })
	return all
}

// P2: a job that has a ready row waits, or is deferred, or runs, or has ended. A claim that was pruned while it
// was open is how one gets lost: the ready row says that it was handed out, and nothing says to whom. Of a job
// whose ready rows were all pruned nothing is left to ask; conservation, a property of steps, has watched it go.
func noJobIsLost(s Store) error {
	all := places(s)
	for _, e := range s.Entries() {
		if e.Visible() && placeOf(all, e.Job) == JobNotFound {
			return fmt.Errorf("job %d was handed out, and is neither running nor ended nor waiting", e.Job)
		}
	}
	return nil
}

// P2: a job is in one place at a time. One that ended while it waits will run again after its end; one that waits
// while it runs will have two owners (P3).
func noJobIsTwice(s Store) error {
	all := places(s)
	for i := 1; i < len(all); i++ {
		if all[i].job == all[i-1].job {
			return fmt.Errorf("job %d is %s and %s", all[i].job, all[i-1].is, all[i].is)
		}
	}
	return nil
}

// P3: of a job's ready rows the one with the highest run_lease tells where the job is: what is known of it comes from that
// row. Two with one run_lease would be two answers.
func oneRowPerLease(s Store) error {
	seen := map[AttemptID]int{}
	for _, e := range s.Entries() {
		if other, twice := seen[AttemptID{e.Job, e.Lease}]; twice {
			return fmt.Errorf("two ready rows of job %d have run_lease %d, at positions %d and %d", e.Job, e.Lease, other, e.Seq)
		}
		seen[AttemptID{e.Job, e.Lease}] = e.Seq
	}
	return nil
}

// P2: closing a claim and writing where the job goes is one transaction. A closure alone is worse than none, since a
// claim that is closed nobody will rescue. Once the ready row's generation is pruned, the outcome may be too, and
// nothing is left to compare.
func closureHasItsOutcome(s Store) error {
	for _, c := range s.Claims() {
		if !closedInUnpruned(s, c) {
			continue
		}
		ended := slices.ContainsFunc(s.Terminals(), func(t TerminalRow) bool { return t.Job == c.Job && t.Lease == c.Lease }) || putAway(s, c)
		requeued := slices.ContainsFunc(s.Entries(), func(e EntryRow) bool { return e.Job == c.Job && e.Lease == c.Lease })
		_, deferred := s.Deferred(c.Job)
		// A requeued job's new row is in the same generation or a younger one, so it is still there; so is that of one
		// that was put off, once it is promoted. A failed job waits again when an operator retries it.
		if goesOn := requeued || deferred; !ended && (!goesOn || c.Outcome == Completed) {
			return fmt.Errorf("attempt %s was closed as %s, and its job went nowhere", c.ID(), c.Outcome)
		}
	}
	return nil
}

// putAway: the job of a claim that was closed is held for an operator, or its end was removed.
func putAway(s Store, c ClaimRow) bool {
	if d, ok := s.DLQ(c.Job); ok && d.Lease >= c.Lease {
		return c.Outcome != Completed
	}
	return slices.ContainsFunc(s.RemovedRows(), func(r RemovedRow) bool { return r.Job == c.Job })
}

// givesBack: the attempt ended without the job having ended, unless it was the last.
func givesBack(o Outcome) bool {
	return o == Rescued || o == DeadlineExpired || o == CallbackTimedOut
}

func closedInUnpruned(s Store, c ClaimRow) bool { return c.Outcome != Open && readyRowIsUnpruned(s, c) }

func readyRowIsUnpruned(s Store, c ClaimRow) bool { return c.ReadyGen >= s.Vars().Queue.Pruned }

// P2: a narrow terminal row has no body of its own, its ready row has it; so both are in one generation and go together. A
// terminal row that were written into the current generation would outlive what it is hydrated from.
func terminalHasItsReadyRow(s Store) error {
	for _, t := range s.Terminals() {
		if t.Wide {
			continue // it has its own body
		}
		e, ok := entryAt(s, t.Lane, t.Seq)
		ofRow := e.Lease+1 == t.Lease || t.State == Cancelled && e.Lease == t.Lease // cancelled before it was handed out
		if !ok || e.Gen != t.Gen || e.Job != t.Job || e.Batch == 0 || !ofRow {
			return fmt.Errorf("the end of attempt %d/%d has no ready row in its generation %d", t.Job, t.Lease, t.Gen)
		}
	}
	return nil
}

// P3: at most one attempt of a job is open: this is the promise itself, the next ones say how it is kept.
func oneOpenClaim(s Store) error {
	var open ranking
	for c := range s.OpenClaims() {
		if slices.Contains(open, c.Job) {
			return fmt.Errorf("two attempts of job %d are open", c.Job)
		}
		open.add(c.Job)
	}
	return nil
}

// P3: the attempt that is open is the job's newest: nobody superseded may still close it.
func openClaimIsNewest(s Store) error {
	for c := range s.OpenClaims() {
		if e, ok := s.NewestEntry(c.Job); !ok || e.Lease+1 != c.Lease {
			return fmt.Errorf("attempt %s is open, but the job's newest ready row isn't the one that it was made of", c.ID())
		}
	}
	return nil
}

// P3: a claim's ready row says that it was handed out, for as long as the row is there. Without it the same
// position would be handed out again, whatever a cursor remembers (hazard 1).
func claimHasItsEvidence(s Store) error {
	for _, c := range s.Claims() {
		if !readyRowIsUnpruned(s, c) {
			continue
		}
		e, ok := entryAt(s, c.Lane, c.Seq)
		if !ok || e.Batch == 0 || e.Gen != c.ReadyGen || e.Job != c.Job || e.Lease+1 != c.Lease {
			return fmt.Errorf("attempt %s has no evidence at its ready row", c.ID())
		}
	}
	return nil
}

// P3: which jobs are claimed row-local their rows say. Two shapes of one fact are what proofs, counts and closures must
// agree on.
func shapeFollowsTheJob(s Store) error {
	for _, c := range s.Claims() {
		if e, ok := entryAt(s, c.Lane, c.Seq); ok && readyRowIsUnpruned(s, c) && (e.Limit != 0) != (c.Local != 0) {
			return fmt.Errorf("attempt %s has the shape %d, its job the limit %d", c.ID(), c.Local, e.Limit)
		}
	}
	return nil
}

// P3: whoever tells of himself has the attempt; what was told of one that is over is gone with it.
func stateEndsWithItsAttempt(s Store) error {
	for _, a := range s.AttemptStates() {
		if c, ok := s.Claim(a.ID()); !ok || c.Outcome != Open {
			return fmt.Errorf("attempt %s has told of itself, and is over", a.ID())
		}
	}
	return nil
}

// P3: a token ends with its attempt, wherever its lease is: what waits is open, and said so in the attempt's state, which is
// where whoever closes it looks. And nothing waits for what has come (hazard 33).
func waitingIsOpen(s Store) error {
	for _, l := range s.Leases() {
		c, ok := s.Claim(l.ID())
		state, _ := s.AttemptState(l.ID())
		switch {
		case !ok || c.Outcome != Open || c.Lane != l.Lane:
			return fmt.Errorf("attempt %s waits, and is over", l.ID())
		case !state.Leased || state.Callback == l.Token || state.Early&(1<<l.Token) != 0:
			return fmt.Errorf("attempt %s waits for callback %d, and its state is %+v", l.ID(), l.Token, state)
		}
	}
	return nil
}

// P3: what a caller's transaction has completed is open to everybody else for as long as that transaction is, and no
// longer; it is one that sees who closed what. And a claim is one transaction's.
func closingIsOpen(s Store) error {
	owner := map[int]int{}
	for _, c := range s.Claims() {
		if c.Tx == 0 {
			continue
		}
		tx, open := s.Tx(c.Tx)
		if !open || tx.Isolation != ReadCommitted || c.Outcome != Open {
			return fmt.Errorf("attempt %s is completed in transaction %d, which is open=%t, and its claim is %s", c.ID(), c.Tx, open, c.Outcome)
		}
		if other, ok := owner[c.Batch]; ok && other != c.Tx {
			return fmt.Errorf("transactions %d and %d both have completed attempts of claim %d", other, c.Tx, c.Batch)
		}
		owner[c.Batch] = c.Tx
	}
	return nil
}

// P3: no attempt beyond the last that the job was given, and none waits for it.
func attemptsWithinMax(s Store) error {
	for _, c := range s.Claims() {
		if c.Attempt > c.MaxAttempts {
			return fmt.Errorf("attempt %s is number %d of %d", c.ID(), c.Attempt, c.MaxAttempts)
		}
	}
	for _, e := range s.Entries() {
		if e.Waiting() && e.Attempt >= e.MaxAttempts {
			return fmt.Errorf("job %d waits with its %d attempts used up", e.Job, e.MaxAttempts)
		}
	}
	for _, d := range s.DeferredRows() {
		if d.Attempt >= d.MaxAttempts {
			return fmt.Errorf("job %d is %s with its %d attempts used up", d.Job, d.State, d.MaxAttempts)
		}
	}
	return nil
}

// P9: the sums over tables count each job once, where it is. The tables know nothing of jobs: they hold rows,
// evidence, claims and closures, and that their differences are the jobs is what is claimed here.
func countsAreExact(s Store) error {
	all := places(s)
	for queue, name := range s.Config().Queues {
		var want Counts
		for _, p := range all {
			if s.Config().QueueOf(p.lane) != queue {
				continue
			}
			want.Available += one(p.is == JobAvailable)
			want.Scheduled += one(p.is == JobScheduled)
			want.Retryable += one(p.is == JobRetryable)
			want.Running += one(p.is == JobRunning)
			want.Waiting += one(p.is == JobWaiting)
			want.Completed += one(p.is == JobCompleted)
			want.Failed += one(p.is == JobFailed)
			want.Cancelled += one(p.is == JobCancelled)
			want.DLQ += one(p.is == JobDLQ)
		}
		want.PrunedCompleted, want.PrunedFailed = s.Rollup(queue).Completed, s.Rollup(queue).Failed
		if got := countsOf(s, queue); got != want {
			return fmt.Errorf("queue %s: the tables add up to %s, the jobs are %s", name, got, want)
		}
	}
	return nil
}

// entryAt is the ready row at a place in a lane; the table is in that order.
func entryAt(s Store, lane, seq int) (EntryRow, bool) {
	rows := s.Entries()
	at, ok := slices.BinarySearchFunc(rows, EntryRow{Lane: lane, Seq: seq}, byPosition)
	if !ok {
		return EntryRow{}, false
	}
	return rows[at], true
}

// The left-hand sides: an invariant that never met one of these has shown nothing.

func hasEntry(is func(Store, EntryRow) bool) func(Store) bool {
	return func(s Store) bool {
		return slices.ContainsFunc(s.Entries(), func(e EntryRow) bool { return is(s, e) })
	}
}

func hasClaim(is func(Store, ClaimRow) bool) func(Store) bool {
	return func(s Store) bool {
		return slices.ContainsFunc(s.Claims(), func(c ClaimRow) bool { return is(s, c) })
	}
}

func hasNarrowTerminal(s Store) bool {
	return slices.ContainsFunc(s.Terminals(), func(t TerminalRow) bool { return !t.Wide })
}
