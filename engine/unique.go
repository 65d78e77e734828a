package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Unique keeps a second job with the same key from being enqueued while the first one holds it. The key is the kind, and
// what else is asked for. A job holds its key for as long as it is available, scheduled, retryable, running or waiting,
// and in the terminal states that are named, until its history is pruned or deleted.
//
// Who holds a key is a row, and whether it still does is asked of the job itself when somebody else wants the key. So
// there is nothing to release when a job ends, in whatever way it does: a closing transaction can't forget it.
type Unique struct {
	Queue bool // the queue is part of the key
	Args  bool // so are the arguments, as JSON: order of keys and white space make no difference, 1.0 and 1 do
	// Period is a span of time, at least a second, that the key is good for: one job an hour, by the server's clock, in
	// spans that are counted from 1970 in UTC. Zero: for ever.
	Period time.Duration
	// HeldIn are terminal states in which the job keeps its key: JobCompleted, JobFailed, JobCancelled, JobDLQ. A job that
	// failed and is held in the DLQ is in a state of its own: JobFailed says nothing of it.
	HeldIn []JobState
	// MaxWait bounds the wait for another transaction that has enqueued the key and is still open: ErrUniqueBusy when it
	// is longer. In whole milliseconds, rounded up. Zero waits as long as ctx does.
	MaxWait time.Duration

	_ struct{}
}

// An Enqueued is the answer for one job: its id, or that of the job that holds its key.
type Enqueued struct {
	ID       int64
	Existing bool // the job was there already: nothing was written
}

// EnqueueUnique is EnqueueMany, and says of each job whether it is new. Errors as EnqueueMany, and ErrUniqueBusy.
func (e *Engine) EnqueueUnique(ctx context.Context, jobs []JobParams) ([]Enqueued, error) {
	const op = "EnqueueUnique"
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, err := e.prepareJobs(ctx, op, jobs, false)
	if err != nil {
		return nil, err
	}
	ids, err := e.enqueueOwn(ctx, op, rows, e.insertRows)
	return rows.answers(ids), err
}

// EnqueueUniqueTx is EnqueueTx, and says of each job whether it is new. An open transaction that has enqueued a key makes
// every other one that enqueues it wait (P5). In a REPEATABLE READ or SERIALIZABLE transaction a key that was taken
// since its snapshot is an error of SQLSTATE 40001; see SafeToRetry. Errors as EnqueueTx, and ErrUniqueBusy, which leaves
// tx usable.
func (e *Engine) EnqueueUniqueTx(ctx context.Context, tx pgx.Tx, jobs ...JobParams) ([]Enqueued, error) {
	const op = "EnqueueUniqueTx"
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, err := e.prepareJobs(ctx, op, jobs, true)
	if err != nil {
		return nil, err
	}
	ids, err := e.enqueueIn(ctx, op, tx, rows)
	return rows.answers(ids), err
}

func (r *jobRows) answers(ids []int64) []Enqueued {
	var all []Enqueued
	for i, id := range ids {
		all = append(all, Enqueued{ID: id, Existing: r.uniques != nil && r.uniques[i] != nil && r.uniques[i].existing})
	}
	return all
}

// A uniqueJob is one job of a call that has a key, and who holds it.
type uniqueJob struct {
	of       *Unique
	base     []byte // the parts of the key that don't depend on the time
	heldIn   int16
	key      []byte
	id       int64 // of the job that holds the key
	existing bool
}

// heldBits say in which terminal states a key is held, as unique_claims has it.
var heldBits = map[JobState]int16{JobCompleted: 1, JobFailed: 2, JobCancelled: 4, JobDLQ: 8}

// liveStates are those in which a job holds its key whatever was asked for.
var liveStates = []JobState{JobAvailable, JobScheduled, JobRetryable, JobRunning, "waiting"}

// newUnique checks what was asked for and makes the parts of the key. Each part is preceded by its length, so that no two
// lists of parts run into the same bytes; one that isn't asked for is another thing than an empty one.
func newUnique(op string, j *JobParams, args string) (*uniqueJob, error) {
	u := &uniqueJob{of: j.Unique}
	if u.of.Period < 0 || u.of.Period > 0 && u.of.Period < time.Second {
		return nil, invalid(op, fmt.Sprintf("Unique.Period %s", u.of.Period), "neither 0 nor at least a second")
	}
	if err := checkDuration(op, "Unique.MaxWait", u.of.MaxWait); err != nil {
		return nil, err
	}
	for _, state := range u.of.HeldIn {
		bit, ok := heldBits[state]
		if !ok {
			return nil, invalid(op, fmt.Sprintf("Unique.HeldIn %q", state), "not a terminal state")
		}
		u.heldIn |= bit
	}
	part := func(name byte, text []byte) {
		u.base = append(u.base, name)
		u.base = binary.BigEndian.AppendUint32(u.base, uint32(len(text)))
		u.base = append(u.base, text...)
	}
	part('k', []byte(j.Kind))
	if u.of.Queue {
		part('q', []byte(j.Queue))
	}
	if u.of.Args {
		d := json.NewDecoder(bytes.NewReader([]byte(args)))
		d.UseNumber() // 2^53 + 1 and 2^53 are two numbers
		var value any
		if err := d.Decode(&value); err != nil {
			return nil, invalid(op, "args", "%v", err)
		}
		text, err := json.Marshal(value) // sorts keys
		if err != nil {
			return nil, invalid(op, "args", "%v", err)
		}
		part('a', text)
	}
	return u, nil
}

// at completes the key: the span of time that now is in, and its length.
func (u *uniqueJob) at(now time.Time) {
	text := u.base
	if u.of.Period > 0 {
		text = append(slices.Clip(text), 'p')
		text = binary.BigEndian.AppendUint64(text, uint64(u.of.Period))
		span := now.Unix() / int64(u.of.Period/time.Second)
		text = binary.BigEndian.AppendUint64(text, uint64(span))
	}
	sum := sha256.Sum256(text)
	u.key, u.id, u.existing = sum[:], 0, false
}

// resolveUnique finds or takes the key of each job that has one, before any lock of a ring (lock order). Of several jobs
// of the call with one key the first takes it.
func (e *Engine) resolveUnique(ctx context.Context, t *txn, now time.Time, uniques []*uniqueJob) error {
	first := map[string]*uniqueJob{}
	var wait time.Duration
	for _, u := range uniques {
		if u == nil {
			continue
		}
		u.at(now)
		if first[string(u.key)] == nil {
			first[string(u.key)] = u
		}
		if u.of.MaxWait > 0 && (wait == 0 || u.of.MaxWait < wait) {
			wait = u.of.MaxWait
		}
	}
	if len(first) == 0 {
		return nil
	}
	if err := e.withinWait(ctx, t, wait, func(tx pgx.Tx) error { return e.takeKeys(ctx, tx, first) }); err != nil {
		return err
	}
	for _, u := range uniques {
		if u == nil {
			continue
		}
		if winner := first[string(u.key)]; winner != u {
			u.id, u.existing = winner.id, true
		}
	}
	return nil
}

// withinWait runs fn with a bound on each of its lock waits. In a savepoint, so that a caller's transaction outlives it.
func (e *Engine) withinWait(ctx context.Context, t *txn, wait time.Duration, fn func(pgx.Tx) error) error {
	if wait == 0 {
		return fn(t)
	}
	var before string
	inner, err := t.Begin(ctx)
	if err != nil {
		return err
	}
	ms := (wait + time.Millisecond - 1) / time.Millisecond
	err = inner.QueryRow(ctx, e.sql.get("unique_wait", children{}), fmt.Sprintf("%dms", ms)).Scan(&before)
	if err == nil {
		err = fn(inner)
	}
	if isLockTimeout(err) {
		err = fmt.Errorf("%w: %w", ErrUniqueBusy, err)
	}
	if err != nil {
		return errors.Join(err, inner.Rollback(ctx))
	}
	if _, err := inner.Exec(ctx, e.sql.get("unique_wait_back", children{}), before); err != nil {
		return err
	}
	return inner.Commit(ctx)
}

// takeKeys repeats: take what is free; of what isn't, learn who holds it; where that job has ended, let it go and begin
// again. Each repetition needs another transaction that took or let go of a key in between.
func (e *Engine) takeKeys(ctx context.Context, tx pgx.Tx, wanted map[string]*uniqueJob) error {
	left := make([]*uniqueJob, 0, len(wanted))
	for _, u := range wanted {
		left = append(left, u)
	}
	for range ringAttempts {
		var err error
		if left, err = e.takeFree(ctx, tx, left); err != nil || len(left) == 0 {
			return err
		}
		var ended []*uniqueJob
		if ended, err = e.askHolders(ctx, tx, left); err != nil {
			return err
		}
		if len(ended) > 0 {
			// Looked at again under the locks: a retry by an operator could make the job live again in between.
			if _, err := tx.Exec(ctx, e.sql.get("lock_holders", children{}), keysOf(ended)); err != nil {
				return err
			}
			if ended, err = e.askHolders(ctx, tx, ended); err != nil {
				return err
			}
			var jobs []int64
			for _, u := range ended {
				if u.id != 0 {
					jobs = append(jobs, u.id)
				}
			}
			if _, err := tx.Exec(ctx, e.sql.get("release_keys", children{}), jobs); err != nil {
				return err
			}
		}
		left = slices.DeleteFunc(left, func(u *uniqueJob) bool { return u.existing })
		if len(left) == 0 {
			return nil
		}
	}
	return ErrBusy
}

// takeFree takes the keys that nobody holds and returns the others.
func (e *Engine) takeFree(ctx context.Context, tx pgx.Tx, wanted []*uniqueJob) (left []*uniqueJob, err error) {
	held := make([]int16, len(wanted))
	for i, u := range wanted {
		held[i] = u.heldIn
	}
	rows, err := tx.Query(ctx, e.sql.get("take_keys", children{}), keysOf(wanted), held)
	if err != nil {
		return nil, err
	}
	taken := map[string]int64{}
	var key []byte
	var job int64
	if _, err := pgx.ForEachRow(rows, []any{&key, &job}, func() error { taken[string(key)] = job; return nil }); err != nil {
		return nil, err
	}
	for _, u := range wanted {
		if job, ok := taken[string(u.key)]; ok {
			u.id, u.existing = job, false
		} else {
			left = append(left, u)
		}
	}
	return left, nil
}

// askHolders looks who holds the keys, and whether those jobs still do. It returns the keys that nobody holds any more,
// with the job that did; none when the row itself is gone.
func (e *Engine) askHolders(ctx context.Context, tx pgx.Tx, wanted []*uniqueJob) (ended []*uniqueJob, err error) {
	rows, err := tx.Query(ctx, e.sql.get("key_holders", children{}), keysOf(wanted))
	if err != nil {
		return nil, err
	}
	type holder struct {
		job  int64
		held int16
	}
	holders := map[string]holder{}
	var key []byte
	var h holder
	if _, err := pgx.ForEachRow(rows, []any{&key, &h.job, &h.held}, func() error { holders[string(key)] = h; return nil }); err != nil {
		return nil, err
	}
	var jobs []int64
	for _, u := range wanted {
		u.id, u.existing = 0, false
		if h, ok := holders[string(u.key)]; ok {
			u.id = h.job
			jobs = append(jobs, h.job)
		}
	}
	states, err := e.statesOf(ctx, tx, jobs)
	if err != nil {
		return nil, err
	}
	for _, u := range wanted {
		if u.id != 0 && holds(states[u.id], holders[string(u.key)].held) {
			u.existing = true
		} else {
			ended = append(ended, u)
		}
	}
	return ended, nil
}

// holds says whether a job in a state still has its key. A job that isn't found was pruned or deleted.
func holds(state JobState, heldIn int16) bool {
	return slices.Contains(liveStates, state) || heldBits[state]&heldIn != 0
}

// statesOf asks for the jobs one by one, as Job does, in one round trip: whatever shape a job's rows have, Job knows it.
// It reads every child of both rings, in a savepoint that is rolled back: with it go the locks on the children, which a
// caller's transaction would keep to its end, and hold every prune back with them (P5, P7).
func (e *Engine) statesOf(ctx context.Context, tx pgx.Tx, jobs []int64) (map[int64]JobState, error) {
	states := map[int64]JobState{}
	if len(jobs) == 0 {
		return states, nil
	}
	inner, err := tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	var b pgx.Batch
	b.Queue(e.sql.get("no_jit", children{}))
	for _, id := range jobs {
		b.Queue(e.sql.get("job", children{}), id).Query(func(rows pgx.Rows) error {
			defer rows.Close()
			if rows.Next() {
				values, err := rows.Values()
				if err != nil {
					return err
				}
				state, _ := values[0].(string) // the statement's first column is the state, as text
				states[id] = JobState(state)
			}
			return rows.Err()
		})
	}
	err = send(ctx, inner, &b)
	return states, errors.Join(err, inner.Rollback(ctx))
}

// keysOf are the keys of the jobs. The statements that take or lock them go by the order of the keys.
func keysOf(some []*uniqueJob) [][]byte {
	keys := make([][]byte, len(some))
	for i, u := range some {
		keys[i] = u.key
	}
	return keys
}
