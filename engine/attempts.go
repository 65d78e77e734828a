package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// An AttemptRecord is one attempt of a job, as JobAttempts reads it.
type AttemptRecord struct {
	RunLease   int64 // names the attempt, with the job's id
	Attempt    int   // of MaxAttempts: a snooze gives one back, so that two records may have the same
	ClaimedAt  time.Time
	DeadlineAt *time.Time
	ClosedAt   *time.Time // nil while it is open
	// Outcome is how it ended: completed, failed, retried, snoozed, cancelled, rescued, deadline_expired, callback_timeout or
	// dlq; empty while it is open. What went wrong stands in Job's Errors, under the number of the attempt.
	Outcome string
}

// JobAttempts reads the attempts of a job, oldest first, at one moment: those that the rings still hold, which is a lap of
// them or so (docs/operating/retention.md). None for a job that doesn't exist. It is an operator's question: it looks
// into every slot.
func (e *Engine) JobAttempts(ctx context.Context, id int64) ([]AttemptRecord, error) {
	const op = "JobAttempts"
	var records []AttemptRecord
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, e.pool, opts, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue(e.sql.get("no_jit", children{}))
		b.Queue(e.sql.get("job_attempts", children{}), id).Query(func(rows pgx.Rows) (err error) {
			records, err = pgx.CollectRows(rows, pgx.RowToStructByPos[AttemptRecord])
			return err
		})
		return send(ctx, tx, &b)
	})
	return records, fail(op, fmt.Sprintf("job %d", id), err)
}
