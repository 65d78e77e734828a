package engine

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// A FoldStatus says what FoldCounts did.
type FoldStatus string

// The outcomes of a fold.
const (
	// Folded: the deltas of a sealed slot were added up and truncated.
	Folded FoldStatus = "folded"
	// FoldNothing: no sealed slot has as many deltas as were asked for.
	FoldNothing FoldStatus = "nothing"
	// FoldPinned: somebody still sees the world as it was before the slot was sealed, or last folded. The dead rows that a
	// TRUNCATE leaves in the catalogue could not be vacuumed away, so that it waits.
	FoldPinned FoldStatus = "skipped_pinned"
	// FoldBlocked: somebody holds a lock on the slot, or another maintenance transaction is at work.
	FoldBlocked FoldStatus = "blocked"
)

// A FoldOutcome says what a fold did and to which generation.
type FoldOutcome struct {
	Status     FoldStatus
	Generation int64 // looked at; -1 when none was
	Deltas     int64 // rows that it has, or had
	// Holder is who is in the way, where that is known. Of a replication slot or a prepared transaction it has the name alone.
	Holder *Holder
}

// deltasRing is the one table that a fold has to itself, as lock statements take it.
func deltasRing(slots int) ring {
	return ring{name: "counts", slots: slots, children: []string{"queue_terminal_count_deltas"}}
}

// FoldCounts adds the count deltas of one sealed slot up, keeps the sums and truncates the deltas, so that Counts has less to
// read. It takes the slot that has the most, of those that nobody's past holds back, if they are at least so many; a sealed slot
// can get more deltas afterwards, which a later fold adds. Nothing rests on when it is called, or whether.
//
// Each wait for a lock is bounded by Config.MaintenanceLockTimeout, and a holder seen by two calls of this engine in a row
// isn't waited for at all (P7). It is safe with any number of leaders. Errors: ErrInvalid.
func (e *Engine) FoldCounts(ctx context.Context, atLeast int64) (FoldOutcome, error) {
	const op = "FoldCounts"
	if atLeast < 1 {
		return FoldOutcome{}, invalid(op, "atLeast", "%d: must be at least 1", atLeast)
	}
	f := folding{pruning: pruning{e: e, op: op, ring: e.queue}, atLeast: atLeast}
	err := e.transact(ctx, op, func(t *txn) (bool, error) {
		f.done = FoldOutcome{Status: FoldBlocked, Generation: -1}
		err := f.steps(ctx, t)
		if isLockTimeout(err) {
			f.done.Status = FoldBlocked
			return false, nil
		}
		return f.done.Status == Folded, err
	})
	if err != nil {
		return FoldOutcome{}, err
	}
	return f.done, nil
}

// folding is one fold under way: it takes the mutexes of a prune, so that one transaction at a time truncates.
type folding struct {
	pruning
	atLeast int64
	done    FoldOutcome
}

func (f *folding) steps(ctx context.Context, t *txn) error {
	w, err := f.lockRing(ctx, t)
	if err != nil {
		return err
	}
	found, err := f.candidates(ctx, t, w.sealed())
	f.done.Status = FoldNothing
	f.ring = deltasRing(f.e.queue.slots)
	for _, c := range found {
		pinned, err := f.pinned(ctx, t, c)
		if err != nil {
			return err
		}
		if !pinned {
			return f.foldOne(ctx, t, c)
		}
	}
	return err
}

// candidates are the sealed slots that have as many deltas as were asked for, those with the most first.
func (f *folding) candidates(ctx context.Context, t *txn, sealed []int64) (found []FoldOutcome, err error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	rows, err := t.Query(ctx, f.e.sql.get("count_deltas", children{Slots: f.ring.slotsOf(sealed)}), sealed, f.atLeast)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c FoldOutcome, err error) {
		return c, row.Scan(&c.Generation, &c.Deltas)
	})
}

// pinned says whether somebody sees the world from before the slot was sealed or folded. The first slot of which that is true is
// told of, unless another one can be folded.
func (f *folding) pinned(ctx context.Context, t *txn, c FoldOutcome) (bool, error) {
	var past Holder
	err := t.QueryRow(ctx, f.e.sql.get("holders_of_the_past", f.at(c)), c.Generation).Scan(&past.PID, &past.Age, &past.Transaction)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err == nil && f.done.Status == FoldNothing {
		c.Status, c.Holder = FoldPinned, &past
		f.done = c
	}
	return err == nil, err
}

func (f *folding) at(c FoldOutcome) children {
	return children{Ring: f.ring, Queue: f.ring.slot(c.Generation)}
}

// foldOne folds a slot, unless somebody holds its deltas.
func (f *folding) foldOne(ctx context.Context, t *txn, c FoldOutcome) error {
	f.done, f.done.Status = c, FoldBlocked
	f.out.Generation = c.Generation
	known, err := f.lookForHolders(ctx, t, f.at(c))
	if f.done.Holder = f.out.Holder; err != nil || known {
		return err
	}
	return f.fold(ctx, t, f.at(c))
}

// fold locks, and reads in a later statement, so that it sees what was written while the lock was waited for.
func (f *folding) fold(ctx context.Context, t *txn, at children) error {
	var b pgx.Batch
	b.Queue(f.e.sql.get("lock_gate", at))
	b.Queue(f.e.sql.get("restore_lock_timeout", children{}), f.lockWait)
	b.Queue(f.e.sql.get("fold_deltas", at))
	b.Queue(f.e.sql.get("truncate_deltas", at))
	if err := send(ctx, t, &b); err != nil {
		return err
	}
	f.done.Status, f.done.Holder = Folded, nil
	return nil
}
