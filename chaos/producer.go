package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// The business table: what the jobs are about. A row in it says that the job's transaction committed.
const (
	createOrders = `/* chaos:setup */ CREATE TABLE orders (mark text PRIMARY KEY, job_id bigint NOT NULL)`
	insertOrders = `/* chaos:order */ INSERT INTO orders SELECT * FROM unnest($1::text[], $2::bigint[])`
	readOrders   = `/* chaos:dump */ SELECT mark, job_id FROM orders ORDER BY job_id, mark`
)

// errChangedMind makes a producer roll back.
var errChangedMind = errors.New("rolled back on purpose")

const (
	manyAttempts = 25 // enough that rescue never ends a job
	maxLag       = 500 * time.Millisecond
)

// job is the arguments of a job.
type job struct {
	Mark string `json:"mark"`
}

// produce enqueues at the wanted rate: mostly in business transactions, some of them under REPEATABLE READ, some rolled
// back; the rest by COPY.
func (w *worker) produce() error {
	back := newBackoff()
	next := time.Now()
	for n := 1; w.stop.Err() == nil; n++ {
		b := w.newBatch(n)
		var got outcome
		var err error
		if w.rng.IntN(10) < 7 {
			got, err = w.enqueueTx(b)
		} else {
			b.Max = manyAttempts // only a worker's word ends these jobs: the marks that were committed can't be read anywhere
			got, err = w.enqueueMany(b)
		}
		if err != nil {
			return err
		}
		if got != outcomeOK && got != outcomeRolledBack {
			back.wait(w.stop)
			continue
		}
		back.reset()
		next = next.Add(time.Duration(float64(b.Count) / w.spec.Rate * float64(time.Second)))
		if behind := time.Since(next); behind > maxLag {
			next = next.Add(behind - maxLag) // what an outage kept back isn't all made up for
		}
		pause(w.stop, time.Until(next))
	}
	return nil
}

// newBatch draws a batch of jobs for one queue. A tenth of them may be tried only once, so that rescue fails them.
func (w *worker) newBatch(n int) line {
	b := line{Batch: fmt.Sprintf("%s.%d", w.spec.Name, n), Queue: queues[w.rng.IntN(len(queues))], Count: 5 + w.rng.IntN(40), Max: manyAttempts}
	if w.rng.IntN(10) == 0 {
		b.Max = 1
	}
	return b
}

func (w *worker) jobsOf(b line) (jobs []engine.JobParams, marks []string, err error) {
	for i := range b.Count {
		args, err := json.Marshal(job{mark(b.Batch, i)})
		if err != nil {
			return nil, nil, err
		}
		marks = append(marks, mark(b.Batch, i))
		jobs = append(jobs, engine.JobParams{Queue: b.Queue, Kind: "order", Args: args, Priority: 1 + w.rng.IntN(4), MaxAttempts: b.Max})
	}
	return jobs, marks, nil
}

func (w *worker) enqueueTx(b line) (outcome, error) {
	jobs, marks, err := w.jobsOf(b)
	if err != nil {
		return "", err
	}
	b.Op = opEnqueueTx
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	if w.rng.IntN(8) == 0 {
		opts.IsoLevel = pgx.RepeatableRead // goes by way of the deferred jobs
	}
	rollback := w.rng.IntN(20) == 0
	return w.call(b, func(ctx context.Context, end *line) error {
		committing := false
		err := pgx.BeginTxFunc(ctx, w.pool, opts, func(tx pgx.Tx) error {
			ids, err := w.eng.EnqueueTx(ctx, tx, jobs...)
			if err != nil {
				return err
			}
			end.IDs = ids
			if _, err := tx.Exec(ctx, insertOrders, marks, ids); err != nil {
				return err
			}
			if rollback {
				return errChangedMind
			}
			committing = true
			return nil
		})
		switch {
		case errors.Is(err, errChangedMind):
			end.Outcome = outcomeRolledBack
			return nil
		case err != nil && committing:
			end.Outcome = outcomeUnknown // the table of orders will tell
		}
		return err
	})
}

func (w *worker) enqueueMany(b line) (outcome, error) {
	jobs, _, err := w.jobsOf(b)
	if err != nil {
		return "", err
	}
	b.Op = opEnqueueMany
	return w.call(b, func(ctx context.Context, end *line) (err error) {
		end.IDs, err = w.eng.EnqueueMany(ctx, jobs)
		return err
	})
}
