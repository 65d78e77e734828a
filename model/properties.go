package model

import (
	"fmt"
	"slices"
)

// Step is one action that was applied: the state before, the answer, the state after.
type Step struct {
	Pre    Store
	Action Action
	Result Result
	Post   Store
	// Rules made the step; nil is [Apply].
	Rules func(Store, Action) (Result, error)
}

// Property must hold of every step.
type Property struct {
	Name    string
	Promise string
	Check   func(Step) error
	// Antecedent says whether the step is one in which the property could fail.
	Antecedent func(Step) bool
}

// Properties are all of them.
func Properties() []Property {
	return []Property{
		{"JobsAreConserved", "P2", jobsAreConserved, changed},
		{"OnlySpentIsPruned", "P2", onlySpentIsPruned, prunedSome},
		{"RetentionIsKept", "P8", retentionIsKept, retentionMatters},
		{"RollupsNeverFall", "P2", rollupsNeverFall, changed},
		{"RescueGivesWhatIsLeft", "P2", rescueGivesWhatIsLeft, rescued},
		{"RescueTakesTheOldest", "P3", rescueTakesTheOldest, rescueLeftSome},
		{"LeaseNeverFalls", "P3", leaseNeverFalls, reclaimed},
		{"ClosureIsFinal", "P3", closureIsFinal, closedBesideClosed},
		{"StaleChangesNothing", "P3", staleChangesNothing, staleKnown},
		{"LowestIsHandedOut", "P4", lowestIsHandedOut, handedOutAndLeft},
		{"ClaimSkipsNothing", "P4", claimSkipsNothing, handedOut},
		{"TransactionIsAllOrNothing", "P1", transactionIsAllOrNothing, endsTransactionWithRows},
		{"ProducersDontInterfere", "P5", producersDontInterfere, otherThanProducer},
		{"HotOperationsOnlyAdd", "P6", hotOperationsOnlyAdd, func(p Step) bool { return hot(p.Action) && changed(p) }},
		{"SealedGetsNoNewRows", "P7", sealedGetsNoNewRows, addsBesideSealed},
		{"RefusalChangesNothing", "P7", refusalChangesNothing, refused},
	}
}

// changed says whether the step did anything.
func changed(p Step) bool {
	return p.Pre.Vars() != p.Post.Vars() ||
		!slices.Equal(p.Pre.Entries(), p.Post.Entries()) ||
		!slices.Equal(p.Pre.Claims(), p.Post.Claims()) ||
		!slices.Equal(p.Pre.Terminals(), p.Post.Terminals()) ||
		!slices.Equal(p.Pre.DeferredRows(), p.Post.DeferredRows()) ||
		!slices.Equal(p.Pre.Txs(), p.Post.Txs())
}

// P2: committed jobs come from Enqueue and Commit only, and none ever goes: each is in its place, or was counted
// when its rows were pruned.
func jobsAreConserved(p Step) error {
	came := 0
	switch a := p.Action.(type) {
	case Enqueue:
		came = a.Count
	case Commit:
		came = len(p.Pre.EntriesOfTx(a.Tx)) + len(p.Pre.DeferredOfTx(a.Tx))
	}
	if before, after := jobsIn(p.Pre), jobsIn(p.Post); after != before+came {
		return fmt.Errorf("%d jobs came in, but %d became %d", came, before, after)
	}
	return nil
}

func jobsIn(s Store) int {
	n := len(places(s))
	for queue := range s.Config().Queues {
		r := s.Rollup(queue)
		n += r.Completed + r.Failed
	}
	return n
}

// P2: what was truncated is counted for ever.
func rollupsNeverFall(p Step) error {
	for queue, name := range p.Pre.Config().Queues {
		before, after := p.Pre.Rollup(queue), p.Post.Rollup(queue)
		if after.Completed < before.Completed || after.Failed < before.Failed {
			return fmt.Errorf("the rollup of queue %s fell from %v to %v", name, before, after)
		}
	}
	return nil
}

// P1: a commit makes all of the transaction's jobs visible where they are, a rollback leaves none of them.
func transactionIsAllOrNothing(p Step) error {
	switch a := p.Action.(type) {
	case Commit:
		for _, e := range p.Pre.EntriesOfTx(a.Tx) {
			e.Tx = 0
			if !slices.Contains(p.Post.Entries(), e) {
				return fmt.Errorf("transaction %d committed, but job %d is not waiting", a.Tx, e.Job)
			}
		}
		for _, d := range p.Pre.DeferredOfTx(a.Tx) {
			d.Tx = 0
			if !slices.Contains(p.Post.DeferredRows(), d) {
				return fmt.Errorf("transaction %d committed, but job %d is not scheduled", a.Tx, d.Job)
			}
		}
	case Rollback:
		for _, e := range p.Pre.EntriesOfTx(a.Tx) {
			if _, ok := p.Post.NewestEntry(e.Job); ok {
				return fmt.Errorf("transaction %d rolled back, but job %d is there", a.Tx, e.Job)
			}
		}
		if left := p.Post.DeferredOfTx(a.Tx); len(left) > 0 {
			return fmt.Errorf("transaction %d rolled back, but job %d is there", a.Tx, left[0].Job)
		}
	}
	return nil
}

func endsTransactionWithRows(p Step) bool {
	var tx int
	switch a := p.Action.(type) {
	case Commit:
		tx = a.Tx
	case Rollback:
		tx = a.Tx
	default:
		return false
	}
	return len(p.Pre.EntriesOfTx(tx))+len(p.Pre.DeferredOfTx(tx)) > 0
}

// P5: an open producer changes the answer of no other operation: without any producer the answer would be the
// same. The exception is the prune of the slot that it wrote to. Here the rules are asked again, so this finds a
// rule that looks at what it must not look at, and only that.
func producersDontInterfere(p Step) error {
	if !otherThanProducer(p) {
		return nil
	}
	alone := Snapshot(p.Pre)
	for _, tx := range p.Pre.Txs() {
		if _, err := Apply(alone, Rollback{tx.ID}); err != nil {
			return err
		}
	}
	rules := p.Rules
	if rules == nil {
		rules = Apply
	}
	want, err := rules(alone, p.Action)
	if err != nil || want.String() != p.Result.String() {
		return fmt.Errorf("%s answers %s, but without the open producers it would be %v, %v", p.Action, p.Result, want, err)
	}
	return nil
}

func otherThanProducer(p Step) bool {
	switch p.Action.(type) {
	case Begin, EnqueueTx, Commit, Rollback, PruneQueue:
		return false
	}
	return len(p.Pre.Txs()) > 0
}

// P7: an operation that says that it did nothing did nothing; nor do reads, or a new process.
func refusalChangesNothing(p Step) error {
	if refused(p) && changed(p) {
		return fmt.Errorf("%s answered %s, but the state changed", p.Action, p.Result)
	}
	return nil
}

func refused(p Step) bool {
	switch r := p.Result.(type) {
	case Status:
		return r != Rotated && r != Pruned
	case Counts, JobView:
		return true
	}
	_, reopen := p.Action.(Reopen)
	return reopen
}
