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
// read. It takes the slot that has the most, if they are at least so many; a sealed slot can get more deltas afterwards, which a
// later fold adds. Nothing rests on when it is called, or whether.
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
	if found, err := f.choose(ctx, t, w.sealed()); err != nil || !found {
		return err
	}
	f.out.Generation = f.done.Generation
	f.ring = deltasRing(f.e.queue.slots)
	at := children{Ring: f.ring, Queue: f.ring.slot(f.done.Generation)}
	var past Holder
	switch err := t.QueryRow(ctx, f.e.sql.get("holders_of_the_past", at), f.done.Generation).Scan(&past.PID, &past.Age, &past.Transaction); {
	case err == nil:
		f.done.Status, f.done.Holder = FoldPinned, &past
		return nil
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	known, err := f.lookForHolders(ctx, t, at)
	if f.done.Holder = f.out.Holder; err != nil || known {
		return err
	}
	return f.fold(ctx, t, at)
}

// choose finds the sealed slot that has the most deltas.
func (f *folding) choose(ctx context.Context, t *txn, sealed []int64) (found bool, err error) {
	f.done.Status = FoldNothing
	if len(sealed) == 0 {
		return false, nil
	}
	sql := f.e.sql.get("most_deltas", children{Slots: f.ring.slotsOf(sealed)})
	err = t.QueryRow(ctx, sql, sealed).Scan(&f.done.Generation, &f.done.Deltas)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && f.done.Deltas < f.atLeast {
		return false, nil
	}
	f.done.Status = FoldBlocked
	return true, err
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
