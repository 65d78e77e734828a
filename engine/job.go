package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A JobState says where a job is.
type JobState string

// The states of a job.
const (
	JobAvailable JobState = "available" // in the ring, not handed out
	JobScheduled JobState = "scheduled" // deferred
	JobRetryable JobState = "retryable" // deferred after an attempt that failed
	JobRunning   JobState = "running"   // handed out, not closed
	JobWaiting   JobState = "waiting"   // handed out, not closed, parked: it waits for a callback
	JobCompleted JobState = "completed"
	JobFailed    JobState = "failed"
	JobCancelled JobState = "cancelled"
	JobDLQ       JobState = "dlq" // failed, and held for an operator
)

// A Job is a job as Job reads it.
type Job struct {
	ID          int64
	Queue, Kind string
	Args        json.RawMessage
	Priority    int
	Shard       int // of its queue, from 0
	State       JobState
	RunLease    int64 // of its newest attempt; 0 when it was never handed out
	Attempt     int   // tries used up, a running one included
	MaxAttempts int
	CreatedAt   time.Time
	ClaimedAt   *time.Time // while it is running or waiting, as all until Callback
	DeadlineAt  *time.Time // if it has a deadline
	HeartbeatAt *time.Time // if it has told of itself
	Percent     *int       // as last told by Progress; Message and Metadata likewise
	Message     *string
	Metadata    json.RawMessage
	Callback    json.RawMessage // what the callback brought that ended its last wait
	TimeoutAt   *time.Time      // while it is waiting, if the wait has a timeout
	FinalizedAt *time.Time      // once it is completed, failed or cancelled
	RunAt       *time.Time      // when it is due, while it is deferred; when it was, if it was cancelled then
	Errors      []JobError      // the newest twenty, oldest first
}

// A JobError is one entry of a job's error history.
type JobError struct {
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"`
	Error   string    `json:"error"`
}

// Job reads one job, at one moment. ErrNotFound when it never existed, its transaction hasn't committed, or its history
// was pruned or removed. It is an operator's question: it looks into every slot.
func (e *Engine) Job(ctx context.Context, id int64) (Job, error) {
	const op = "Job"
	j := Job{ID: id}
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, e.pool, opts, func(tx pgx.Tx) error {
		var errs []byte
		var b pgx.Batch
		b.Queue(e.sql.get("no_jit", children{}))
		b.Queue(e.sql.get("job", children{}), id).QueryRow(func(row pgx.Row) error {
			return row.Scan(j.columns(&errs)...)
		})
		err := send(ctx, tx, &b)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		if err == nil {
			err = json.Unmarshal(errs, &j.Errors)
		}
		return err
	})
	if err != nil {
		return Job{}, fail(op, fmt.Sprintf("job %d", id), err)
	}
	return j, nil
}

// columns are where the columns of a job go, in the order in which statements tell of one; the error history goes beside it.
func (j *Job) columns(errs *[]byte) []any {
	return []any{
		&j.State, &j.Queue, &j.Priority, &j.Shard, &j.Kind, &j.Args, &j.RunLease, &j.Attempt, &j.MaxAttempts, &j.CreatedAt, &j.ClaimedAt, &j.DeadlineAt,
		&j.HeartbeatAt, &j.Percent, &j.Message, &j.Metadata, &j.Callback, &j.TimeoutAt, &j.FinalizedAt, &j.RunAt, errs,
	}
}
