package engine

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// SetShards spreads the jobs of a queue that are enqueued from now on over so many shards (1 to 64; a new queue has one): each
// priority has a lane of its own in each, with its own sequence and its own place in the indexes, so that many producers don't
// meet in one. Claims look at all shards: within a priority the job that became available first is handed out first.
//
// Jobs with the same ordering key come into one shard, and keep their order there, as long as the number stays. After a change
// the key may be another shard's: its jobs that come then may be handed out before some that came earlier. Raise the number
// when the keys at work have no jobs that wait, or accept that. Jobs without a key are dealt out in turn.
//
// Nothing moves: what stands in shards above a lowered number is handed out as before, until they are empty. Other processes
// learn of the number by their next transaction that begins after it was set; a caller's transaction at REPEATABLE READ or
// SERIALIZABLE that was open then may go by either number.
//
// An unknown queue is registered. Repeating is safe. Errors: ErrInvalid; otherwise see SafeToRetry.
func (e *Engine) SetShards(ctx context.Context, queue string, shards int) error {
	const op = "SetShards"
	if err := checkName(op, "queue", queue); err != nil {
		return err
	}
	if err := checkCount(op, "shards", shards, maxShards); err != nil {
		return err
	}
	if _, err := e.lanesOf(ctx, queue, false); err != nil {
		return err
	}
	return e.transact(ctx, op, func(t *txn) (bool, error) {
		var b pgx.Batch
		t.queueXid(&b)
		b.Queue(e.sql.get("set_shards", children{}), queue, shards)
		return true, send(ctx, t, &b)
	})
}

const maxShards = 64

// ShardOf is the shard, from 0, of the jobs with an ordering key in a queue that has so many, at least one. It is the same
// everywhere and for ever: FNV-1a in 64 bits over the key's bytes (begin with cbf29ce484222325; for each byte, XOR it in,
// then multiply by 100000001b3, modulo 2^64; all in hexadecimal); then the upper 32 bits are XORed into the lower ones; then the remainder of
// the division by the number of shards, without a sign. "order-4711" gives e1e9ab68fdda093d, then e1e9ab681c33a255, and
// of 64 shards the one with the number 21.
func ShardOf(key string, shards int) int {
	hash := uint64(14695981039346656037)
	for _, b := range []byte(key) {
		hash ^= uint64(b)
		hash *= 1099511628211
	}
	hash ^= hash >> 32
	return int(hash % uint64(shards))
}

// A spot says where a job goes, whatever number of shards its queue turns out to have.
type spot struct {
	queue    string
	priority int
	key      string // ordering key, empty for none
	turn     uint64 // of a job without one
}

// laneIn is the lane of the spot.
func (s spot) laneIn(q queueLanes) lane {
	shard := int(s.turn % uint64(q.shards))
	if s.key != "" {
		shard = ShardOf(s.key, q.shards)
	}
	return q.at(s.priority, shard)
}

// place gives the jobs their lanes, by what the engine remembers of the queues.
func (r *jobRows) place(of func(queue string) (queueLanes, error)) error {
	known := map[string]queueLanes{}
	r.lanes, r.seqs, r.version = r.lanes[:0], r.seqs[:0], 0
	for _, s := range r.spots {
		q, ok := known[s.queue]
		if !ok {
			var err error
			if q, err = of(s.queue); err != nil {
				return err
			}
			known[s.queue] = q
			if len(known) == 1 || q.version < r.version {
				r.version = q.version
			}
		}
		l := s.laneIn(q)
		r.lanes, r.seqs = append(r.lanes, l.id), append(r.seqs, l.seq)
	}
	return nil
}

// placeAnew gives the jobs other lanes when the number of shards of some queue has been set since theirs was read.
func (e *Engine) placeAnew(ctx context.Context, t *txn, o openProducer, r *jobRows) error {
	if o.version <= r.version {
		return nil
	}
	return r.place(func(queue string) (queueLanes, error) {
		// An old snapshot may not see a queue that was registered since; what is known of that one is newer.
		if q, ok := e.queues.get(queue); ok && q.version >= o.version {
			return q, nil
		}
		return e.refresh(ctx, t, queue)
	})
}
