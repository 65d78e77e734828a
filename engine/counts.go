package engine

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Counts says how many jobs of a queue are in each state. The sum of all but the pruned ones is the number of jobs that
// the tables hold; with the pruned ones it is every job ever enqueued, but for those whose end an
// operator has taken away (DeleteTerminal, PurgeDLQ).
type Counts struct {
	Available int64 // in the ring, not handed out
	Scheduled int64 // deferred: enqueued for later, or snoozed
	Retryable int64 // deferred after an attempt that failed
	Running   int64 // handed out, not closed, not parked
	Waiting   int64 // handed out, not closed, parked
	Completed int64 // history that is still there
	Failed    int64 // failed rows that are still there
	Cancelled int64 // cancelled rows that are still there
	DLQ       int64 // failed jobs that are held for an operator
	// PrunedCompleted and PrunedFailed count history that was truncated, cancelled jobs among the first. They never decrease.
	PrunedCompleted, PrunedFailed int64
}

// Counts counts the queue's jobs, exact at one moment also while everything else goes on (P9). A queue that was never
// registered has none. It reads all slots: an operator's question, not one for a hot path.
//
// It is one SELECT in a READ COMMITTED transaction of its own, in which every table stands by name: PostgreSQL then
// holds all locks before it takes the snapshot. TRUNCATE is not MVCC, so that a REPEATABLE READ transaction, several
// statements, or a function would see a slot truncated and its permanent counts not yet grown.
func (e *Engine) Counts(ctx context.Context, queue string) (Counts, error) {
	const op = "Counts"
	var c Counts
	if err := checkName(op, "queue", queue); err != nil {
		return c, err
	}
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, e.pool, opts, func(tx pgx.Tx) error {
		for range ringAttempts {
			current, err := e.count(ctx, tx, queue, &c)
			if err != nil || current {
				return err
			}
		}
		return ErrBusy
	})
	return c, fail(op, "", err)
}

// count counts once. current is false when the queue has got lanes that it didn't count, which the same statement has seen.
func (e *Engine) count(ctx context.Context, tx pgx.Tx, queue string, c *Counts) (current bool, err error) {
	q, known := e.queues.get(queue)
	if !known {
		if q, err = e.readLanes(ctx, tx, queue); err != nil {
			return false, err
		}
	}
	var version int64
	var b pgx.Batch
	b.Queue(e.sql.get("no_jit", children{}))
	b.Queue(e.sql.get("counts", children{}), laneIDs(q.lanes), queue).QueryRow(func(row pgx.Row) error {
		return row.Scan(&c.Available, &c.Scheduled, &c.Retryable, &c.Running, &c.Waiting, &c.Completed, &c.Failed, &c.Cancelled, &c.DLQ, &c.PrunedCompleted, &c.PrunedFailed, &version)
	})
	if err := send(ctx, tx, &b); err != nil || len(q.lanes) == 0 || version <= q.version {
		return err == nil, err
	}
	_, err = e.refresh(ctx, &txn{Tx: tx}, queue)
	return false, err
}
