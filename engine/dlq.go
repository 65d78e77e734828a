package engine

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// SetDLQ decides where jobs of the queue go that fail from now on, by a worker's report or by rescue: into the DLQ, which
// holds them for an operator until they are retried or purged, or into a failed row, which is kept for its retention. Jobs
// that have failed before stay where they are; MoveToDLQ moves them.
//
// The decision is a row, and each statement that fails a job reads it itself: no process has to be told, and none can go by
// an old one. An unknown queue is registered. Errors: as RegisterQueue.
func (e *Engine) SetDLQ(ctx context.Context, queue string, on bool) error {
	const op = "SetDLQ"
	if err := checkName(op, "queue", queue); err != nil {
		return err
	}
	if _, err := e.lanesOf(ctx, queue, false); err != nil {
		return err
	}
	return e.transact(ctx, op, func(t *txn) (bool, error) {
		var b pgx.Batch
		t.queueXid(&b)
		b.Queue(e.sql.get("set_dlq", children{}), queue, on)
		return true, send(ctx, t, &b)
	})
}

// A MoveToDLQOutcome says what MoveToDLQ found and did.
type MoveToDLQOutcome struct {
	// Moved are the jobs that are held now, lowest id first.
	Moved []int64
	// Matched is how many failed jobs the scan found before any was moved. When it is more than Moved, somebody else retried
	// or removed the difference meanwhile, or a prune carried it to another slot: call again.
	Matched int
}

// MoveToDLQ takes up to limit (1 to 10,000) failed jobs out of the rings and holds them in the DLQ, lowest id first, whatever
// their queue's policy is. Their retention counts from now. Repeating is safe, also after ErrAmbiguous. Errors: ErrInvalid.
func (e *Engine) MoveToDLQ(ctx context.Context, which FailedJobs, limit int) (MoveToDLQOutcome, error) {
	const op = "MoveToDLQ"
	found, err := e.findFailed(ctx, op, which, limit)
	if err != nil || len(found.jobs) == 0 {
		return MoveToDLQOutcome{}, err
	}
	out := MoveToDLQOutcome{Matched: len(found.jobs)}
	err = e.transact(ctx, op, func(t *txn) (bool, error) {
		at := children{Slots: found.slotSet()}
		var b pgx.Batch
		t.queueXid(&b)
		b.Queue(e.sql.get("plan_settings", children{}))
		for _, s := range at.Slots {
			b.Queue(e.sql.get("lock_history", children{Queue: s}))
		}
		b.Queue(e.sql.get("move_to_dlq", at), found.args(e.now())...).QueryRow(func(row pgx.Row) error {
			return row.Scan(&out.Moved)
		})
		err := send(ctx, t, &b)
		return len(out.Moved) > 0, err
	})
	if err != nil {
		return MoveToDLQOutcome{}, err
	}
	return out, nil
}

// A RetryFromDLQOutcome says what RetryFromDLQ found and did.
type RetryFromDLQOutcome struct {
	// Retried are the jobs that are available again, lowest id first.
	Retried []int64
	// Matched is how many jobs the scan found before any was retried. When it is more than Retried, somebody else retried or
	// purged the difference, or is about to; or another job has taken the unique key of those jobs: they stay held.
	Matched int
}

// RetryFromDLQ makes up to limit (1 to 10,000) jobs of the DLQ available again, lowest id first: each at the end of its lane,
// under its id, with its error history, its RunLease and its number of attempts. A job that has used up all attempts gets one
// more; one that has some left keeps them. Repeating is safe, also after ErrAmbiguous. Errors: ErrInvalid.
func (e *Engine) RetryFromDLQ(ctx context.Context, which FailedJobs, limit int) (RetryFromDLQOutcome, error) {
	const op = "RetryFromDLQ"
	jobs, leases, err := e.findHeld(ctx, op, which, limit)
	if err != nil || len(jobs) == 0 {
		return RetryFromDLQOutcome{}, err
	}
	out := RetryFromDLQOutcome{Matched: len(jobs)}
	err = e.untilCurrent(ctx, op, func(t *txn) (moved, commit bool, err error) {
		out.Retried = nil
		open, err := e.openProducer(ctx, t)
		if err != nil {
			return false, false, err
		}
		var free []int64
		if err := t.QueryRow(ctx, e.sql.get("keep_keys", children{}), jobs).Scan(&free); err != nil || len(free) == 0 {
			return false, false, err
		}
		theirs := make([]int64, len(free))
		for i, job := range free {
			theirs[i] = leases[slices.Index(jobs, job)]
		}
		at := children{Queue: e.queue.slot(open.generation)}
		current := false
		var b pgx.Batch
		b.Queue(e.sql.get("plan_settings", children{}))
		b.Queue(e.sql.get("lock_ready", at))
		b.Queue(e.sql.get("retry_from_dlq", at), open.generation, free, theirs, e.now()).QueryRow(func(row pgx.Row) error {
			return row.Scan(&current, &out.Retried)
		})
		err = send(ctx, t, &b)
		return !current, len(out.Retried) > 0, err
	})
	if err != nil {
		return RetryFromDLQOutcome{}, err
	}
	return out, nil
}

// findHeld scans for the chosen jobs, in a statement of its own; each is proven again when it is taken out.
func (e *Engine) findHeld(ctx context.Context, op string, which FailedJobs, limit int) (jobs, leases []int64, err error) {
	statement := e.sql.get("held_of_ids", children{})
	arg, err := which.chosen(op)
	switch arg.(type) {
	case byQueue:
		statement = e.sql.get("held_of_queue", children{})
	case byKind:
		statement = e.sql.get("held_of_kind", children{})
	}
	if err != nil {
		return nil, nil, err
	}
	if err := checkCount(op, "limit", limit, maxSweep); err != nil {
		return nil, nil, err
	}
	rows, err := e.pool.Query(ctx, statement, arg, limit)
	if err != nil {
		return nil, nil, fail(op, "", err)
	}
	var job, lease int64
	_, err = pgx.ForEachRow(rows, []any{&job, &lease}, func() error {
		jobs, leases = append(jobs, job), append(leases, lease)
		return nil
	})
	return jobs, leases, fail(op, "", err)
}

// HeldJobs chooses jobs of the DLQ to be purged: those that came longer than OlderThan ago, or those with an id. Exactly one
// field is set.
type HeldJobs struct {
	OlderThan time.Duration // 30 days is a sensible retention; at most a century
	IDs       []int64       // at most 10,000; those that aren't held are passed over

	_ struct{}
}

// purgeBatch is how many jobs one transaction of a purge takes: it holds its locks for milliseconds, and a purge that is cut
// off has got somewhere (B137).
const purgeBatch = 1_000

// PurgeDLQ removes up to limit (1 to 10,000) jobs from the DLQ for good, by age those that came first, and returns their ids,
// ascending. Nobody is told of them any more, and they are counted nowhere; a unique key that they held is free. Jobs that
// somebody retries at this moment are passed over.
//
// Each thousand is a transaction: after an error those that are returned are gone, and others may be. Repeating is safe.
// The age is measured once, by the server's clock. Errors: ErrInvalid.
func (e *Engine) PurgeDLQ(ctx context.Context, which HeldJobs, limit int) (purged []int64, err error) {
	const op = "PurgeDLQ"
	if err := checkCount(op, "limit", limit, maxSweep); err != nil {
		return nil, err
	}
	if err := checkDuration(op, "OlderThan", which.OlderThan); err != nil {
		return nil, err
	}
	if (which.OlderThan > 0) == (len(which.IDs) > 0) {
		return nil, invalid(op, "which", "an age or ids must be given, and only one of them")
	}
	statement, arg := func(at children) string { return e.sql.get("purge_ids", at) }, any(which.IDs)
	if which.OlderThan > 0 {
		var cutoff time.Time
		if err := e.pool.QueryRow(ctx, e.sql.get("purge_cutoff", children{}), e.now(), which.OlderThan).Scan(&cutoff); err != nil {
			return nil, fail(op, "", err)
		}
		statement, arg = func(at children) string { return e.sql.get("purge_old", at) }, cutoff
	} else if err := checkCount(op, "ids", len(which.IDs), maxSweep); err != nil {
		return nil, err
	}
	for len(purged) < limit {
		n := min(purgeBatch, limit-len(purged))
		gone, err := e.purge(ctx, op, statement, arg, n)
		purged = append(purged, gone...)
		if err != nil || len(gone) < n {
			slices.Sort(purged)
			return purged, err
		}
	}
	slices.Sort(purged)
	return purged, nil
}

// purge is one transaction of a purge.
func (e *Engine) purge(ctx context.Context, op string, statement func(children) string, which any, n int) (gone []int64, err error) {
	err = e.untilCurrent(ctx, op, func(t *txn) (moved, commit bool, err error) {
		gone = nil
		open, err := e.openProducer(ctx, t)
		if err != nil {
			return false, false, err
		}
		at := children{Queue: e.queue.slot(open.generation)}
		current := false
		var b pgx.Batch
		b.Queue(e.sql.get("plan_settings", children{}))
		b.Queue(e.sql.get("lock_removal", at))
		b.Queue(statement(at), open.generation, which, n).QueryRow(func(row pgx.Row) error {
			return row.Scan(&current, &gone)
		})
		err = send(ctx, t, &b)
		return !current, len(gone) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}
