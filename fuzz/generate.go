package fuzz

import (
	"math/bits"
	"slices"

	"pgregory.net/rapid"

	"github.com/awa-engine/awa/model"
)

// generator draws operations that mean something in the state at hand; it knows which attempts were ever handed out,
// so that late closes of superseded attempts are drawn, too.
type generator struct {
	world    World
	theme    string
	narrow   bool // one lane for all: producers and claims meet in it all the time, and holes matter (hazard 2)
	now      int
	attempts []model.AttemptID // handed out, in order
}

func newGenerator(t *rapid.T, w World) *generator {
	return &generator{world: w, theme: pick(t, "theme", themes), narrow: rapid.Bool().Draw(t, "narrow")}
}

// weights say how often each operation is drawn while it is possible. The plainest stand first: shrinking goes there.
var weights = []struct {
	name   string
	weight int
}{
	{"Enqueue", 6},
	{"Claim", 13},
	{"Complete", 14},
	{"CompleteTx", 15},
	{"Fail", 12},
	{"Retry", 12},
	{"Snooze", 7},
	{"Cancel", 6},
	{"Park", 19},
	{"Resume", 8},
	{"CallbackTimeout", 12},
	{"RescueStale", 9},
	{"Heartbeat", 6},
	{"Progress", 6},
	{"RescueDeadline", 7},
	{"RotateQueue", 6},
	{"RotateClaims", 6},
	{"RotateLeases", 4},
	{"PruneQueue", 10},
	{"PruneClaims", 10},
	{"PruneLeases", 4},
	{"Begin", 4},
	{"EnqueueTx", 11},
	{"Commit", 4},
	{"Rollback", 2},
	{"Promote", 3},
	{"RetryFailed", 8},
	{"SetDLQ", 1},
	{"SetShards", 6},
	{"MoveToDLQ", 8},
	{"RetryFromDLQ", 14},
	{"PurgeDLQ", 10},
	{"DeleteTerminal", 3},
	{"SetPriority", 3},
	{"MoveJob", 3},
	{"PauseQueue", 1},
	{"ResumeQueue", 4},
	{"TrimLedger", 1},
	{"FoldCounts", 1},
	{"TrimKeys", 3},
	{"Counts", 1},
	{"Job", 5},
	{"ListJobs", 1},
	{"JobAttempts", 1},
	{"Reopen", 1},
}

// maxOpen bounds the callers' transactions that are open at once.
const maxOpen = 2

// possible lists the operation names, each as often as it weighs.
func (g *generator) possible(s model.Store) []string {
	var names []string
	for _, w := range weights {
		switch w.name {
		case "Begin":
			if len(s.Txs()) >= maxOpen {
				continue
			}
		case "EnqueueTx", "Commit", "Rollback":
			if len(s.Txs()) == 0 {
				continue
			}
		case "CompleteTx":
			if len(g.attempts) == 0 || len(readCommitted(s)) == 0 {
				continue
			}
		case "Complete", "Fail", "Retry", "Snooze", "Heartbeat", "Progress", "Park", "Resume":
			if len(g.attempts) == 0 {
				continue
			}
		case "CallbackTimeout":
			if len(s.Leases()) == 0 {
				continue
			}
		case "RetryFailed", "MoveToDLQ":
			if !hasFailed(s) {
				continue
			}
		case "RetryFromDLQ", "PurgeDLQ":
			if len(s.DLQRows()) == 0 {
				continue
			}
		case "SetShards":
			if g.world.Shards <= 1 {
				continue
			}
		case "ResumeQueue":
			if s.Vars().Paused == 0 {
				continue
			}
		case "Job", "JobAttempts", "Cancel", "DeleteTerminal", "SetPriority", "MoveJob", "ListJobs":
			if s.Vars().NextJob == 1 {
				continue
			}
		}
		times := w.weight * g.urgency(s, w.name)
		if idle(s, w.name) {
			times = 1
		}
		names = append(names, slices.Repeat([]string{w.name}, times*emphasis(g.theme, w.name))...)
	}
	return names
}

// readCommitted are the open transactions that may complete.
func readCommitted(s model.Store) []int {
	var txs []int
	for _, tx := range s.Txs() {
		if tx.Isolation == model.ReadCommitted {
			txs = append(txs, tx.ID)
		}
	}
	return txs
}

// completes says whether an open transaction has completed attempts.
func completes(s model.Store) bool {
	return slices.ContainsFunc(s.Txs(), func(tx model.TxRow) bool { return len(s.ClosedByTx(tx.ID)) > 0 })
}

// draw draws the next operation. Time stands still or moves on, never back.
func (g *generator) draw(t *rapid.T, s model.Store) model.Action {
	g.now += rapid.IntRange(0, 2).Draw(t, "pass")
	queue := func() string { return g.queue(t) }
	small := func(what string, most int) int { return rapid.IntRange(1, most).Draw(t, what) }
	tx := func() int { return pick(t, "tx", s.Txs()).ID }
	// Later, at times that come soon; or a moment that has passed, which is none.
	runAt := func() int { return pick(t, "run at", []int{0, 0, 0, 0, g.now - 1, g.now + 1, g.now + 3}) }
	// Two priorities meet often enough to compete.
	priority := func() int {
		if g.narrow {
			return 2
		}
		return pick(t, "priority", []int{2, 2, 2, 1, 3, 4})
	}
	// Most jobs have no limit of their own; a claim that meets both shapes is ordinary all the same.
	limit := func() int { return pick(t, "limit", []int{0, 0, 0, 0, model.OwnClaim, 1, 3, 6}) }
	switch name := pick(t, "operation", g.possible(s)); name {
	case "Enqueue":
		return g.withKey(t, s, model.Enqueue{Queue: queue(), Priority: priority(), Count: small("count", 4), Attempts: g.maxAttempts(t), RunAt: runAt(), Now: g.now, Limit: limit(), Ordering: g.ordering(t)})
	case "Begin":
		return model.Begin{Tx: freeTx(s), Isolation: pick(t, "isolation", g.levels())}
	case "EnqueueTx":
		a := model.EnqueueTx{
			Tx: tx(), Queue: queue(), Priority: priority(), Count: small("count", 2), Attempts: g.maxAttempts(t), RunAt: runAt(), Now: g.now, Limit: limit(), Ordering: g.ordering(t),
		}
		return g.withKeyTx(t, s, a)
	case "Commit":
		return model.Commit{Tx: tx()}
	case "Rollback":
		return model.Rollback{Tx: tx()}
	case "Promote":
		return model.Promote{Limit: small("limit", 3), Now: g.now}
	case "Claim":
		return model.Claim{Queue: queue(), Limit: small("limit", 3), Now: g.now}
	case "RescueStale":
		return model.RescueStale{Older: rapid.IntRange(0, 4).Draw(t, "older"), Limit: g.drawBudget(t, s), Now: g.now}
	case "Heartbeat":
		return model.Heartbeat{Attempts: g.drawAttempts(t, s), Now: g.now}
	case "Progress":
		return g.drawProgress(t, s)
	case "RescueDeadline":
		return model.RescueDeadline{Limit: g.drawBudget(t, s), Now: g.now}
	case "RotateQueue":
		return model.RotateQueue{Now: g.now}
	case "RotateClaims":
		return model.RotateClaims{Now: g.now}
	case "PruneQueue":
		return model.PruneQueue{Retention: pick(t, "retention", []int{0, 9, 3, g.boundary(s)}), Now: g.now}
	case "RetryFailed":
		return g.drawRetry(t, s)
	case "SetShards":
		return g.drawShards(t, s, queue())
	case "SetDLQ":
		// More often on than off, so that both are seen about as often.
		return model.SetDLQ{Queue: queue(), On: pick(t, "on", []int{1, 1, 0})}
	case "PruneClaims":
		return model.PruneClaims{Now: g.now}
	case "Counts":
		return model.CountsOf{Queue: queue()}
	case "Job":
		return model.JobOf{Job: g.drawJob(t, s)}
	default:
		return g.drawEnd(t, s, name)
	}
}

// drawBudget is a sweep's limit. A sweep goes on where the last one stopped, and comes to what that one passed alive, or found
// busy, when it has been all the way round: with a limit it doesn't take the oldest then, as the model's does. So there it has
// room for all.
func (g *generator) drawBudget(t *rapid.T, s model.Store) int {
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	if len(s.AttemptStates()) > 0 || completes(s) {
		return 1_000
	}
	return limit
}

// drawEnd draws what ends attempts or jobs, or has no arguments.
func (g *generator) drawEnd(t *rapid.T, s model.Store, name string) model.Action {
	switch name {
	case "Complete":
		return model.Complete{Attempts: g.drawAttempts(t, s), Now: g.now}
	case "CompleteTx":
		a := model.CompleteTx{Tx: pick(t, "tx", readCommitted(s)), Attempts: g.drawAttempts(t, s), Now: g.now}
		if waits := s.Leases(); len(waits) > 0 && rapid.Bool().Draw(t, "who waits") {
			a.Attempts = []model.AttemptID{pick(t, "wait", waits).ID()}
		}
		return a
	case "Fail":
		return model.Fail{Attempts: g.drawAttempts(t, s), Now: g.now}
	case "Retry":
		return model.Retry{Attempts: g.drawAttempts(t, s), Delay: pick(t, "delay", []int{0, 1, 4}), Now: g.now}
	case "Snooze":
		return model.Snooze{Attempts: g.drawAttempts(t, s), Delay: rapid.IntRange(0, 3).Draw(t, "delay"), Now: g.now}
	case "PauseQueue":
		return model.PauseQueue{Queue: pick(t, "queue", g.world.Queues), Now: g.now}
	case "ResumeQueue":
		return model.ResumeQueue{Queue: pick(t, "queue", g.world.Queues)}
	case "Cancel":
		a := model.Cancel{Now: g.now}
		for range rapid.IntRange(1, 3).Draw(t, "how many") {
			a.Jobs = append(a.Jobs, g.drawJob(t, s))
		}
		return a
	default:
		return g.drawOperator(t, s, name)
	}
}

// drawOperator draws what an operator does with jobs that have ended or that wait, or what has no arguments.
func (g *generator) drawOperator(t *rapid.T, s model.Store, name string) model.Action {
	switch name {
	case "MoveToDLQ":
		return model.MoveToDLQ(g.drawRetry(t, s))
	case "RetryFromDLQ":
		return model.RetryFromDLQ(g.drawRetry(t, s))
	case "PurgeDLQ":
		a := model.PurgeDLQ{Limit: rapid.IntRange(1, 3).Draw(t, "limit"), Now: g.now}
		held := pick(t, "held", s.DLQRows())
		if rapid.Bool().Draw(t, "by id") {
			a.Jobs = []int{held.Job, g.drawJob(t, s)}
		} else {
			// The boundary itself is young; one more isn't.
			a.Older = pick(t, "older", []int{1, max(g.now-held.At, 1), max(g.now-held.At-1, 1)})
		}
		return a
	case "ListJobs":
		return g.drawList(t, s)
	case "JobAttempts":
		return model.JobAttempts{Job: g.drawJob(t, s)}
	case "SetPriority":
		return model.SetPriority{Jobs: g.drawWaiting(t, s), Priority: pick(t, "priority", []int{2, 2, 1, 3, 4})}
	case "MoveJob":
		return model.MoveJob{Jobs: g.drawWaiting(t, s), Queue: pick(t, "queue", g.world.Queues)}
	case "DeleteTerminal":
		a := model.DeleteTerminal{}
		for range rapid.IntRange(1, 3).Draw(t, "how many") {
			a.Jobs = append(a.Jobs, g.drawEnded(t, s))
		}
		return a
	default:
		return g.drawWait(t, s, name)
	}
}

// drawWaiting draws a few jobs that are available, or any.
func (g *generator) drawWaiting(t *rapid.T, s model.Store) (few []int) {
	var available []int
	for lane := range s.Config().Lanes() {
		for e := range s.Waiting(lane) {
			available = append(available, e.Job)
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "how many") {
		if len(available) > 0 && pick(t, "available", []bool{true, true, false}) {
			few = append(few, pick(t, "job", available))
		} else {
			few = append(few, g.drawJob(t, s))
		}
	}
	return few
}

// drawList draws a page of jobs, chosen in none of the ways or in some.
func (g *generator) drawList(t *rapid.T, s model.Store) model.ListJobs {
	a := model.ListJobs{OldestFirst: rapid.IntRange(0, 1).Draw(t, "oldest first"), Limit: rapid.IntRange(1, 5).Draw(t, "limit")}
	states := []model.JobState{
		"", "", model.JobAvailable, model.JobScheduled, model.JobRetryable, model.JobRunning, model.JobWaiting, model.JobCompleted, model.JobFailed, model.JobCancelled, model.JobDLQ,
	}
	a.State = string(pick(t, "state", states))
	a.Queue = pick(t, "queue", append([]string{"", ""}, g.world.Queues...))
	if rapid.Bool().Draw(t, "a later page") {
		a.After = g.drawJob(t, s)
	}
	if pick(t, "by id", []bool{false, false, true}) {
		a.Jobs = []int{g.drawJob(t, s), g.drawJob(t, s)}
	}
	return a
}

// drawEnded draws a job that has ended, or any.
func (g *generator) drawEnded(t *rapid.T, s model.Store) int {
	if ends := s.Terminals(); len(ends) > 0 && pick(t, "ended", []bool{true, true, false}) {
		return pick(t, "job", ends).Job
	}
	return g.drawJob(t, s)
}

// alike are the operations without arguments.
var alike = map[string]model.Action{"Reopen": model.Reopen{}, "TrimLedger": model.TrimLedger{}, "FoldCounts": model.FoldCounts{}, "TrimKeys": model.TrimKeys{}}

func (g *generator) withKey(t *rapid.T, s model.Store, a model.Enqueue) model.Action {
	a.Unique, a.Held = g.key(t, s, 0)
	return a
}

// withKeyTx leaves out transactions whose snapshot is too old to see who holds a key.
func (g *generator) withKeyTx(t *rapid.T, s model.Store, a model.EnqueueTx) model.Action {
	if open, _ := s.Tx(a.Tx); open.Isolation == model.ReadCommitted {
		a.Unique, a.Held = g.key(t, s, a.Tx)
	}
	return a
}

// boundary is the retention that just keeps a failed row of the oldest sealed slot: one second less doesn't.
func (g *generator) boundary(s model.Store) int {
	for t := range s.TerminalsIn(s.Vars().Queue.Pruned) {
		if t.State == model.Failed {
			return max(g.now-t.FinalizedAt, 0)
		}
	}
	return 1
}

// drawRetry draws each of the three ways to choose, by id with jobs among them that didn't fail.
func (g *generator) drawRetry(t *rapid.T, s model.Store) model.RetryFailed {
	a := model.RetryFailed{Limit: rapid.IntRange(1, 4).Draw(t, "limit"), Now: g.now}
	by := pick(t, "by", []string{"queue", "kind", "jobs", "jobs", "jobs"})
	switch {
	case by == "kind":
		a.Kind = pick(t, "kind", []string{model.TheKind, model.TheKind, "other"})
	case by == "queue" || s.Vars().NextJob == 1:
		a.Queue = pick(t, "queue", g.world.Queues)
	default:
		for range rapid.IntRange(1, 3).Draw(t, "how many") {
			a.Jobs = append(a.Jobs, g.drawFailed(t, s))
		}
	}
	return a
}

// drawFailed draws a job that has failed, one that a prune has carried on by preference; or any.
func (g *generator) drawFailed(t *rapid.T, s model.Store) int {
	var failed []int
	for _, end := range s.Terminals() {
		if end.State == model.Failed {
			failed = append(failed, end.Job)
		}
		if end.State == model.Failed && end.Wide {
			failed = append(failed, end.Job, end.Job)
		}
	}
	if len(failed) > 0 && pick(t, "failed", []bool{true, true, false}) {
		return pick(t, "job", failed)
	}
	return rapid.IntRange(1, s.Vars().NextJob-1).Draw(t, "job")
}

func (g *generator) drawProgress(t *rapid.T, s model.Store) model.Action {
	percent := rapid.IntRange(0, 100).Draw(t, "percent")
	return model.Progress{Attempts: g.drawAttempts(t, s)[:1], Percent: percent, Now: g.now}
}

// freeTx is the lowest number that no open transaction has.
func freeTx(s model.Store) int {
	id := 1
	for _, tx := range s.Txs() {
		if tx.ID == id {
			id++
		}
	}
	return id
}

// pick draws one of the items, each as likely as the others: rapid's own choices prefer the first ones, which is right
// for numbers and wrong for operations. It shrinks to the first.
func pick[T any](t *rapid.T, what string, items []T) T {
	n := 0
	for range bits.Len(uint(len(items))) + 3 { // three bits more than needed keep the remainder's bias small
		n *= 2
		if rapid.Bool().Draw(t, what) {
			n++
		}
	}
	return items[n%len(items)]
}
