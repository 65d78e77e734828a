package engine

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// A rowWriter writes jobs into the ring's current generation; no ids mean that it moved on and nothing was written.
type rowWriter func(ctx context.Context, t *txn, generation int64, r *jobRows) ([]int64, error)

// writeRows writes each job to where it belongs, and returns the ids in the order of the jobs; none when the ring moved on,
// and nothing may be committed then. Which jobs have to wait is decided once, by one reading of the server's clock.
func (e *Engine) writeRows(ctx context.Context, t *txn, o openProducer, r *jobRows, ring rowWriter) ([]int64, error) {
	if o.oldSnapshot() {
		return e.deferRows(ctx, t, o, r)
	}
	if !r.mayWait { // nearly always: no row is copied for what nobody asked for
		return ring(ctx, t, o.generation, r)
	}
	var now, later []int // places in the call
	for i, at := range r.runAts {
		if at.After(o.now) {
			later = append(later, i)
		} else {
			now = append(now, i)
		}
	}
	ids := make([]int64, len(r.lanes))
	write := func(some []int, writer func(*jobRows) ([]int64, error)) (moved bool, err error) {
		if len(some) == 0 {
			return false, nil
		}
		written, err := writer(r.only(some))
		for k, id := range written {
			ids[some[k]] = id
		}
		return len(written) == 0, err
	}
	// The ring first: when it moved on, a caller's transaction must hold no deferred row of a try that is repeated.
	moved, err := write(now, func(r *jobRows) ([]int64, error) { return ring(ctx, t, o.generation, r) })
	if err != nil || moved {
		return nil, err
	}
	_, err = write(later, func(r *jobRows) ([]int64, error) { return e.deferRows(ctx, t, o, r) })
	return ids, err
}

// only returns some of the jobs.
func (r *jobRows) only(some []int) *jobRows {
	var s jobRows
	for _, i := range some {
		s.lanes = append(s.lanes, r.lanes[i])
		s.seqs = append(s.seqs, r.seqs[i])
		s.kinds = append(s.kinds, r.kinds[i])
		s.args = append(s.args, r.args[i])
		s.maxAttempts = append(s.maxAttempts, r.maxAttempts[i])
		s.timeLimits = append(s.timeLimits, r.timeLimits[i])
		s.runAts = append(s.runAts, r.runAts[i])
		s.mayWait = s.mayWait || !r.runAts[i].IsZero()
		if r.ids != nil {
			s.ids = append(s.ids, r.ids[i])
		}
	}
	return &s
}

// deferRows writes the jobs to deferred_jobs, which is in no ring: where jobs wait whose time hasn't come, and the one
// place that a transaction with an old snapshot can write to safely.
func (e *Engine) deferRows(ctx context.Context, t *txn, o openProducer, r *jobRows) ([]int64, error) {
	runAts := make([]time.Time, len(r.runAts))
	for i, at := range r.runAts {
		runAts[i] = o.now
		if at.After(o.now) {
			runAts[i] = at
		}
	}
	rows, err := t.Query(ctx, e.sql.get("insert_deferred", children{}), o.now, r.lanes, r.kinds, r.args, r.maxAttempts, runAts, r.timeLimits, r.ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}
