package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// SetPriority gives jobs that wait (available, scheduled or retryable) another priority of their queue, 1 to 4. An available
// one comes to the end of its new lane, in the order of ids; one that has the priority already keeps its place. At most
// 10,000 jobs; a second mention of one finds it done.
//
// A job that runs, waits for a callback, or is over is left alone: ErrWrongState. One that isn't there is ErrNotFound. A job
// that is moved while it is available has a run lease more afterwards, which no attempt ever has; no attempt is used up.
//
// Jobs are looked for first and moved where they were found, some thousands in one transaction; what moved on meanwhile is
// looked for again, in another one. So after an error some of the jobs may be moved; repeating is safe. Waiting is bounded by
// ctx and by the claims of the same lanes.
func (e *Engine) SetPriority(ctx context.Context, ids []int64, priority int) ([]JobResult, error) {
	const op = "SetPriority"
	if priority < 1 || priority > 4 {
		return nil, invalid(op, fmt.Sprintf("priority %d", priority), "outside 1..4")
	}
	p := int16(priority)
	return e.move(ctx, op, ids, destination{priority: &p})
}

// MoveJob puts jobs that wait into another queue, which is registered if it is new, at the priority that they have. From then
// on they are that queue's: its counts, its pause, its deadline and its DLQ. A unique key stays as it was taken: one that was
// made of the queue's name keeps others out of the queue that the job has left, and none out of the one where it is.
//
// Otherwise it is like SetPriority.
func (e *Engine) MoveJob(ctx context.Context, ids []int64, queue string) ([]JobResult, error) {
	const op = "MoveJob"
	if err := checkName(op, "queue", queue); err != nil {
		return nil, err
	}
	if _, err := e.lanesOf(ctx, queue, false); err != nil {
		return nil, err
	}
	return e.move(ctx, op, ids, destination{queue: &queue})
}

// A destination is the part of a lane that jobs are to have; what is nil stays.
type destination struct {
	queue    *string
	priority *int16
}

func (e *Engine) move(ctx context.Context, op string, ids []int64, to destination) ([]JobResult, error) {
	return e.jobByJob(ctx, op, ids, nil, func(left []int64, answers map[int64]error) ([]int64, error) {
		found, err := e.locate(ctx, op, left)
		if err != nil {
			return nil, err
		}
		m := moving{e: e, to: to, found: found}
		err = e.transact(ctx, op, func(t *txn) (bool, error) {
			m.done = map[int64]bool{}
			err := m.run(ctx, t)
			return len(m.done) > 0, err
		})
		return m.sort(answers), err
	})
}

// moving is one round of a move.
type moving struct {
	e     *Engine
	to    destination
	found []foundJob
	done  map[int64]bool // jobs that are in their lanes
}

// sort notes the answers that are known now, and returns the jobs that moved on.
func (m *moving) sort(answers map[int64]error) (left []int64) {
	for _, w := range m.found {
		switch {
		case m.done[w.job]:
			answers[w.job] = nil
		case w.is == isNowhere:
			answers[w.job] = ErrNotFound
		case w.is != isAvailable && w.is != isDeferred:
			answers[w.job] = ErrWrongState
		default:
			left = append(left, w.job)
		}
	}
	return left
}

// run takes the locks of the lanes that jobs leave, as a claim does and in the order of Cancel; then children, slot by slot;
// then the rows beside the ring. The lanes that they come to are only appended to, as a producer does without a lock (P5).
func (m *moving) run(ctx context.Context, t *txn) error {
	available, deferred := foundAt(m.found, isAvailable), foundAt(m.found, isDeferred)
	if len(available)+len(deferred) == 0 {
		return nil
	}
	var open openProducer
	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(m.e.sql.get("plan_settings", children{}))
	if len(available) > 0 {
		b.Queue(m.e.sql.get("lock_keys", children{}), m.e.keysOfLanes(available))
	}
	m.e.queueOpenProducer(&b, &open)
	if err := send(ctx, t, &b); err != nil {
		return err
	}
	b = pgx.Batch{}
	m.available(&b, open.generation, available)
	m.deferred(&b, deferred)
	return send(ctx, t, &b)
}

// available moves jobs that nobody was handed, all in one statement, so that they come to their lanes in the order of the
// request.
func (m *moving) available(b *pgx.Batch, generation int64, some []foundJob) {
	if len(some) == 0 {
		return
	}
	var slots []int
	var inSlots []int16
	var generations, seqs, jobs []int64
	var lanes []int32
	for _, w := range some {
		slot := m.e.queue.slot(w.receipt.readyGeneration)
		slots, inSlots = append(slots, slot), append(inSlots, int16(slot))
		generations, seqs, jobs = append(generations, w.receipt.readyGeneration), append(seqs, w.seq), append(jobs, w.job)
		lanes = append(lanes, w.receipt.lane)
	}
	at := children{Queue: m.e.queue.slot(generation), Slots: sortedSet(slots)}
	for _, s := range sortedSet(append(slices.Clone(at.Slots), at.Queue)) {
		if slices.Contains(at.Slots, s) {
			b.Queue(m.e.sql.get("lock_moved", children{Queue: s}))
		} else {
			b.Queue(m.e.sql.get("lock_ready", children{Queue: s}))
		}
	}
	b.Queue(m.e.sql.get("move_available", at), generation, inSlots, generations, lanes, seqs, jobs, m.to.queue, m.to.priority).Query(noteJobs(m.done))
}

// deferred moves jobs that are in no ring. One that is promoted meanwhile is then found there.
func (m *moving) deferred(b *pgx.Batch, some []foundJob) {
	if len(some) == 0 {
		return
	}
	var jobs []int64
	for _, w := range some {
		jobs = append(jobs, w.job)
	}
	b.Queue(m.e.sql.get("lock_deferred", children{}), jobs)
	b.Queue(m.e.sql.get("move_deferred", children{}), jobs, m.to.queue, m.to.priority).Query(noteJobs(m.done))
}
