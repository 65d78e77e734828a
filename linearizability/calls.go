package linearizability

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// record makes one call and writes it down when it has returned. One call in Plan.Disturb has its connection cut around
// the COMMIT, or a context that ends early; the client doesn't know more than its error says.
func (c *client) record(ctx context.Context, begin call, act func(context.Context, *call) error) *call {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	switch c.rng.IntN(3 * c.cfg.Disturb) {
	case 0:
		c.p.cutter.arm(cutBefore)
	case 1:
		c.p.cutter.arm(cutAfter)
	case 2:
		var short context.CancelFunc
		ctx, short = context.WithTimeout(ctx, time.Duration(c.rng.IntN(5_000))*time.Microsecond)
		defer short()
	}
	begin.Client = c.id
	return c.finish(ctx, c.p, &begin, act)
}

// finish makes the call. After an error its return is the moment from which on nothing more comes of it.
func (r *run) finish(ctx context.Context, p *process, one *call, act func(context.Context, *call) error) *call {
	one.Call = r.rec.now()
	err := act(ctx, one)
	one.Return = r.rec.now()
	if err == nil && one.Outcome == "" {
		one.Outcome = outcomeOK
	}
	if err != nil {
		one.Error, one.Code = err.Error(), codeOf(err)
		if one.Outcome == "" {
			one.Outcome = p.settle(ctx, err)
		}
		one.Return = never
		if fence(ctx, r.control, p.name) {
			one.Return = r.rec.now()
		}
	}
	r.rec.write(line{Call: one})
	return one
}

func (c *client) enqueue(ctx context.Context, as op, n int) error {
	jobs, params := c.newJobs(n)
	one := c.record(ctx, call{Op: as, Jobs: jobs}, func(ctx context.Context, one *call) (err error) {
		var ids []int64
		if as == opEnqueue {
			ids = make([]int64, 1)
			ids[0], err = c.p.queue.Enqueue(ctx, params[0])
		} else {
			ids, err = c.p.queue.EnqueueMany(ctx, params)
		}
		if err == nil {
			name(one.Jobs, ids)
		}
		return err
	})
	if one.Outcome == outcomeOK {
		c.board.add(jobs, true)
	}
	return nil
}

func name(jobs []job, ids []int64) {
	for i, id := range ids {
		jobs[i].ID = id
	}
}

// isolations are drawn from: a caller's old snapshot defers its jobs.
var isolations = [...]pgx.TxIsoLevel{pgx.ReadCommitted, pgx.ReadCommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}

// enqueueTx enqueues in a transaction of the client's own, which stays open for a while and is sometimes rolled back.
func (c *client) enqueueTx(ctx context.Context, n int) error {
	jobs, params := c.newJobs(n)
	level := isolations[c.rng.IntN(len(isolations))]
	rollBack, open := c.rng.IntN(4) == 0, time.Duration(0)
	if c.rng.IntN(3) == 0 {
		open = time.Duration(c.rng.IntN(30)) * time.Millisecond
	}
	begin := call{Op: opEnqueueTx, Jobs: jobs, Deferred: level != pgx.ReadCommitted}
	one := c.record(ctx, begin, func(ctx context.Context, one *call) error {
		tx, err := c.p.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
		if err != nil {
			one.Outcome = outcomeNotDone
			return err
		}
		defer func() {
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
			defer cancel()
			_ = tx.Rollback(clean) // after a commit it does nothing; a failure closes the connection
		}()
		ids, err := c.p.queue.EnqueueTx(ctx, tx, params...)
		if err != nil {
			one.Outcome = outcomeNotDone // it was never committed
			return err
		}
		name(one.Jobs, ids)
		one.Written = c.rec.now()
		pause(ctx, open)
		if rollBack {
			one.Outcome = outcomeRolledBack
			return tx.Rollback(ctx)
		}
		err = tx.Commit(ctx)
		one.Outcome = commitOutcome(err)
		return err
	})
	if len(one.Jobs) > 0 && one.Jobs[0].ID != 0 {
		c.board.add(jobs, one.Outcome == outcomeOK)
	}
	return nil
}

func (c *client) claim(ctx context.Context, queue string, limit int) error {
	var got []engine.Attempt
	c.record(ctx, call{Op: opClaim, Queue: queue, Limit: limit}, func(ctx context.Context, one *call) (err error) {
		got, err = c.p.queue.Claim(ctx, queue, limit)
		for _, a := range got {
			var args struct{ Mark string }
			if err := json.Unmarshal(a.Args, &args); err != nil {
				return err
			}
			one.Attempts = append(one.Attempts, attempt{
				Job: a.Receipt.JobID(), Lease: a.Receipt.RunLease(), Try: a.Attempt, Priority: a.Priority, Mark: args.Mark,
			})
		}
		return err
	})
	for _, a := range got {
		if c.rng.IntN(40) > 0 {
			c.held = append(c.held, a.Receipt)
			continue
		}
		// From a little before it is stale to two sweeps after it.
		after := c.cfg.StaleAfter*9/10 + time.Duration(c.rng.Int64N(int64(2*c.cfg.RescueEvery)))
		c.late = append(c.late, late{a.Receipt, time.Now().Add(after)})
	}
	return nil
}

// close closes attempts. What became of them after an error is for a rescue, or a later stale answer, to tell.
func (c *client) close(ctx context.Context, as op, receipts []engine.Receipt) error {
	if len(receipts) == 0 {
		return nil
	}
	asked := make([]attempt, len(receipts))
	failures := make([]engine.Failure, len(receipts))
	for i, r := range receipts {
		asked[i] = attempt{Job: r.JobID(), Lease: r.RunLease()}
		failures[i] = engine.Failure{Receipt: r, Message: "as drawn"}
	}
	one := c.record(ctx, call{Op: as, Attempts: asked}, func(ctx context.Context, one *call) error {
		var results []engine.Result
		var err error
		if as == opFail {
			results, err = c.p.queue.Fail(ctx, failures)
		} else {
			results, err = c.p.queue.Complete(ctx, receipts)
		}
		for i, r := range results {
			one.Attempts[i].Stale = engine.Stale(r.Err)
		}
		return err
	})
	if one.Outcome == outcomeOK {
		c.board.over(one.Attempts)
	}
	c.past = append(c.past, receipts...)
	c.past = c.past[max(0, len(c.past)-8):]
	return nil
}

// look reads a job that somebody enqueued lately.
func (c *client) look(ctx context.Context) error {
	if id := c.board.pick(c.rng); id != 0 {
		c.record(ctx, call{Op: opJob}, func(ctx context.Context, one *call) error { return see(ctx, c.p.queue, id, one) })
	}
	return nil
}

func see(ctx context.Context, q Queue, id int64, one *call) error {
	one.Seen = &seen{Job: id, State: "not_found"}
	j, err := q.Job(ctx, id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	*one.Seen = seen{id, string(j.State), j.RunLease, j.Attempt}
	return nil
}
