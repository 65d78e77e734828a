package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// PauseQueue keeps the queue's jobs from being handed out, by any process, until ResumeQueue: once it has returned, no
// claim hands out another one. It waits for the claims of the queue that are under way, by ctx at most. All else goes on:
// jobs are enqueued, attempts that run are closed or rescued. A queue that is new is registered; one that is paused stays
// so, since when it was.
//
// Repeating is safe. Errors: ErrInvalid; otherwise see SafeToRetry.
func (e *Engine) PauseQueue(ctx context.Context, queue string) error {
	return e.setPaused(ctx, "PauseQueue", queue, e.sql.get("pause_queue", children{}), e.now())
}

// ResumeQueue lets the queue's jobs be handed out again. Otherwise it is like PauseQueue.
func (e *Engine) ResumeQueue(ctx context.Context, queue string) error {
	return e.setPaused(ctx, "ResumeQueue", queue, e.sql.get("resume_queue", children{}))
}

// setPaused takes the lanes' locks, as a claim does before it asks whether the queue is paused: so none is under way that
// has asked before.
func (e *Engine) setPaused(ctx context.Context, op, queue, statement string, args ...any) error {
	if err := checkName(op, "queue", queue); err != nil {
		return err
	}
	q, err := e.lanesOf(ctx, queue, false)
	if err != nil {
		return err
	}
	return e.untilCurrent(ctx, op, func(t *txn) (moved, commit bool, err error) {
		keys := e.laneKeys(q.lanes)
		slices.Sort(keys)
		var version int64
		var b pgx.Batch
		t.queueXid(&b)
		b.Queue(e.sql.get("lock_keys", children{}), keys)
		b.Queue(statement, append([]any{queue}, args...)...)
		// Whoever makes lanes changes the queue's row: they are there already, or come after this transaction.
		b.Queue(e.sql.get("lanes_version", children{})).QueryRow(func(row pgx.Row) error { return row.Scan(&version) })
		if err := send(ctx, t, &b); err != nil || version <= q.version {
			return false, true, err
		}
		q, err = e.refresh(ctx, t, queue)
		return true, false, err
	})
}

// A QueueState is what Queues says of a queue.
type QueueState struct {
	Queue        string
	RegisteredAt time.Time
	PausedAt     *time.Time // nil while its jobs are handed out
	Shards       int        // into how many its jobs come: see SetShards
}

// Queues lists the registered queues in order of name, up to limit (1 to 10,000) of those that come after a name: the empty
// one for the first page, the last one of a page for the next. Errors: ErrInvalid; otherwise see SafeToRetry.
func (e *Engine) Queues(ctx context.Context, after string, limit int) ([]QueueState, error) {
	const op = "Queues"
	if err := checkCount(op, "limit", limit, maxSweep); err != nil {
		return nil, err
	}
	rows, err := e.pool.Query(ctx, e.sql.get("queues", children{}), after, limit)
	if err != nil {
		return nil, fail(op, fmt.Sprintf("after %q", after), err)
	}
	states, err := pgx.CollectRows(rows, pgx.RowToStructByPos[QueueState])
	return states, fail(op, fmt.Sprintf("after %q", after), err)
}
