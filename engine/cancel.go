package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// A JobResult is the outcome for one job of a call. Results come in the order of the request and carry the job's id.
type JobResult struct {
	JobID int64
	// Err is nil when the call did what it says to this job. ErrWrongState: the job was over, or, for DeleteTerminal,
	// it isn't, or, for SetPriority and MoveJob, it doesn't wait. ErrNotFound: there is no such job, or its history was pruned or removed. ErrBusy: it went from place to place, faster than it could be caught. In
	// each case nothing was changed.
	Err error
}

// Cancel ends jobs that aren't over, wherever they are: jobs that wait, in the ring or outside of it, never run again; the
// attempt of one that runs is closed, and its worker is told that it is stale when it reports. At most 10,000 jobs; a
// second mention of one finds it over.
//
// Jobs are looked for first and cancelled where they were found, in one transaction; what moved on meanwhile is looked for
// again, in another one. So after an error some of the jobs may be cancelled; repeating is safe. Waiting is bounded by ctx
// and by the claims and closes of the same lanes and attempts.
func (e *Engine) Cancel(ctx context.Context, ids []int64) ([]JobResult, error) {
	const op = "Cancel"
	return e.jobByJob(ctx, op, ids, ErrWrongState, func(left []int64, answers map[int64]error) ([]int64, error) {
		found, err := e.locate(ctx, op, left)
		if err != nil {
			return nil, err
		}
		c := canceling{e: e, op: op, found: found}
		err = e.transact(ctx, op, func(t *txn) (bool, error) {
			c.done = map[int64]bool{}
			err := c.run(ctx, t)
			return len(c.done) > 0, err
		})
		return c.sort(answers), err
	})
}

// unique returns the values, each where it stands first.
func unique(ids []int64) []int64 {
	seen := map[int64]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// The places where a job is found.
const (
	isDeferred  = "deferred"
	isAvailable = "available"
	isRunning   = "running"
	isCompleted = "completed" // in a batch
	isDone      = "done"      // in a row of its own
	isHeld      = "held"      // in the DLQ
	isNowhere   = "nowhere"
)

// A foundJob says where a job was found: the receipt of its attempt, or that which a claim of it would get, and its
// position in the lane. Of one that has ended they place the end.
type foundJob struct {
	job     int64
	is      string
	receipt Receipt
	seq     int64
}

// locate looks for jobs, at one moment and without a lock that outlives it.
func (e *Engine) locate(ctx context.Context, op string, ids []int64) ([]foundJob, error) {
	var found []foundJob
	err := pgx.BeginTxFunc(ctx, e.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		found = nil
		var b pgx.Batch
		b.Queue(e.sql.get("no_jit", children{}))
		b.Queue(e.sql.get("locate_jobs", children{}), ids).Query(func(rows pgx.Rows) error {
			var w foundJob
			var place int
			r := &w.receipt
			_, err := pgx.ForEachRow(rows, []any{
				&place, &w.is, &r.lane, &w.seq, &r.readyGeneration, &r.runLease, &r.batch, &r.claimGeneration, &r.index,
				&r.local,
			}, func() error {
				w.job = ids[place-1]
				r.job = w.job
				found = append(found, w)
				return nil
			})
			return err
		})
		return send(ctx, tx, &b)
	})
	return found, fail(op, "", err)
}

// canceling is one round of a cancellation.
type canceling struct {
	e     *Engine
	op    string
	found []foundJob
	done  map[int64]bool // jobs that this round has cancelled
}

// sort notes the answers that are known now, and returns the jobs that moved on.
func (c *canceling) sort(answers map[int64]error) (left []int64) {
	for _, w := range c.found {
		switch {
		case c.done[w.job]:
			answers[w.job] = nil
		case w.is == isCompleted, w.is == isDone, w.is == isHeld:
			answers[w.job] = ErrWrongState
		case w.is == isNowhere:
			answers[w.job] = ErrNotFound
		default:
			left = append(left, w.job)
		}
	}
	return left
}

// foundAt are the jobs found in one kind of place.
func foundAt(found []foundJob, is string) []foundJob {
	return slices.DeleteFunc(slices.Clone(found), func(w foundJob) bool { return w.is != is })
}

// keysOfLanes are the keys of the lanes in which jobs were found, in the order in which they must be taken.
func (e *Engine) keysOfLanes(found []foundJob) []int64 {
	var keys []int64
	for _, w := range found {
		keys = append(keys, key(e.cfg.Schema, keyLane, int64(w.receipt.lane)))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// run takes the lanes' locks, as a claim does, before the keys of attempts; then children, claim ring first. Each statement
// proves under its locks that the jobs are still where they were found.
func (c *canceling) run(ctx context.Context, t *txn) error {
	available, running, deferred := foundAt(c.found, isAvailable), foundAt(c.found, isRunning), foundAt(c.found, isDeferred)
	if len(available)+len(running)+len(deferred) == 0 {
		return nil
	}
	var open openProducer
	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(c.e.sql.get("plan_settings", children{}))
	b.Queue(c.e.sql.get("lock_keys", children{}), c.e.keysOfLanes(available))
	c.e.queueOpenProducer(&b, &open)
	if err := send(ctx, t, &b); err != nil {
		return err
	}
	if err := c.running(ctx, t, running); err != nil {
		return err
	}
	b = pgx.Batch{}
	c.available(&b, available)
	c.deferred(&b, open.generation, deferred)
	return send(ctx, t, &b)
}

// running closes attempts on the path of every other outcome.
func (c *canceling) running(ctx context.Context, t *txn, some []foundJob) error {
	if len(some) == 0 {
		return nil
	}
	closing := closing{e: c.e, op: c.op, to: JobCancelled, closed: map[Receipt]JobState{}}
	for _, w := range some {
		closing.receipts = append(closing.receipts, w.receipt)
	}
	if err := closing.close(ctx, t); err != nil {
		return err
	}
	for _, w := range some {
		if _, ok := closing.closed[w.receipt]; ok {
			c.done[w.job] = true
		}
	}
	return nil
}

// available spends the positions of jobs that nobody was handed, slot by slot.
func (c *canceling) available(b *pgx.Batch, some []foundJob) {
	byGeneration := map[int64][]foundJob{}
	for _, w := range some {
		byGeneration[w.receipt.readyGeneration] = append(byGeneration[w.receipt.readyGeneration], w)
	}
	generations := slices.Sorted(maps.Keys(byGeneration))
	for _, g := range generations {
		b.Queue(c.e.sql.get("lock_available", children{Queue: c.e.queue.slot(g)}))
	}
	for _, g := range generations {
		var lanes []int32
		var seqs, jobs []int64
		for _, w := range byGeneration[g] {
			lanes, seqs, jobs = append(lanes, w.receipt.lane), append(seqs, w.seq), append(jobs, w.job)
		}
		b.Queue(c.e.sql.get("cancel_available", children{Queue: c.e.queue.slot(g)}), g, lanes, seqs, jobs, c.e.now()).Query(noteJobs(c.done))
	}
}

// deferred takes jobs out of the table beside the ring. A promotion that holds one is waited for; the job is then found in
// the ring.
func (c *canceling) deferred(b *pgx.Batch, generation int64, some []foundJob) {
	if len(some) == 0 {
		return
	}
	var jobs []int64
	for _, w := range some {
		jobs = append(jobs, w.job)
	}
	at := children{Queue: c.e.queue.slot(generation)}
	b.Queue(c.e.sql.get("lock_history", at))
	b.Queue(c.e.sql.get("cancel_deferred", at), generation, jobs, c.e.now()).Query(noteJobs(c.done))
}

// noteJobs notes the jobs for which a statement has done what it was sent for.
func noteJobs(done map[int64]bool) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var job int64
		_, err := pgx.ForEachRow(rows, []any{&job}, func() error {
			done[job] = true
			return nil
		})
		return err
	}
}
