package soak

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

const (
	enqueueMost = 100
	claimMost   = 200 // more than is enqueued by the same client: what comes back is taken, too
	parkTimeout = time.Second
)

// A client enqueues a batch, claims one, and does what the jobs' fates say, again and again.
type client struct {
	*run
	rng  *rand.Rand
	wait []waiting
	n    int
}

// waiting is an attempt that this client has parked.
type waiting struct {
	token   engine.Token
	receipt engine.Receipt
	due     time.Time
}

// live goes on until stop is done, at its share of the rate. No call is cut off.
func (c *client) live(ctx, stop context.Context) {
	var every time.Duration
	if c.plan.Rate > 0 {
		every = time.Duration(enqueueMost * float64(c.plan.Clients) / c.plan.Rate * float64(time.Second))
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop.Done():
			return
		case <-timer.C:
			timer.Reset(every)
		}
		queue := queues[c.rng.IntN(len(queues))]
		c.n++
		c.enqueue(ctx, queue)
		c.work(ctx, queue)
		c.callBack(ctx)
	}
}

// enqueue appends a batch: by COPY, in a caller's transaction each eighth time; those with keys by themselves.
func (c *client) enqueue(ctx context.Context, queue string) {
	var plain, keyed []engine.JobParams
	var doomed []int64
	for range enqueueMost {
		if j := drawJob(c.rng, queue); j.Unique != nil {
			keyed = append(keyed, j)
		} else {
			plain = append(plain, j)
		}
	}
	ids, ok := c.append(ctx, plain)
	if !ok {
		return
	}
	c.facts.add("enqueued", len(ids))
	for i, id := range ids {
		if fate(plain[i].Kind) == cancelled && (!plain[i].RunAt.IsZero() || c.rng.IntN(2) == 0) {
			doomed = append(doomed, id)
		}
	}
	if some, err := c.eng.EnqueueUnique(ctx, keyed); c.facts.call("EnqueueUnique", err) {
		for _, one := range some {
			if !one.Existing {
				c.facts.add("enqueued", 1)
			}
		}
	}
	if len(doomed) > 0 {
		c.cancel(ctx, doomed)
	}
}

func (c *client) append(ctx context.Context, jobs []engine.JobParams) (ids []int64, ok bool) {
	if c.n%8 != 0 {
		ids, err := c.eng.EnqueueMany(ctx, jobs)
		return ids, c.facts.call("EnqueueMany", err)
	}
	err := pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) (err error) {
		ids, err = c.eng.EnqueueTx(ctx, tx, jobs...)
		return err
	})
	return ids, c.facts.call("EnqueueTx", err)
}

func (c *client) cancel(ctx context.Context, ids []int64) {
	results, err := c.eng.Cancel(ctx, ids)
	if c.facts.call("Cancel", err) {
		for _, r := range results {
			c.facts.result("Cancel", r.Err)
		}
	}
}

// work claims, and closes what it has claimed as the fates say.
func (c *client) work(ctx context.Context, queue string) {
	attempts, err := c.eng.Claim(ctx, queue, claimMost)
	if !c.facts.call("Claim", err) {
		return
	}
	c.facts.add("handed", len(attempts))
	var good []engine.Receipt
	var bad []engine.Failure
	var again []engine.Retrial
	var later []engine.Snoozing
	var doomed []int64
	for _, a := range attempts {
		first := a.Receipt.RunLease() == 1
		switch f := fate(a.Kind); {
		case f == fails:
			bad = append(bad, engine.Failure{Receipt: a.Receipt, Message: "as it had to be"})
		case f == retried && first:
			again = append(again, engine.Retrial{Receipt: a.Receipt, Message: "not yet", After: 300 * time.Millisecond})
		case f == snoozed && first:
			later = append(later, engine.Snoozing{Receipt: a.Receipt, For: 300 * time.Millisecond})
		case f == parked && first:
			c.park(ctx, a.Receipt)
		case (f == limited || f == lost) && first:
		case f == beats && first:
			c.beat(ctx, a.Receipt)
			good = append(good, a.Receipt)
		case f == cancelled:
			doomed = append(doomed, a.Receipt.JobID())
			good = append(good, a.Receipt) // too late, mostly
		default:
			good = append(good, a.Receipt)
		}
	}
	if len(doomed) > 0 {
		c.cancel(ctx, doomed)
	}
	c.closed(c.eng.Complete(ctx, good))
	c.closed(c.eng.Fail(ctx, bad))
	c.closed(c.eng.Retry(ctx, again))
	c.closed(c.eng.Snooze(ctx, later))
}

// closed counts the answers of a close.
func (c *client) closed(results []engine.Result, err error) {
	if !c.facts.call("close", err) {
		return
	}
	for _, r := range results {
		if c.facts.result("close", r.Err); r.Err == nil {
			c.facts.add("closed", 1)
		}
	}
}

func (c *client) beat(ctx context.Context, r engine.Receipt) {
	_, err := c.eng.Heartbeat(ctx, []engine.Receipt{r})
	c.facts.call("Heartbeat", err)
	c.facts.result("Progress", c.eng.Progress(ctx, r, engine.ProgressReport{Percent: 50, Message: "half"}))
}

// park lets an attempt wait. One of eight hears nothing and times out.
func (c *client) park(ctx context.Context, r engine.Receipt) {
	got, err := c.eng.Park(ctx, r, engine.Wait{Timeout: parkTimeout})
	if c.facts.result("Park", err); err != nil || c.rng.IntN(8) == 0 {
		return
	}
	c.wait = append(c.wait, waiting{got.Token, r, time.Now().Add(parkTimeout / 4)})
}

// callBack brings the answers that are due, and closes those attempts.
func (c *client) callBack(ctx context.Context) {
	for len(c.wait) > 0 && time.Now().After(c.wait[0].due) {
		w := c.wait[0]
		c.wait = c.wait[1:]
		_, err := c.eng.Resume(ctx, w.token, json.RawMessage(`{"paid": true}`))
		if c.facts.result("Resume", err); err == nil {
			c.closed(c.eng.Complete(ctx, []engine.Receipt{w.receipt}))
		}
	}
}
