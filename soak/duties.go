package soak

import (
	"context"
	"time"

	"github.com/awa-engine/awa/engine"
)

const (
	staleAfter = 3 * time.Second
	retention  = 20 * time.Second // of failed rows: carried from slot to slot meanwhile
	held       = 3 * time.Second  // in the DLQ
	most       = 1_000
)

// A duty is what one goroutine does each so often.
type duty struct {
	every time.Duration
	do    func(context.Context)
}

// duties are those of maintenance, by two leaders where that is the harder case.
func (r *run) duties() []duty {
	all := []duty{{turnEvery, r.turn}, {sweepEvery, r.sweep}, {sweepEvery, r.sweep}, {promoteEvery, r.promote}}
	if !r.plan.AuditAtEnd {
		all = append(all, duty{auditEvery, r.audit})
	}
	return all
}

// keepUp does a duty until stop is done. One that takes long leaves the others their time all the same: an audit that
// follows upon another would keep the rings from being pruned.
func (r *run) keepUp(ctx, stop context.Context, d duty) {
	timer := time.NewTimer(d.every)
	defer timer.Stop()
	for {
		select {
		case <-stop.Done():
			return
		case <-timer.C:
			d.do(ctx)
			timer.Reset(d.every)
		}
	}
}

// turn moves the rings on, and prunes a slot of each.
func (r *run) turn(ctx context.Context) {
	r.rotated(ctx, "RotateQueue", r.eng.RotateQueue)
	r.rotated(ctx, "RotateClaims", r.eng.RotateClaims)
	r.rotated(ctx, "RotateLeases", r.eng.RotateLeases)
	r.pruned(ctx, "PruneClaims", r.eng.PruneClaims)
	r.pruned(ctx, "PruneLeases", r.eng.PruneLeases)
	r.pruned(ctx, "PruneQueue", func(ctx context.Context) (engine.PruneOutcome, error) { return r.eng.PruneQueue(ctx, retention) })
}

func (r *run) rotated(ctx context.Context, name string, rotate func(context.Context) (engine.RotateOutcome, error)) {
	if out, err := rotate(ctx); r.facts.call(name, err) {
		r.facts.add(name+" "+string(out.Status), 1)
	}
}

func (r *run) pruned(ctx context.Context, name string, prune func(context.Context) (engine.PruneOutcome, error)) {
	if out, err := prune(ctx); r.facts.call(name, err) {
		r.facts.add(name+" "+string(out.Status), 1)
		r.facts.add("carried", out.CarriedFailedRows)
	}
}

func (r *run) sweep(ctx context.Context) {
	stale, err := r.eng.RescueStale(ctx, staleAfter, most)
	r.swept("RescueStale", stale, err)
	late, err := r.eng.RescueDeadline(ctx, most)
	r.swept("RescueDeadline", late, err)
	waits, err := r.eng.CallbackTimeout(ctx, most)
	r.swept("CallbackTimeout", waits, err)
}

func (r *run) swept(name string, out engine.RescueOutcome, err error) {
	if r.facts.call(name, err) {
		r.facts.add("rescued", out.Requeued+out.Failed+out.DLQ)
	}
}

func (r *run) promote(ctx context.Context) {
	n, err := r.eng.Promote(ctx, most)
	r.facts.call("Promote", err)
	r.facts.add("promoted", n)
}

// operate is what people do: failed jobs of the first queue are retried, put aside, or removed; those of the second are in
// the DLQ, and purged after a while.
func (r *run) operate(ctx context.Context) {
	a, b := engine.FailedJobs{Queue: queues[0]}, engine.FailedJobs{Queue: queues[1]}
	retried, err := r.eng.RetryFailed(ctx, a, 3)
	r.facts.call("RetryFailed", err)
	r.facts.add("operator", len(retried.Retried))
	moved, err := r.eng.MoveToDLQ(ctx, a, 3)
	r.facts.call("MoveToDLQ", err)
	r.facts.add("operator", len(moved.Moved))
	_, err = r.eng.RetryFromDLQ(ctx, b, 3)
	r.facts.call("RetryFromDLQ", err)
	gone, err := r.eng.PurgeDLQ(ctx, engine.HeldJobs{OlderThan: held}, most)
	r.facts.call("PurgeDLQ", err)
	r.facts.add("removed", len(gone))
	r.remove(ctx)
	_, err = r.eng.TrimLedger(ctx)
	r.facts.call("TrimLedger", err)
	folded, err := r.eng.FoldCounts(ctx, 10)
	if r.facts.call("FoldCounts", err) {
		r.facts.add("FoldCounts "+string(folded.Status), 1)
	}
	_, err = r.eng.TrimKeys(ctx)
	r.facts.call("TrimKeys", err)
}

// remove deletes the history of a few jobs that have ended.
func (r *run) remove(ctx context.Context) {
	var ids []int64
	for _, state := range []engine.JobState{engine.JobFailed, engine.JobCompleted} {
		jobs, err := r.eng.ListJobs(ctx, engine.JobFilter{Queue: queues[0], States: []engine.JobState{state}}, engine.JobPage{Limit: 2})
		if !r.facts.call("ListJobs", err) {
			return
		}
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	results, err := r.eng.DeleteTerminal(ctx, ids)
	if !r.facts.call("DeleteTerminal", err) {
		return
	}
	for _, one := range results {
		if r.facts.result("DeleteTerminal", one.Err); one.Err == nil {
			r.facts.add("removed", 1)
			r.facts.add("operator", 1)
		}
	}
}

func (r *run) audit(ctx context.Context) {
	began := time.Now()
	report, err := r.eng.Audit(ctx)
	if r.facts.call("Audit", err) {
		r.facts.audited(time.Since(began), report.Err())
	}
}
