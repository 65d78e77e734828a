package engine

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Claim hands out up to limit (1 to 4,096) jobs of the queue: the best priority first, counting what QueueConfig.Aging makes
// of it, and within a lane in lane order among the jobs that are visible (P4). Each comes with the receipt of its attempt, open until the attempt is closed or
// rescued. Jobs with a time limit of their own, and others, come in one answer; what shape their claims have shows in
// nothing but the deadlines.
//
// A lane that another claim is at work on is passed over, so that a slow claimer stalls nobody: no attempts and no error
// mean "nothing unlocked and visible", not "the queue is empty". If the error is ErrAmbiguous the attempts may be open
// without anybody knowing; RescueStale gives them back. Errors: ErrInvalid; otherwise see SafeToRetry.
func (e *Engine) Claim(ctx context.Context, queue string, limit int) ([]Attempt, error) {
	const op = "Claim"
	if err := checkName(op, "queue", queue); err != nil {
		return nil, err
	}
	if err := checkCount(op, "limit", limit, receiptsPerBatch); err != nil {
		return nil, err
	}
	known, err := e.lanesOf(ctx, queue, false)
	if err != nil {
		return nil, err
	}
	c := claiming{e: e, queue: queue, limit: limit}
	err = e.untilCurrent(ctx, op, func(t *txn) (moved, commit bool, err error) {
		moved, commit, err = c.run(ctx, t, known)
		if err == nil && c.version > known.version {
			known, err = e.refresh(ctx, t, queue)
			moved, commit = true, false
		}
		return moved, commit, err
	})
	if err != nil {
		return nil, err
	}
	c.advanceHints()
	return c.attempts, nil
}

// claiming is one claim under way.
type claiming struct {
	e     *Engine
	queue string
	limit int
	mixed bool           // jobs of the queue may be claimed row-local
	aging *time.Duration // what a job waits for a step of priority; nil where it gains none
	merge bool           // whose turn it is isn't a matter of lanes alone: jobs age, or there are several shards

	lanes    []lane // locked by this claim, best priority first
	hints    []hint // of those lanes
	sights   []sight
	version  int64     // of all lanes
	server   time.Time // the life of the server in which this happens
	queueAt  window    // of the queue ring, read under the locks
	claimAt  window    // of the claim ring
	gens     []int64
	attempts []Attempt
	lastRank int   // of the last job handed out: index into lanes
	lastSeq  int64 // and its position
	// leftRanks and leftSeqs say after a merge where each lane that has something left goes on; the others have nothing.
	leftRanks []int
	leftSeqs  []int64
}

// run is one try. moved says that a ring turned between the read of its cursor and the locks; nothing was written then.
func (c *claiming) run(ctx context.Context, t *txn, known queueLanes) (moved, commit bool, err error) {
	*c = claiming{e: c.e, queue: c.queue, limit: c.limit, mixed: c.e.queues.mixed(c.queue), aging: c.e.cfg.aging(c.queue)}
	c.merge = c.aging != nil || len(known.lanes) > 4
	if err := c.lockLanes(ctx, t, known.lanes); err != nil || len(c.lanes) == 0 || c.version > known.version {
		return false, false, err
	}
	if err := c.lookAtEvidence(ctx, t); err != nil {
		return false, false, err
	}
	ok, err := c.handOut(ctx, t)
	return !ok, len(c.attempts) > 0, err
}

// lockLanes tries the lanes' locks and then, in later statements, reads the rings, the next transaction id and a
// snapshot: what a sight relies on, in this order. What the lock raced with is visible to every later statement. The
// claim takes no id of its own here: polling an empty queue must not use ids up, which would bring on vacuums.
func (c *claiming) lockLanes(ctx context.Context, t *txn, lanes []lane) error {
	e := c.e
	keys := e.laneKeys(lanes)
	var got []bool
	var xmin, next uint64
	var b pgx.Batch
	b.Queue(e.sql.get("plan_settings", children{}))
	b.Queue(e.sql.get("try_keys", children{}), keys).QueryRow(func(row pgx.Row) error { return row.Scan(&got) })
	b.Queue(e.sql.get("read_window", children{Ring: e.queue})).QueryRow(func(row pgx.Row) error { return row.Scan(&c.queueAt) })
	b.Queue(e.sql.get("read_window", children{Ring: e.claim})).QueryRow(func(row pgx.Row) error { return row.Scan(&c.claimAt) })
	var paused bool
	b.Queue(e.sql.get("transaction_ids", children{}), c.queue).QueryRow(func(row pgx.Row) error { return row.Scan(&xmin, &next, &c.server, &paused, &c.version) })
	if err := send(ctx, t, &b); err != nil || paused {
		return err
	}
	for i, l := range lanes {
		if !got[i] {
			continue
		}
		h := e.hints.get(l.id, c.server)
		c.lanes = append(c.lanes, l)
		c.hints = append(c.hints, h)
		c.sights = append(c.sights, sight{window: c.queueAt, next: next, xmin: xmin, last: map[int64]int64{}})
		c.gens = union(c.gens, h.generations(c.queueAt))
	}
	return nil
}

// at names the children of this claim: the current claim slot and the queue slots that may have something.
func (c *claiming) at() children {
	return children{Claim: c.e.claim.slot(c.claimAt.current()), Slots: c.e.queue.slotsOf(c.gens), Local: c.mixed, Merge: c.merge}
}

// lookAtEvidence locks the children, claim ring first, and reads the evidence that the hints haven't seen. The lane
// lock keeps it from growing until this transaction ends.
func (c *claiming) lookAtEvidence(ctx context.Context, t *txn) error {
	ids, seen := make([]int32, len(c.lanes)), make([]int64, len(c.lanes))
	for i, l := range c.lanes {
		ids[i], seen[i] = l.id, c.hints[i].seen
	}
	var b pgx.Batch
	b.Queue(c.e.sql.get("lock_claim_children", c.at()))
	b.Queue(c.e.sql.get("new_evidence", c.at()), ids, seen).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var i int
			var text string
			var lasts []int64
			s := sight{}
			if err := rows.Scan(&i, &text, &s.seen, &lasts); err != nil {
				return err
			}
			spent, err := parseSpans(text)
			if err != nil {
				return err
			}
			c.sights[i-1].seen, c.sights[i-1].spent = s.seen, spent
			for k, g := range c.gens {
				c.sights[i-1].last[g] = lasts[k]
			}
		}
		return rows.Err()
	})
	return send(ctx, t, &b)
}

// handOut picks the jobs and writes evidence and receipts in one statement, if both cursors still stand and no
// generation looked at was pruned; ok says whether that was so.
func (c *claiming) handOut(ctx context.Context, t *txn) (ok bool, err error) {
	var ranks, ids []int32
	var los, his []int64
	var priorities []int16 // the lanes' own
	for i, l := range c.lanes {
		for _, sp := range c.hints[i].open.minus(c.sights[i].spent) {
			ranks, ids = append(ranks, int32(i)), append(ids, l.id)
			los, his = append(los, sp.lo), append(his, sp.hi)
			priorities = append(priorities, l.priority)
		}
	}
	args := []any{c.queueAt.current(), c.claimAt.current(), c.gens, ranks, ids, los, his, c.limit, c.e.now(), c.e.cfg.deadline(c.queue)}
	if c.merge {
		args = append(args, priorities, c.aging)
	}
	var b pgx.Batch
	b.Queue(c.e.sql.get("hand_out", c.at()), args...).Query(func(rows pgx.Rows) error {
		ok, err = c.read(rows)
		return err
	})
	b.Queue(c.e.sql.get("own_xid", children{})).QueryRow(func(row pgx.Row) error { return row.Scan(&t.xid, &t.server, &t.at) })
	return ok, send(ctx, t, &b)
}

// read reads what hand_out picked; ok says whether the rings stood where they were, and the form of the statement was
// the right one for the jobs that it met: else it has written nothing, and the claim begins anew.
func (c *claiming) read(rows pgx.Rows) (ok bool, err error) {
	defer rows.Close()
	for rows.Next() {
		var own, some bool
		var rank int
		var lane int32
		var seq int64
		a := Attempt{Queue: c.queue, Receipt: Receipt{claimGeneration: c.claimAt.current()}}
		r := &a.Receipt
		to := []any{
			&ok, &own, &some, &r.local, &a.Deadline, &rank, &lane, &seq, &r.readyGeneration, &r.batch, &r.index, &r.job, &r.runLease,
			&a.Attempt, &a.Max, &a.CreatedAt, &a.Kind, &a.Args,
		}
		if c.merge {
			to = append(to, &c.leftRanks, &c.leftSeqs)
		}
		if err := rows.Scan(to...); err != nil {
			return false, err
		}
		if own && !c.mixed {
			c.e.queues.mix(c.queue)
			return false, rows.Err()
		}
		if !some {
			continue
		}
		r.lane, a.Priority = lane, int(c.lanes[rank].priority)
		c.attempts = append(c.attempts, a)
		c.lastRank, c.lastSeq = rank, seq
		c.sights[rank].handOut(r.batch, seq)
	}
	return ok, rows.Err()
}

// advanceHints remembers what this claim saw, once it has committed or found nothing.
func (c *claiming) advanceHints() {
	for i, l := range c.lanes {
		s := c.sights[i]
		s.upTo = c.upTo(i)
		c.e.hints.put(l.id, c.server, c.hints[i].advance(s))
	}
}

// upTo is the first position of a lane that this claim has left: endless where it left none.
func (c *claiming) upTo(rank int) int64 {
	if !c.merge {
		return reach(len(c.attempts) < c.limit, rank, c.lastRank, c.lastSeq)
	}
	if i := slices.Index(c.leftRanks, rank); i >= 0 {
		return c.leftSeqs[i]
	}
	return endless
}
