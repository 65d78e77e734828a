package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A RescueOutcome says what a sweep did.
type RescueOutcome struct {
	Requeued int // attempts closed, their jobs available again
	Failed   int // attempts closed, their jobs failed since no attempt was left
	Busy     int // stale attempts left for the next sweep, since a closer was at work on their batch
}

// sweepBatches bounds how many claim batches one sweep of a slot looks at.
const sweepBatches = 1_000

// beginning is before any claim.
var beginning = time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)

const rescueMessage = "rescued: no sign of life from the worker"

// RescueStale closes up to budget (1 to 10,000) attempts that were claimed more than staleAfter ago and are still open,
// oldest slot first, and makes their jobs available again: a new ready row at the end of the lane, with the same id and
// error history. A job without attempts left fails. A late worker then finds its attempt stale (P3).
//
// It is safe with two leaders, which take slots in turn, and never waits for a worker: an attempt that is being closed
// is passed over. Each slot is a transaction; after an error the slots before it stay rescued.
func (e *Engine) RescueStale(ctx context.Context, staleAfter time.Duration, budget int) (RescueOutcome, error) {
	const op = "RescueStale"
	var out RescueOutcome
	if err := checkDuration(op, "staleAfter", staleAfter); err != nil {
		return out, err
	}
	if err := checkCount(op, "budget", budget, maxSweep); err != nil {
		return out, err
	}
	var w window
	if err := e.pool.QueryRow(ctx, e.sql.get("read_window", children{Ring: e.claim})).Scan(&w); err != nil {
		return out, fail(op, "", err)
	}
	for _, g := range w {
		left := budget - out.Requeued - out.Failed
		if left <= 0 {
			break
		}
		s := sweep{e: e, generation: g, staleAfter: staleAfter, budget: int64(left)}
		if err := e.untilCurrent(ctx, op, func(t *txn) (bool, bool, error) { return s.run(ctx, t) }); err != nil {
			return out, err
		}
		out.Requeued += s.out.Requeued
		out.Failed += s.out.Failed
		out.Busy += s.out.Busy
	}
	return out, nil
}

// sweep is the rescue of one claim slot, under its slot row's lock: two leaders take turns, and a prune of the slot
// waits its turn, too.
type sweep struct {
	e          *Engine
	generation int64
	staleAfter time.Duration
	budget     int64

	queueAt  window
	cutoff   time.Time
	found    []candidate // in cyclic order from the saved cursor
	cursorAt *mark       // nil: the start of the slot
	out      RescueOutcome
}

// A mark is a position of the sweep's order.
type mark struct {
	claimedAt time.Time
	batch     int64
}

// A candidate is a claim batch that is old enough to be rescued.
type candidate struct {
	mark
	ready  int64 // generation of the ready rows
	open   spans // receipts not closed when it was read
	wanted spans // those that this sweep closes
	done   spans // those that it did close
}

func (s *sweep) run(ctx context.Context, t *txn) (moved, commit bool, err error) {
	s.out, s.found, s.cursorAt = RescueOutcome{}, nil, nil
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
	if moved, err = s.close(ctx, t); err != nil || moved {
		return moved, false, err
	}
	advanced, err := s.saveCursor(ctx, t)
	return false, advanced || s.out.Requeued+s.out.Failed > 0, err
}

// lockSlot takes the slot's row; a slot that another leader or a prune is at work on is left to it.
func (s *sweep) lockSlot(ctx context.Context, t *txn) (locked bool, err error) {
	e := s.e
	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(e.sql.get("plan_settings", children{}))
	b.Queue(e.sql.get("lock_claim_slot", children{}), e.claim.slot(s.generation)).Query(func(rows pgx.Rows) error {
		locked = rows.Next()
		rows.Close()
		return rows.Err()
	})
	b.Queue(e.sql.get("cutoff", children{}), e.now(), s.staleAfter).QueryRow(func(row pgx.Row) error { return row.Scan(&s.cutoff) })
	b.Queue(e.sql.get("read_window", children{Ring: e.queue})).QueryRow(func(row pgx.Row) error { return row.Scan(&s.queueAt) })
	return locked, send(ctx, t, &b)
}

// look reads the candidates from the saved cursor on, then from the start of the slot up to it.
func (s *sweep) look(ctx context.Context, t *txn) error {
	at := children{Claim: s.e.claim.slot(s.generation)}
	var b pgx.Batch
	b.Queue(s.e.sql.get("read_rescue_cursor", children{}), at.Claim).QueryRow(func(row pgx.Row) error {
		var claimedAt *time.Time
		var batch *int64
		err := row.Scan(&claimedAt, &batch)
		if claimedAt != nil {
			s.cursorAt = &mark{*claimedAt, *batch}
		}
		return err
	})
	if err := send(ctx, t, &b); err != nil {
		return err
	}
	if err := s.scan(ctx, t, at, s.cursorAt, nil); err != nil {
		return err
	}
	if s.cursorAt != nil && len(s.found) < sweepBatches {
		return s.scan(ctx, t, at, nil, s.cursorAt)
	}
	return nil
}

// scan reads candidates after one mark and up to another; nil marks are the ends of the slot.
func (s *sweep) scan(ctx context.Context, t *txn, at children, after, upTo *mark) error {
	from, to := mark{claimedAt: beginning}, mark{claimedAt: s.cutoff}
	if after != nil {
		from = *after
	}
	if upTo != nil && upTo.claimedAt.Before(s.cutoff) {
		to = mark{upTo.claimedAt, upTo.batch + 1}
	}
	rows, err := t.Query(ctx, s.e.sql.get("rescue_candidates", at), s.generation, from.claimedAt, from.batch, to.claimedAt, to.batch, sweepBatches-len(s.found))
	if err != nil {
		return err
	}
	var c candidate
	var text string
	_, err = pgx.ForEachRow(rows, []any{&c.claimedAt, &c.batch, &c.ready, &text}, func() error {
		var err error
		c.open, err = parseSpans(text)
		s.found = append(s.found, c)
		return err
	})
	return err
}

// takeKeys chooses what the budget has room for and tries the keys of those batches: an attempt that a closer holds is
// left alone, and one busy batch delays only itself.
func (s *sweep) takeKeys(ctx context.Context, t *txn) error {
	var keys []int64
	var tried []int
	left := s.budget
	for i := range s.found {
		c := &s.found[i]
		c.wanted = c.open.first(left)
		if n := c.wanted.size(); n > 0 {
			left -= n
			keys = append(keys, key(s.e.cfg.Schema, keyBatch, c.batch))
			tried = append(tried, i)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var got []bool
	if err := t.QueryRow(ctx, s.e.sql.get("try_keys", children{}), keys).Scan(&got); err != nil {
		return err
	}
	for k, i := range tried {
		if !got[k] {
			s.out.Busy += int(s.found[i].wanted.size())
			s.found[i].wanted = nil
		}
	}
	return nil
}

// close closes what is still open of the wanted, now that the keys are held, and routes the jobs on, in one statement.
// moved says that the queue ring turned meanwhile, so that nothing was written.
func (s *sweep) close(ctx context.Context, t *txn) (moved bool, err error) {
	var places []place
	var batches []int64
	var asked []string
	byBatch := map[int64]*candidate{}
	for i := range s.found {
		if c := &s.found[i]; len(c.wanted) > 0 {
			places = append(places, place{s.generation, c.ready})
			batches, asked = append(batches, c.batch), append(asked, c.wanted.String())
			byBatch[c.batch] = c
		}
	}
	if len(places) == 0 {
		return false, nil
	}
	ready := readyGenerations(places)
	at := children{Claim: s.e.claim.slot(s.generation), Queue: s.e.queue.slot(s.queueAt.current()), Slots: s.e.queue.slotsOf(ready)}
	var b pgx.Batch
	s.e.queueChildLocks(&b, places)
	b.Queue(s.e.sql.get("lock_ready", at))
	b.Queue(s.e.sql.get("rescue", at), s.generation, ready, batches, asked, s.e.now(), s.queueAt.current(), rescueMessage).Query(func(rows pgx.Rows) error {
		var current bool
		var batch, closed int64
		var text string
		_, err := pgx.ForEachRow(rows, []any{&current, &batch, &text, &s.out.Requeued, &s.out.Failed}, func() error {
			moved = !current
			if batch == 0 {
				return nil
			}
			done, err := parseSpans(text)
			byBatch[batch].done = done
			closed += done.size()
			return err
		})
		if err == nil && closed != int64(s.out.Requeued+s.out.Failed) {
			err = fmt.Errorf("%w: %d attempts closed but %d jobs routed on in claim generation %d", ErrCorrupt, closed, s.out.Requeued+s.out.Failed, s.generation)
		}
		return err
	})
	return moved, send(ctx, t, &b)
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

// saveCursor moves the saved cursor past the candidates that have nothing open left, up to the first that does (storage:
// "Rescue cursors"). The sweep itself went on behind that one.
func (s *sweep) saveCursor(ctx context.Context, t *txn) (moved bool, err error) {
	to := nextCursor(s.cursorAt, s.found)
	if to == s.cursorAt {
		return false, nil
	}
	_, err = t.Exec(ctx, s.e.sql.get("save_rescue_cursor", children{}), s.e.claim.slot(s.generation), to.claimedAt, to.batch)
	return true, err
}

// nextCursor is the rule: pass what is closed, in the order of the sweep, and stop before the first candidate that has
// something open. It returns the saved cursor itself when nothing was passed.
func nextCursor(saved *mark, found []candidate) *mark {
	to := saved
	for i := range found {
		c := &found[i]
		if len(c.open.minus(c.done)) > 0 {
			break
		}
		if to == nil || *to != c.mark {
			to = &c.mark
		}
	}
	if saved != nil && to != nil && to.batch == saved.batch {
		return saved // all the way round
	}
	return to
}
