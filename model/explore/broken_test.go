package explore_test

import (
	"slices"
	"testing"

	"github.com/awa-engine/awa/model"
	"github.com/awa-engine/awa/model/explore"
)

type rules func(model.Store, model.Action) (model.Result, error)

// wrong replaces the rule of one operation.
func wrong[A model.Action](rule func(model.Store, A) (model.Result, error)) rules {
	return func(s model.Store, a model.Action) (model.Result, error) {
		if a, ok := a.(A); ok {
			return rule(s, a)
		}
		return model.Apply(s, a)
	}
}

// after does the operation right, and then something that is wrong.
func after[A model.Action](spoil func(model.Store, A, model.Result)) rules {
	return wrong(func(s model.Store, a A) (model.Result, error) {
		r, err := model.Apply(s, a)
		spoil(s, a, r)
		return r, err
	})
}

// instead does another operation of the same kind.
func instead[A model.Action](change func(A) A) rules {
	return wrong(func(s model.Store, a A) (model.Result, error) { return model.Apply(s, change(a)) })
}

// wrongRules are rules that are wrong in one place, the world in which that shows, and who finds it.
var wrongRules = []struct {
	rule   string
	config string
	apply  rules
	by     []string // among others
}{
	{"a claim prune that ignores open claims", "claimring-small", pruneOpenClaims, []string{"OnlySpentIsPruned", "NoJobIsLost"}},
	{"a claim prune that leaves its rows", "claimring-small", after(leaveClaims), []string{"RowsAreInUnprunedGenerations", "OpenClaimKeepsItsSlots"}},
	{"a rotation onto a slot that was not pruned", "claimring-small", wrong(rotateAlways), []string{"RingIsNotOverrun"}},
	{"a completion that doesn't look whether its claim is open", "claimring-small", completeClosed, []string{"NoJobIsTwice", "ClosureIsFinal"}},
	{"a completion that closes and writes no history", "claimring-small", wrong(closeOnly), []string{"ClosureHasItsOutcome"}},
	{"a completion that says stale and closes", "claimring-small", wrong(lieStale), []string{"StaleChangesNothing"}},
	{"a completion that changes its ready row", "claimring-small", after(touchEntry), []string{"HotOperationsOnlyAdd"}},
	{"history in the current slot, not its ready row's", "queue-ring", after(moveTerminals), []string{"TerminalHasItsReadyRow"}},
	{"a claim that starts two attempts", "claimring-small", after(claimTwice), []string{"OneOpenClaim", "OpenClaimIsNewest"}},
	{"a claim without evidence", "claimring-small", after(forgetEvidence), []string{"ClaimHasItsEvidence"}},
	{"a claim that takes the youngest", "batches", wrong(claimYoungest), []string{"LowestIsHandedOut"}},
	{"a claim that takes one too few", "batches", instead(func(a model.Claim) model.Claim { a.Limit = 1; return a }), []string{"ClaimSkipsNothing"}},
	{"a claim that doesn't know of aging", "aging", wrong(claimByLane), []string{"MostUrgentIsHandedOut"}},
	{"a claim that gives a tie to the better lane", "aging", wrong(claimTiesByLane), []string{"MostUrgentIsHandedOut", "AgedIsNotPassedOver"}},
	{"an enqueue of a job that has waited before it came", "aging", after(waitBefore), []string{"WaitBeginsWhenAvailable"}},
	{"an enqueue that goes into another shard than its key's", "shards", wrong(enqueueElsewhere), []string{"OrderingKeepsTheLane"}},
	{"a claim that leaves shards alone which get no jobs any more", "shards", wrong(claimCurrentShards), []string{"ClaimSkipsNothing"}},
	{"a claim whose evidence is that of another shard", "shards", after(otherShardsEvidence), []string{"NoJobIsLost"}},
	{"a claim that sees uncommitted rows", "producers", after(seeUncommitted), []string{"UncommittedIsUnseen", "CountsAreExact"}},
	{"a claim that waits for producers", "producers", wrong(claimWaits), []string{"ProducersDontInterfere"}},
	{"a rescue that always requeues", "claimring-small", after(requeueAll), []string{"AttemptsWithinMax"}},
	{"a rescue that always fails the job", "claimring-small", wrong(rescueFails), []string{"RescueGivesWhatIsLeft"}},
	{"a rescue without its cutoff", "claimring-small", instead(func(a model.RescueStale) model.RescueStale { a.Older = -1; return a }), []string{"RescueTakesTheOldest"}},
	{"a claim that writes the wrong shape", "shapes", after(otherShape), []string{"ShapeFollowsTheJob"}},
	{"a sweep that goes by what isn't expired yet", "shapes", wrong(sweepUnexpired), []string{"DeadlinesAreKept"}},
	{"a heartbeat that comes back after its attempt", "heartbeats", after(beatTheDead), []string{"StateEndsWithItsAttempt"}},
	{"a completion that leaves the lease", "waits", wrong(leaveLease), []string{"WaitingIsOpen"}},
	{"a stale sweep that doesn't ask who waits", "waits", wrong(rescueWaiting), []string{"WaitingIsNotStale"}},
	{"a park that forgets what came early", "waits", wrong(forgetEarly), []string{"CallbacksArrive"}},
	{"a sweep that ends waits before their time", "waits", wrong(timeOutEarly), []string{"TimeoutsAreKept"}},
	{"a snooze that uses the attempt up", "outcomes", after(keepAttempt), []string{"PutOffKeepsWhatIsLeft"}},
	{"a claim that doesn't know of pauses", "pauses", wrong(claimPaused), []string{"PauseHandsNothingOut"}},
	{"a move that keeps run_lease", "moves", after(keepRunLease), []string{"OneRowPerLease", "MovedJobKeepsWhatItWas"}},
	{"a move that leaves the old position", "moves", wrong(leavePosition), []string{"NoJobIsTwice"}},
	{"a cancellation that lets a job run on", "outcomes", wrong(cancelNothing), []string{"CancelEndsWhatIsAlive"}},
	{"a rescue that resets run_lease", "claimring-small", after(resetLease), []string{"LeaseNeverFalls"}},
	{"a queue prune without its retention", "queue-ring", instead(func(a model.PruneQueue) model.PruneQueue { a.Retention = 0; return a }), []string{"RetentionIsKept"}},
	{"a queue prune that forgets what it counted", "queue-ring", after(forgetRollup), []string{"JobsAreConserved"}},
	{"a queue prune that mixes up its two counts", "queue-ring", after(swapRollup), []string{"RollupsNeverFall"}},
	{"a queue prune under an open producer", "producers", wrong(pruneUnderProducer), []string{"OpenProducerKeepsItsSlot"}},
	{"a queue prune that carries rows without their bodies", "queue-ring", after(carryNarrow), []string{"TerminalHasItsReadyRow"}},
	{"a retry that doesn't ask whose key it is", "keys", wrong(retryWithoutKey), []string{"OneJobPerKey"}},
	{"a retry that grants no attempt", "queue-ring", after(retryUsedUp), []string{"AttemptsWithinMax"}},
	{"a failure that forgets its queue's policy", "dead-letters", wrong(failPlain), []string{"FailuresFollowThePolicy"}},
	{"a move into the DLQ that leaves the failed row", "dead-letters", after(leaveFailed), []string{"NoJobIsTwice", "HeldJobKeepsWhatItWas"}},
	{"a retry from the DLQ that grants no attempt", "dead-letters", after(releaseUsedUp), []string{"AttemptsWithinMax"}},
	{"a purge that leaves one", "dead-letters", instead(func(a model.PurgeDLQ) model.PurgeDLQ { a.Limit = 1; return a }), []string{"PurgeKeepsTheYoung"}},
	{"a deletion of a job that runs", "dead-letters", after(deleteRunning), []string{"OnlyEndsAreRemoved"}},
	{"a refused prune that counts itself", "queue-ring", after(countRefusal), []string{"RefusalChangesNothing"}},
	{"an enqueue into a sealed slot", "queue-ring", after(enqueueSealed), []string{"SealedGetsNoNewRows"}},
	{"a commit that loses a row", "producers", after(func(s model.Store, a model.Commit, _ model.Result) { dropLast(s) }), []string{"TransactionIsAllOrNothing"}},
	{"a commit that forgets a completion", "callers", wrong(commitNothing), []string{"TransactionIsAllOrNothing"}},
	{"a sweep that gives back what a caller completes", "callers", after(rescueCompleted), []string{"ClosingIsOpen", "CompletionIsItsTransactions"}},
	{"a sweep that passes over all when somebody is busy", "callers", wrong(rescueNoneWhenBusy), []string{"RescueTakesTheOldest"}},
	{"an old snapshot that writes into the ring", "producers", wrong(enqueueOldSnapshot), []string{"OldSnapshotStaysOutOfTheRing"}},
	{"a promotion that does nothing", "producers", wrong(promoteNothing), []string{"CanDrain"}},
}

// Each invariant and each property finds a wrong rule, so none of them is there for nothing.
func TestWrongRulesAreFound(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, c := range wrongRules {
		for _, name := range c.by {
			found[name] = true
		}
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			r := run(t, find(t, c.config), explore.Options{Apply: c.apply})
			for _, name := range c.by {
				if !slices.ContainsFunc(r.Violations, func(v explore.Violation) bool { return v.Name == name }) {
					t.Errorf("%s doesn't find it. Found:\n%v", name, r)
				}
			}
		})
	}
	for _, i := range model.Invariants() {
		if !found[i.Name] {
			t.Errorf("no wrong rule is there for the invariant %s", i.Name)
		}
	}
	for _, p := range model.Properties() {
		if !found[p.Name] {
			t.Errorf("no wrong rule is there for the property %s", p.Name)
		}
	}
}
