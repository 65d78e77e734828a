package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A RescueOutcome says what a sweep did.
type RescueOutcome struct {
	Requeued int // attempts closed, their jobs available again
	Failed   int // attempts closed, their jobs failed since no attempt was left
	DLQ      int // likewise, and their jobs are held in the DLQ: see SetDLQ
	Busy     int // attempts left for the next sweep, since a closer was at work on their claim
}

// RescueStale closes up to budget (1 to 10,000) attempts whose newest sign of life, their claim, a heartbeat or
// a callback, is more than staleAfter ago and which are still open and not parked, oldest slot first, and makes their jobs available again: a new ready row at the end of the lane, with the same id and
// error history. A job without attempts left fails, and is held in the DLQ if its queue says so. A late worker then finds its attempt stale (P3).
//
// It is safe with two leaders, which take slots in turn, and never waits for a worker: an attempt that is being closed
// is passed over. Each slot is a transaction; after an error the slots before it stay rescued.
func (e *Engine) RescueStale(ctx context.Context, staleAfter time.Duration, budget int) (RescueOutcome, error) {
	const op = "RescueStale"
	if err := checkDuration(op, "staleAfter", staleAfter); err != nil {
		return RescueOutcome{}, err
	}
	return e.rescue(ctx, sweep{e: e, op: op, grace: staleAfter, outcome: "rescued", message: "rescued: no sign of life from the worker"}, budget)
}

// RescueDeadline closes up to budget (1 to 10,000) attempts whose deadline has come, whether their workers live or not:
// that of their queue and that of their own, in one call, parked ones too. Otherwise it is like RescueStale.
func (e *Engine) RescueDeadline(ctx context.Context, budget int) (RescueOutcome, error) {
	return e.rescue(ctx, sweep{e: e, op: "RescueDeadline", kind: byDeadline, outcome: "deadline_expired", message: "the deadline has passed"}, budget)
}

// rescue sweeps slot by slot: one transaction each, within the budget of the call.
func (e *Engine) rescue(ctx context.Context, each sweep, budget int) (out RescueOutcome, err error) {
	if err := checkCount(each.op, "budget", budget, maxSweep); err != nil {
		return out, err
	}
	var w window
	if err := e.pool.QueryRow(ctx, e.sql.get("read_window", children{Ring: e.claim})).Scan(&w); err != nil {
		return out, fail(each.op, "", err)
	}
	for _, g := range w {
		left := budget - out.Requeued - out.Failed - out.DLQ
		if left <= 0 {
			break
		}
		s := each
		s.generation, s.budget = g, int64(left)
		if err := e.untilCurrent(ctx, each.op, func(t *txn) (bool, bool, error) { return s.run(ctx, t) }); err != nil {
			return out, err
		}
		out.Requeued += s.out.Requeued
		out.Failed += s.out.Failed
		out.DLQ += s.out.DLQ
		out.Busy += s.out.Busy
	}
	return out, nil
}

// sweep is the rescue of one claim slot, under its slot row's lock: two leaders take turns, and a prune of the slot
// waits its turn, too.
type sweep struct {
	e          *Engine
	op         string
	kind       sweepKind
	grace      time.Duration // added to the time that it goes by
	outcome    string        // of its closures
	message    string        // in the jobs' error history
	generation int64
	budget     int64

	queueAt window
	cutoff  time.Time
	tracks  []*track
	out     RescueOutcome
}

// A sweepKind is what a sweep goes by.
type sweepKind int

const (
	byAge sweepKind = iota
	byDeadline
	byTimeout // of waits
)

// at names the children of a track's statements.
func (s *sweep) at(local bool) children {
	return children{Claim: s.e.claim.slot(s.generation), Local: local, Deadline: s.kind == byDeadline, Timeout: s.kind == byTimeout}
}

func (s *sweep) run(ctx context.Context, t *txn) (moved, commit bool, err error) {
	s.out, s.tracks = RescueOutcome{}, []*track{{}, {local: true}}
	locked, err := s.lockSlot(ctx, t)
	if err != nil || !locked {
		return false, false, err
	}
	if err := s.look(ctx, t); err != nil {
		return false, false, err
	}
	if err := s.takeKeys(ctx, t); err != nil {
		return false, false, err
	}
	for _, tr := range s.tracks {
		if moved, err = s.close(ctx, t, tr); err != nil || moved {
			return moved, false, err
		}
	}
	advanced, err := s.saveCursors(ctx, t)
	return false, advanced || s.out.Requeued+s.out.Failed+s.out.DLQ > 0, err
}

// lockSlot takes the slot's row; a slot that another leader or a prune is at work on is left to it. The time that the
// sweep goes by is evaluated once (hazard 29), and the cursors are read after the lock.
func (s *sweep) lockSlot(ctx context.Context, t *txn) (locked bool, err error) {
	e := s.e
	slot := e.claim.slot(s.generation)
	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(e.sql.get("plan_settings", children{}))
	b.Queue(e.sql.get("lock_claim_slot", children{}), slot).Query(func(rows pgx.Rows) error {
		locked = rows.Next()
		rows.Close()
		return rows.Err()
	})
	b.Queue(e.sql.get("cutoff", children{}), e.now(), s.grace).QueryRow(func(row pgx.Row) error { return row.Scan(&s.cutoff) })
	b.Queue(e.sql.get("read_window", children{Ring: e.queue})).QueryRow(func(row pgx.Row) error { return row.Scan(&s.queueAt) })
	for _, tr := range s.tracks {
		if s.kind != byTimeout {
			b.Queue(e.sql.get("read_sweep_cursor", children{Local: tr.local, Deadline: s.kind == byDeadline}), slot).QueryRow(tr.readCursor)
		}
	}
	return locked, send(ctx, t, &b)
}

// look reads each track's candidates from its saved cursor on, then from the start of the slot up to it. Waits that timed
// out need no cursor: each that is found there is open, and gone when it was closed.
func (s *sweep) look(ctx context.Context, t *txn) error {
	var b pgx.Batch
	for _, tr := range s.tracks {
		if s.kind == byTimeout {
			b.Queue(s.e.sql.get("timeout_candidates", s.at(tr.local)), s.generation, sweepBatches, s.cutoff).Query(tr.readCandidates)
			continue
		}
		for _, part := range tr.parts(s.end()) {
			args := []any{s.generation, part[0].at, part[0].batch, part[1].at, part[1].batch, sweepBatches}
			if s.kind == byAge {
				args = append(args, s.cutoff)
			}
			b.Queue(s.e.sql.get("rescue_candidates", s.at(tr.local)), args...).Query(tr.readCandidates)
		}
	}
	if err := send(ctx, t, &b); err != nil {
		return err
	}
	for _, tr := range s.tracks {
		tr.found = tr.found[:min(len(tr.found), sweepBatches)]
	}
	return nil
}

// end is the first mark that is too young, or not expired.
func (s *sweep) end() mark {
	if s.kind == byDeadline {
		return mark{s.cutoff, math.MaxInt64} // a deadline has come at its very time
	}
	return mark{at: s.cutoff}
}

// takeKeys chooses what the budget has room for and tries the keys of those claims: an attempt that a closer holds is
// left alone, and one busy claim delays only itself.
func (s *sweep) takeKeys(ctx context.Context, t *txn) error {
	var keys []int64
	var tried []*candidate
	left := s.budget
	for _, tr := range s.tracks {
		for i := range tr.found {
			c := &tr.found[i]
			c.wanted = c.open.first(left)
			if n := c.wanted.size(); n > 0 {
				left -= n
				keys = append(keys, key(s.e.cfg.Schema, keyBatch, c.batch))
				tried = append(tried, c)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var got []bool
	if err := t.QueryRow(ctx, s.e.sql.get("try_keys", children{}), keys).Scan(&got); err != nil {
		return err
	}
	for i, c := range tried {
		if !got[i] {
			s.out.Busy += int(c.wanted.size())
			c.wanted = nil
		}
	}
	return nil
}

// close closes what is still open of the track's wanted, now that the keys are held, and routes the jobs on, in one
// statement. moved says that the queue ring turned meanwhile, so that nothing was written.
func (s *sweep) close(ctx context.Context, t *txn, tr *track) (moved bool, err error) {
	var places []place
	var batches []int64
	var asked []string
	byBatch := map[int64]*candidate{}
	for i := range tr.found {
		if c := &tr.found[i]; len(c.wanted) > 0 {
			places = append(places, place{s.generation, c.ready, tr.local})
			batches, asked = append(batches, c.batch), append(asked, c.wanted.String())
			byBatch[c.batch] = c
		}
	}
	if len(places) == 0 {
		return false, nil
	}
	ready := readyGenerations(places)
	at := s.at(tr.local)
	at.Queue, at.Slots = s.e.queue.slot(s.queueAt.current()), s.e.queue.slotsOf(ready)
	var closed int64
	var requeued, failed, held int
	var b pgx.Batch
	s.e.queueChildLocks(&b, places)
	b.Queue(s.e.sql.get("lock_ready", at))
	b.Queue(s.e.sql.get("rescue", at), s.generation, ready, batches, asked, s.e.now(), s.queueAt.current(), s.cutoff, s.message, s.outcome).Query(func(rows pgx.Rows) error {
		var current bool
		var batch int64
		var text string
		_, err := pgx.ForEachRow(rows, []any{&current, &batch, &text, &requeued, &failed, &held}, func() error {
			moved = !current
			if batch == 0 {
				return nil
			}
			done, err := parseSpans(text)
			byBatch[batch].done = done
			closed += done.size()
			return err
		})
		if err == nil && closed != int64(requeued+failed+held) {
			err = fmt.Errorf("%w: %d attempts closed but %d jobs routed on in claim generation %d", ErrCorrupt, closed, requeued+failed+held, s.generation)
		}
		return err
	})
	if err = send(ctx, t, &b); err != nil || closed == 0 {
		return moved, err
	}
	s.out.Requeued += requeued
	s.out.Failed += failed
	s.out.DLQ += held
	var over []int64
	for _, c := range byBatch {
		for _, sp := range c.done {
			for id := sp.lo; id < sp.hi; id++ {
				over = append(over, id)
			}
		}
	}
	return moved, s.e.forget(ctx, t, over, false)
}

// readyGenerations returns the ready generations of places, each once, ascending.
func readyGenerations(places []place) []int64 {
	var gens []int64
	for _, p := range places {
		gens = append(gens, p.ready)
	}
	slices.Sort(gens)
	return slices.Compact(gens)
}

// saveCursors moves the saved cursors past the candidates that have nothing left to close, up to the first that does
// (storage: "Rescue cursors"). The sweep itself went on behind that one.
func (s *sweep) saveCursors(ctx context.Context, t *txn) (moved bool, err error) {
	if s.kind == byTimeout {
		return false, nil
	}
	for _, tr := range s.tracks {
		to := nextCursor(tr.cursor, tr.found)
		if to == tr.cursor {
			continue
		}
		moved = true
		if _, err := t.Exec(ctx, s.e.sql.get("save_sweep_cursor", s.at(tr.local)), s.e.claim.slot(s.generation), to.at, to.batch); err != nil {
			return moved, err
		}
	}
	return moved, nil
}
