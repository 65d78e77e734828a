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
	Post   Store // Pre and Post are two stores: a property reads both
	// Rules made the step; nil is [Apply].
	Rules func(Store, Action) (Result, error)
}

// Property must hold of every step: what an answer means, what may change, what may not. Unlike invariants, properties
// see what a rule had to choose from.
type Property struct {
	Name    string
	Promise string // which promise to a user it guards
	// Check is nil where the property holds; else it says what the step did.
	Check func(Step) error
	// Antecedent says whether the step is one in which the property could fail.
	Antecedent func(Step) bool
}

// Properties are all of them. A test has a wrong rule for each, which that property finds.
func Properties() []Property {
	return []Property{
		// Tested when anything changes.
		{"JobsAreConserved", "P2", jobsAreConserved, changed},
		// Tested when a prune took rows away.
		{"OnlySpentIsPruned", "P2", onlySpentIsPruned, prunedSome},
		// Tested when a failed row stands in a sealed slot, and a prune is asked to keep it.
		{"RetentionIsKept", "P8", retentionIsKept, retentionMatters},
		// Tested when anything changes.
		{"RollupsNeverFall", "P2", rollupsNeverFall, changed},
		// Tested when a claim was rescued.
		{"RescueGivesWhatIsLeft", "P2", rescueGivesWhatIsLeft, rescued},
		// Tested when a rescue closed one claim and left another.
		{"RescueTakesTheOldest", "P3", rescueTakesTheOldest, rescueLeftSome},
		// Tested when a deadline has passed, and another has not.
		{"DeadlinesAreKept", "P3", deadlinesAreKept, deadlineMatters},
		// Tested when the stale sweep ran beside a parked attempt.
		{"WaitingIsNotStale", "P3", waitingIsNotStale, sweepsBesideWaiting},
		// Tested when a callback is there or comes.
		{"CallbacksArrive", "P3", callbacksArrive, callbackMatters},
		// Tested when the timeout of a wait has passed, and another has not.
		{"TimeoutsAreKept", "P3", timeoutsAreKept, timeoutMatters},
		// Tested when a job was put off.
		{"PutOffKeepsWhatIsLeft", "P2", putOffKeepsWhatIsLeft, putOffSome},
		// Tested when a job was cancelled, or couldn't be.
		{"CancelEndsWhatIsAlive", "P3", cancelEndsWhatIsAlive, cancels},
		// Tested when a job was moved, or couldn't be.
		{"MovedJobKeepsWhatItWas", "P2", movedJobKeepsWhatItWas, movesSome},
		// Tested when a job failed whose queue has the DLQ on.
		{"FailuresFollowThePolicy", "P2", failuresFollowThePolicy, failedSome},
		// Tested when a job was moved into the DLQ or out of it.
		{"HeldJobKeepsWhatItWas", "P3", heldJobKeepsWhatItWas, movedSome},
		// Tested when a purge by age had a choice.
		{"PurgeKeepsTheYoung", "P8", purgeKeepsTheYoung, purgeByAge},
		// Tested when an end was to be removed.
		{"OnlyEndsAreRemoved", "P2", onlyEndsAreRemoved, removesSome},
		// Tested when a job is claimed again.
		{"LeaseNeverFalls", "P3", leaseNeverFalls, reclaimed},
		// Tested when something may be closed beside what is closed.
		{"ClosureIsFinal", "P3", closureIsFinal, closedBesideClosed},
		// Tested when an attempt is called stale whose claim is there.
		{"StaleChangesNothing", "P3", staleChangesNothing, staleKnown},
		// Tested when a claim took one and left another.
		{"LowestIsHandedOut", "P4", lowestIsHandedOut, handedOutAndLeft},
		// Tested when a paused queue is claimed from.
		{"PauseHandsNothingOut", "P3", pauseHandsNothingOut, claimsPaused},
		// Tested when a claim chose between lanes whose jobs age.
		{"MostUrgentIsHandedOut", "P4", mostUrgentIsHandedOut, agingMatters},
		// Tested when one that has waited for all steps of priority was there.
		{"AgedIsNotPassedOver", "P4", agedIsNotPassedOver, agedWaits},
		// Tested when a ready row was added.
		{"WaitBeginsWhenAvailable", "P4", waitBeginsWhenAvailable, addsReady},
		// Tested when a job with a key came to a queue that has several shards.
		{"OrderingKeepsTheLane", "P4", orderingKeepsTheLane, ordersAmongShards},
		// Tested when a claim took any.
		{"ClaimSkipsNothing", "P4", claimSkipsNothing, handedOut},
		// Tested when a transaction with rows ends.
		{"TransactionIsAllOrNothing", "P1", transactionIsAllOrNothing, endsTransactionWithRows},
		// Tested when another changes something beside a transaction that has completed.
		{"CompletionIsItsTransactions", "P3", completionIsItsTransactions, besideCompletion},
		// Tested when another works beside an open transaction.
		{"ProducersDontInterfere", "P5", producersDontInterfere, otherThanProducer},
		// Tested when a producer or a worker changes anything.
		{"HotOperationsOnlyAdd", "P6", hotOperationsOnlyAdd, func(p Step) bool { return hot(p.Action) && changed(p) }},
		// Tested when rows are added to a ring with a sealed slot.
		{"SealedGetsNoNewRows", "P7", sealedGetsNoNewRows, addsBesideSealed},
		// Tested when an operation says that it did nothing, or only reads.
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
		!slices.Equal(p.Pre.AttemptStates(), p.Post.AttemptStates()) ||
		!slices.Equal(p.Pre.Leases(), p.Post.Leases()) ||
		!slices.Equal(p.Pre.DLQRows(), p.Post.DLQRows()) ||
		!slices.Equal(p.Pre.RemovedRows(), p.Post.RemovedRows()) ||
		!slices.Equal(policies(p.Pre), policies(p.Post)) ||
		!slices.Equal(p.Pre.Txs(), p.Post.Txs())
}

// policies lists the queues' policies.
func policies(s Store) []Policy {
	var all []Policy
	for queue := range s.Config().Queues {
		all = append(all, s.Policy(queue))
	}
	return all
}

// P2: committed jobs come from Enqueue and Commit only, and none ever goes: each is in its place, or was counted
// when its rows were pruned, or an operator was told that its end is removed. No history is needed to say so: the sum before and the sum after are enough.
func jobsAreConserved(p Step) error {
	came := 0
	switch a := p.Action.(type) {
	case Enqueue:
		came = toldNew(p.Result)
	case Commit:
		came = len(p.Pre.EntriesOfTx(a.Tx)) + len(p.Pre.DeferredOfTx(a.Tx))
	}
	came -= len(toldRemoved(p.Result))
	if before, after := jobsIn(p.Pre), jobsIn(p.Post); after != before+came {
		return fmt.Errorf("%d jobs came in, but %d became %d", came, before, after)
	}
	return nil
}

// toldNew counts the jobs that an enqueue says it has made: several with one key are one job, and it may have been there.
func toldNew(r Result) int {
	if e, ok := r.(Enqueued); ok && !e.Existing {
		return len(slices.Compact(slices.Clone(e.Jobs)))
	}
	return 0
}

// jobsIn counts the places of jobs, and the jobs that rollups have counted.
func jobsIn(s Store) int {
	n := 0
	for _, p := range places(s) {
		n += one(p.is != removed)
	}
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
	return completionsFollowTheirTransaction(p)
}

// endsTransactionWithRows: an empty transaction proves nothing.
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
	return len(p.Pre.EntriesOfTx(tx))+len(p.Pre.DeferredOfTx(tx))+len(p.Pre.ClosedByTx(tx)) > 0
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

// otherThanProducer: a step beside open transactions, and not one of theirs. What a prune of ready rows answers does
// depend on them, as it must.
func otherThanProducer(p Step) bool {
	switch p.Action.(type) {
	case Begin, EnqueueTx, CompleteTx, Commit, Rollback, PruneQueue:
		return false
	}
	for _, tx := range p.Pre.Txs() {
		if len(p.Pre.ClosedByTx(tx.ID)) > 0 {
			return false // who would close the same waits for it, and says so
		}
		if len(uniquesOfTx(p.Pre, tx.ID)) > 0 && wantsKeys(p.Action) {
			return false // whose key it is depends on its end
		}
	}
	return len(p.Pre.Txs()) > 0
}

// wantsKeys: it asks who holds a unique key, or would take one away that is being taken over.
func wantsKeys(a Action) bool {
	switch a := a.(type) {
	case Enqueue:
		return a.Unique != 0
	case RetryFailed, RetryFromDLQ, TrimKeys:
		return true
	}
	return false
}

// P7: an operation that says that it did nothing did nothing; nor do reads, or a new process.
func refusalChangesNothing(p Step) error {
	if refused(p) && changed(p) {
		return fmt.Errorf("%s answered %s, but the state changed", p.Action, p.Result)
	}
	return nil
}

// refused: the answer says that nothing was done, or the operation does nothing ever.
func refused(p Step) bool {
	if status, ok := statusOf(p.Result); ok {
		return status != Rotated && status != Pruned
	}
	switch r := p.Result.(type) {
	case Counts, JobView, Listed, AttemptHistory:
		return true
	case WaitAnswer:
		return r == WaitStale || r == WaitsAlready || r == Repeated
	}
	switch p.Action.(type) {
	case Reopen, TrimLedger, FoldCounts:
		return true
	}
	return false
}
