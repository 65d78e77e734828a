package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// JobParams describes a job to enqueue.
type JobParams struct {
	Queue string          // required; registered when it is new
	Kind  string          // required; names the handler
	Args  json.RawMessage // nil means {}; at most Config.MaxArgsBytes
	// Priority is 1 (first) to 4. Zero means 2.
	Priority int
	// MaxAttempts is how many tries the job gets. Zero means the queue's.
	MaxAttempts int
	// RunAt, when it is later than the server's clock says now, keeps the job back until then: it is deferred, and
	// Promote makes it available. Zero means now. Microseconds count, in the years 1 to 9999.
	RunAt time.Time
	// TimeLimit is how long an attempt of the job may take, instead of the queue's DeadlineDuration, also longer; at
	// least a millisecond. Zero means the queue's. A job with a limit of its own is claimed row-local.
	TimeLimit time.Duration
	// OwnClaim makes the job's claims row-local without a limit of its own: whoever closes an attempt of it holds up no
	// other job that was claimed with it.
	OwnClaim bool
	// OrderingKey, when it isn't empty, keeps the jobs that have it in one shard of their queue and priority, where they are
	// handed out in the order of the lane: see SetShards. At most 1,024 bytes, whatever they are; it isn't stored.
	OrderingKey string
	// Unique, when set, answers with the id of the job that holds the same key, if there is one, and writes nothing.
	Unique *Unique

	_ struct{}
}

// timeLimit is the job's column: nil for a compact claim, zero for a row-local one without a limit of its own.
func (j *JobParams) timeLimit() *time.Duration {
	if j.TimeLimit > 0 || j.OwnClaim {
		return &j.TimeLimit
	}
	return nil
}

const (
	defaultPriority = 2
	maxOrderingKey  = 1024
)

// Enqueue appends one job in a transaction of its own and returns its id. The job exists if and only if the error is
// nil, except that an ErrAmbiguous must be settled first: repeating an enqueue that did commit makes a second job.
//
// Errors: ErrInvalid before anything is written; ErrAmbiguous; otherwise see SafeToRetry.
func (e *Engine) Enqueue(ctx context.Context, job JobParams) (int64, error) {
	ids, err := e.enqueueRows(ctx, "Enqueue", []JobParams{job}, e.insertRows)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// EnqueueMany appends jobs in one transaction of its own by COPY and returns their ids in the order given: all or none.
// At most 100,000 jobs. Errors as Enqueue.
func (e *Engine) EnqueueMany(ctx context.Context, jobs []JobParams) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	return e.enqueueRows(ctx, "EnqueueMany", jobs, e.copyRows)
}

// EnqueueTx appends jobs in the caller's transaction and returns their ids in the order given: the jobs exist if and
// only if that transaction commits (P1). While it is open nobody else waits for it; it only keeps its slot of the ring
// from being pruned (P5). tx may be of any pool on the same database.
//
// In a READ COMMITTED transaction the jobs go into the ring. A REPEATABLE READ or SERIALIZABLE transaction can't see
// whether the ring moved on since its snapshot; there the jobs are deferred, due at once if not later, and Promote
// hands them to the ring. Errors as Enqueue, and ErrQueueNotRegistered where a new queue can't be registered since the pool has no
// connection left; they leave tx usable only when they match ErrInvalid or ErrQueueNotRegistered.
func (e *Engine) EnqueueTx(ctx context.Context, tx pgx.Tx, jobs ...JobParams) ([]int64, error) {
	const op = "EnqueueTx"
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, err := e.prepareJobs(ctx, op, jobs, true)
	if err != nil {
		return nil, err
	}
	return e.enqueueIn(ctx, op, tx, rows)
}

// enqueueIn is an enqueue in a caller's transaction.
func (e *Engine) enqueueIn(ctx context.Context, op string, tx pgx.Tx, rows *jobRows) ([]int64, error) {
	t := &txn{Tx: tx, op: op}
	for try := range ringAttempts {
		// The cursor is read by an earlier statement than the lock, so that a child is locked only when it was current
		// a moment ago: a lock taken in vain would stay until the caller commits and hold back a prune.
		open, err := e.openProducer(ctx, t)
		if err != nil {
			return nil, fail(op, "", err)
		}
		if err := e.placeAnew(ctx, t, open, rows); err != nil {
			return nil, fail(op, "", err)
		}
		if try == 0 { // the keys stay taken
			if err := e.resolveUnique(ctx, t, open.now, rows.uniques); err != nil {
				return nil, fail(op, "", err)
			}
		}
		ids, err := e.writeNew(ctx, t, open, rows, e.insertRows)
		if err != nil {
			return nil, fail(op, "", err)
		}
		if len(ids) > 0 {
			return ids, nil
		}
	}
	return nil, &Error{Op: op, Err: ErrBusy}
}

func (e *Engine) enqueueRows(ctx context.Context, op string, jobs []JobParams, ring rowWriter) ([]int64, error) {
	rows, err := e.prepareJobs(ctx, op, jobs, false)
	if err != nil {
		return nil, err
	}
	return e.enqueueOwn(ctx, op, rows, ring)
}

// enqueueOwn is an enqueue in a transaction of its own.
func (e *Engine) enqueueOwn(ctx context.Context, op string, rows *jobRows, ring rowWriter) (ids []int64, err error) {
	err = e.untilCurrent(ctx, op, func(t *txn) (moved, commit bool, err error) {
		open, err := e.openProducer(ctx, t)
		if err != nil {
			return false, false, err
		}
		if err := e.placeAnew(ctx, t, open, rows); err != nil {
			return false, false, err
		}
		if err := e.resolveUnique(ctx, t, open.now, rows.uniques); err != nil {
			return false, false, err
		}
		ids, err = e.writeNew(ctx, t, open, rows, ring)
		return len(ids) == 0, true, err
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// writeNew is writeRows for the jobs that aren't there already.
func (e *Engine) writeNew(ctx context.Context, t *txn, o openProducer, r *jobRows, ring rowWriter) ([]int64, error) {
	if r.uniques == nil { // nearly always
		return e.writeRows(ctx, t, o, r, ring)
	}
	ids := make([]int64, len(r.lanes))
	given := make([]int64, len(r.lanes))
	var fresh []int
	for i, u := range r.uniques {
		switch {
		case u == nil:
			fresh = append(fresh, i)
		case u.existing:
			ids[i] = u.id
		default:
			given[i] = u.id
			fresh = append(fresh, i)
		}
	}
	if len(fresh) == 0 {
		return ids, nil
	}
	all := *r
	all.ids = given
	written, err := e.writeRows(ctx, t, o, all.only(fresh), ring)
	if err != nil || len(written) == 0 {
		return nil, err
	}
	for k, i := range fresh {
		ids[i] = written[k]
	}
	return ids, nil
}

// jobRows is a batch of jobs, column by column, checked and with their lanes known.
type jobRows struct {
	spots       []spot
	version     int64 // of all lanes, by which the next two were found
	lanes       []int32
	seqs        []uint32
	kinds       []string
	args        []string // text, so that every execution mode of pgx sends it alike
	maxAttempts []int32
	runAts      []time.Time  // zero: now
	mayWait     bool         // some job has a run_at
	ids         []int64      // that a unique key was taken for; zero, or no list at all: the next one
	uniques     []*uniqueJob // nil for a job without a key, no list at all when no job has one
	timeLimits  []*time.Duration
}

// prepareJobs checks everything that can be wrong before anything is written.
func (e *Engine) prepareJobs(ctx context.Context, op string, jobs []JobParams, held bool) (*jobRows, error) {
	if err := checkCount(op, "jobs", len(jobs), maxEnqueue); err != nil {
		return nil, err
	}
	for i := range jobs {
		if err := e.checkJob(op, &jobs[i]); err != nil {
			return nil, err
		}
	}
	var r jobRows
	for i, j := range jobs {
		priority, attempts, args := j.Priority, j.MaxAttempts, string(j.Args)
		if priority == 0 {
			priority = defaultPriority
		}
		if attempts == 0 {
			attempts = e.cfg.maxAttempts(j.Queue)
		}
		if j.Args == nil {
			args = "{}"
		}
		if j.Unique != nil {
			u, err := newUnique(op, &j, args)
			if err != nil {
				return nil, err
			}
			if r.uniques == nil {
				r.uniques = make([]*uniqueJob, len(jobs))
			}
			r.uniques[i] = u
		}
		s := spot{queue: j.Queue, priority: priority, key: j.OrderingKey}
		if s.key == "" {
			s.turn = e.turn.Add(1)
		}
		r.spots = append(r.spots, s)
		r.kinds = append(r.kinds, j.Kind)
		r.args = append(r.args, args)
		r.maxAttempts = append(r.maxAttempts, int32(attempts))
		r.runAts = append(r.runAts, j.RunAt)
		r.mayWait = r.mayWait || !j.RunAt.IsZero()
		r.timeLimits = append(r.timeLimits, j.timeLimit())
	}
	return &r, r.place(func(queue string) (queueLanes, error) { return e.lanesOf(ctx, queue, held) })
}

func (e *Engine) checkJob(op string, j *JobParams) error {
	if err := checkName(op, "queue", j.Queue); err != nil {
		return err
	}
	if err := checkName(op, "kind", j.Kind); err != nil {
		return err
	}
	if j.Priority < 0 || j.Priority > 4 {
		return invalid(op, fmt.Sprintf("priority %d", j.Priority), "outside 1..4")
	}
	if j.MaxAttempts < 0 || j.MaxAttempts > maxAttemptsLimit {
		return invalid(op, fmt.Sprintf("MaxAttempts %d", j.MaxAttempts), "outside 0..%d", maxAttemptsLimit)
	}
	if year := j.RunAt.UTC().Year(); year < 1 || year > 9999 {
		return invalid(op, fmt.Sprintf("RunAt in the year %d", year), "outside 1..9999")
	}
	if err := checkDuration(op, "TimeLimit", j.TimeLimit); err != nil {
		return err
	}
	if j.TimeLimit != 0 && j.TimeLimit < time.Millisecond {
		return invalid(op, fmt.Sprintf("TimeLimit %s", j.TimeLimit), "shorter than a millisecond")
	}
	if len(j.OrderingKey) > maxOrderingKey {
		return invalid(op, fmt.Sprintf("OrderingKey of %d bytes", len(j.OrderingKey)), "at most %d", maxOrderingKey)
	}
	if j.Args == nil {
		return nil
	}
	return checkArgs(op, j.Args, e.cfg.MaxArgsBytes)
}

// openProducer is what a producer's first statements found.
type openProducer struct {
	isolation  string
	now        time.Time // what every row of the call is compared with
	generation int64     // current a moment ago
	version    int64     // of all lanes
}

// oldSnapshot says that the transaction can't see what others committed since it began.
func (o openProducer) oldSnapshot() bool {
	return o.isolation != "read committed" && o.isolation != "read uncommitted" // the same on this server
}

// openProducer takes the transaction's xid, before any sequence value, and reads the cursor, the clock and the isolation
// level.
func (e *Engine) openProducer(ctx context.Context, t *txn) (o openProducer, err error) {
	var b pgx.Batch
	t.queueXid(&b)
	e.queueOpenProducer(&b, &o)
	return o, send(ctx, t, &b)
}

// queueOpenProducer asks for what a producer has to know, in a pipeline.
func (e *Engine) queueOpenProducer(b *pgx.Batch, o *openProducer) {
	b.Queue(e.sql.get("open_producer", children{}), e.now()).QueryRow(func(row pgx.Row) error {
		return row.Scan(&o.isolation, &o.now, &o.generation, &o.version)
	})
}

// insertRows writes the jobs into the generation's slot if it is still current; no ids mean that it isn't and that
// nothing was written. The lock is a statement of its own, so that the check in the INSERT, which begins after it, sees
// every rotation and prune that it waited for.
func (e *Engine) insertRows(ctx context.Context, t *txn, generation int64, r *jobRows) (ids []int64, err error) {
	at := children{Queue: e.queue.slot(generation)}
	var b pgx.Batch
	b.Queue(e.sql.get("lock_ready", at))
	b.Queue(e.sql.get("insert_ready", at), generation, e.now(), r.lanes, r.seqs, r.kinds, r.args, r.maxAttempts, r.timeLimits, r.ids).
		Query(func(rows pgx.Rows) error {
			ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		})
	return ids, send(ctx, t, &b)
}

// copyRows is insertRows by COPY. The positions are taken in an earlier statement of the same transaction, after its
// xid: a block never outlives the transaction that took it.
func (e *Engine) copyRows(ctx context.Context, t *txn, generation int64, r *jobRows) (ids []int64, err error) {
	at := children{Queue: e.queue.slot(generation)}
	var seqs []int64
	var created any
	var b pgx.Batch
	b.Queue(e.sql.get("lock_ready", at))
	b.Queue(e.sql.get("take_positions", at), generation, e.now(), r.seqs).QueryRow(func(row pgx.Row) error {
		return row.Scan(&created, &ids, &seqs)
	})
	if err := send(ctx, t, &b); err != nil || len(ids) == 0 {
		return nil, err
	}
	for i, id := range r.ids {
		if id != 0 {
			ids[i] = id
		}
	}
	columns := []string{"ready_slot", "ready_generation", "lane_id", "lane_seq", "job_id", "run_lease", "attempt", "max_attempts", "created_at", "kind", "args", "time_limit"}
	source := pgx.CopyFromSlice(len(ids), func(i int) ([]any, error) {
		return []any{int16(at.Queue), generation, r.lanes[i], seqs[i], ids[i], int64(0), int32(0), r.maxAttempts[i], created, r.kinds[i], r.args[i], r.timeLimits[i]}, nil
	})
	table := pgx.Identifier{e.cfg.Schema, fmt.Sprintf("ready_entries_%d", at.Queue)}
	_, err = t.CopyFrom(ctx, table, columns, source)
	return ids, err
}
