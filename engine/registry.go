package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// registrationWait bounds how long an operation waits for a connection of the pool to register a queue on. The caller
// may hold the others in open transactions, each waiting for the same.
const registrationWait = 2 * time.Second

// A lane is one order of jobs: (queue, priority, shard). Its own priority is its identity, whatever priority a claim gives it.
type lane struct {
	id       int32
	priority int16
	seq      uint32 // oid of the lane's sequence
}

// queueLanes are the lanes of a queue, as they were at a version of all lanes.
type queueLanes struct {
	lanes   []lane // in order of priority and shard: all that there are
	shards  int    // into how many of them jobs come; the others are drained
	version int64
}

// at is the lane of a priority and a shard.
func (q queueLanes) at(priority, shard int) lane {
	return q.lanes[(priority-1)*(len(q.lanes)/4)+shard]
}

// A registry remembers the lanes of queues that this engine has met. Only committed registrations enter it, and lanes
// are never dropped, so that it can't be wrong, only incomplete (hazard 32): who hands jobs out, counts them or keeps them
// from being handed out asks for the version, and reads anew what is older.
type registry struct {
	mu     sync.RWMutex
	queues map[string]queueLanes
	// own holds the queues in which this process has met jobs that are claimed row-local. It only chooses the form of
	// the claim's statement: the other one says so when it was the wrong one.
	own map[string]bool
}

func (r *registry) mixed(queue string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.own[queue]
}

func (r *registry) mix(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own == nil {
		r.own = map[string]bool{}
	}
	r.own[queue] = true
}

func (r *registry) get(queue string) (queueLanes, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	q, ok := r.queues[queue]
	return q, ok
}

// put remembers the lanes, unless newer ones came first.
func (r *registry) put(queue string, q queueLanes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queues == nil {
		r.queues = map[string]queueLanes{}
	}
	if known, ok := r.queues[queue]; !ok || known.version <= q.version {
		r.queues[queue] = q
	}
}

// RegisterQueue makes the queue's lanes, in a transaction of its own; registering again does nothing. Enqueue and Claim
// do it by themselves when they meet an unknown queue. Call it first where the pool may have no connection left while
// the caller's transaction is open.
//
// Errors: ErrInvalid for a name that is empty, longer than 128 bytes, not UTF-8 or contains U+0000; ErrUnreachable.
func (e *Engine) RegisterQueue(ctx context.Context, queue string) error {
	if err := checkName("RegisterQueue", "queue", queue); err != nil {
		return err
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return fail("RegisterQueue", queue, err)
	}
	defer conn.Release()
	_, err = e.register(ctx, conn, queue)
	return err
}

// lanesOf returns the lanes of a queue, registering it if it is new. held says that the caller holds a connection of
// some pool in a transaction, perhaps the last one of ours.
func (e *Engine) lanesOf(ctx context.Context, queue string, held bool) (queueLanes, error) {
	if q, ok := e.queues.get(queue); ok {
		return q, nil
	}
	wait := ctx
	if held {
		if stat := e.pool.Stat(); stat.MaxConns() == 1 && stat.AcquiredConns() == 1 {
			return queueLanes{}, &Error{Op: "RegisterQueue", Value: fmt.Sprintf("queue %q", queue), Err: ErrQueueNotRegistered}
		}
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, registrationWait)
		defer cancel()
	}
	conn, err := e.pool.Acquire(wait)
	if err != nil {
		if wait.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrQueueNotRegistered, err)
		}
		return queueLanes{}, fail("RegisterQueue", fmt.Sprintf("queue %q", queue), err)
	}
	defer conn.Release()
	return e.register(ctx, conn, queue)
}

// register commits a transaction of its own before the lanes are read and remembered.
func (e *Engine) register(ctx context.Context, conn *pgxpool.Conn, queue string) (queueLanes, error) {
	q, err := e.readLanes(ctx, conn, queue)
	if err == nil && len(q.lanes) == 0 {
		// READ COMMITTED is stated: with an older snapshot the function wouldn't see the queue that another process
		// registered while it waited for the lock, and would register it again.
		opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
		err = pgx.BeginTxFunc(ctx, conn, opts, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, e.sql.get("register_queue", children{}), queue)
			return err
		})
		if err == nil {
			q, err = e.readLanes(ctx, conn, queue)
		}
	}
	if err != nil {
		return queueLanes{}, fail("RegisterQueue", fmt.Sprintf("queue %q", queue), err)
	}
	return q, e.remember(queue, q)
}

// refresh reads the lanes of a registered queue anew, in a transaction that is open.
func (e *Engine) refresh(ctx context.Context, t *txn, queue string) (queueLanes, error) {
	q, err := e.readLanes(ctx, t, queue)
	if err != nil {
		return queueLanes{}, err
	}
	return q, e.remember(queue, q)
}

func (e *Engine) remember(queue string, q queueLanes) error {
	if len(q.lanes) == 0 || len(q.lanes)%4 != 0 || q.shards < 1 || q.shards > len(q.lanes)/4 {
		return &Error{Op: "RegisterQueue", Value: fmt.Sprintf("queue %q", queue), Err: fmt.Errorf("%w: %d lanes for %d shards", ErrCorrupt, len(q.lanes), q.shards)}
	}
	e.queues.put(queue, q)
	return nil
}

// readLanes reads a queue's lanes in one statement: none when it isn't registered.
func (e *Engine) readLanes(ctx context.Context, db interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, queue string,
) (q queueLanes, err error) {
	rows, err := db.Query(ctx, e.sql.get("lanes", children{}), queue)
	if err != nil {
		return q, err
	}
	defer rows.Close()
	for rows.Next() {
		var l lane
		if err := rows.Scan(&l.id, &l.priority, &l.seq, &q.shards, &q.version); err != nil {
			return q, err
		}
		q.lanes = append(q.lanes, l)
	}
	q.lanes = slices.Clip(q.lanes)
	return q, rows.Err()
}

// laneKeys returns the advisory keys of lanes, in their order.
func (e *Engine) laneKeys(lanes []lane) []int64 {
	keys := make([]int64, len(lanes))
	for i, l := range lanes {
		keys[i] = key(e.cfg.Schema, keyLane, int64(l.id))
	}
	return keys
}

// laneIDs returns the ids of lanes as the server takes them.
func laneIDs(lanes []lane) []int32 {
	ids := make([]int32, len(lanes))
	for i, l := range lanes {
		ids[i] = l.id
	}
	return ids
}
