package engine

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// A RotateStatus says what a rotation did.
type RotateStatus string

// The outcomes of a rotation.
const (
	// Rotated: the next slot is current now.
	Rotated RotateStatus = "rotated"
	// RotateSkippedNextNotPruned: the ring is full; the slot's last generation must be pruned first.
	RotateSkippedNextNotPruned RotateStatus = "skipped_next_not_pruned"
	// RotateSkippedIdle: neither the current nor a sealed slot holds anything, so that turning would gain nothing.
	RotateSkippedIdle RotateStatus = "skipped_idle"
	// RotateNotDue: RotateDue found the current slot neither full nor old enough, or too young.
	RotateNotDue RotateStatus = "not_due"
	// RotateBlocked: another maintenance transaction holds the ring's mutex, or somebody a child.
	RotateBlocked RotateStatus = "blocked"
)

// A RotateOutcome says what a rotation did and which generation is current after it.
type RotateOutcome struct {
	Status     RotateStatus
	Generation int64 // current after the call; -1 when blocked
}

// RotateQueue makes the next slot of the queue ring current, for new jobs to go into. It is safe with any number of
// leaders and waits for none; a wait for somebody's exclusive lock on a child is bounded by Config.MaintenanceLockTimeout.
func (e *Engine) RotateQueue(ctx context.Context) (RotateOutcome, error) {
	return e.rotate(ctx, "RotateQueue", e.queue)
}

// RotateClaims makes the next slot of the claim ring current, for new receipts to go into. Otherwise like RotateQueue.
func (e *Engine) RotateClaims(ctx context.Context) (RotateOutcome, error) {
	return e.rotate(ctx, "RotateClaims", e.claim)
}

// RotateLeases makes the next slot of the lease ring current, for new waits to go into. Otherwise like RotateQueue.
func (e *Engine) RotateLeases(ctx context.Context) (RotateOutcome, error) {
	return e.rotate(ctx, "RotateLeases", e.lease)
}

func (e *Engine) rotate(ctx context.Context, op string, r ring) (RotateOutcome, error) {
	out := RotateOutcome{Status: RotateBlocked, Generation: -1}
	err := e.transact(ctx, op, func(t *txn) (bool, error) {
		var w window
		var b pgx.Batch
		t.queueXid(&b)
		b.Queue(e.sql.get("set_lock_timeout", children{}), e.lockWait)
		b.Queue(e.sql.get("lock_ring", children{Ring: r}))
		b.Queue(e.sql.get("read_window", children{Ring: r})).QueryRow(func(row pgx.Row) error { return row.Scan(&w) })
		var holds bool
		err := send(ctx, t, &b)
		if err == nil {
			err = t.QueryRow(ctx, e.sql.get("holds_anything", children{Ring: r, Slots: r.slotsOf(w)})).Scan(&holds)
		}
		if isLockTimeout(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		out.Generation = w.current()
		if out.Status = decideRotation(r, w, holds); out.Status != Rotated {
			return false, nil
		}
		out.Generation++
		_, err = t.Exec(ctx, e.sql.get("append_rotation", children{Ring: r}), out.Generation, r.slot(out.Generation), e.now())
		return true, err
	})
	if err != nil {
		return RotateOutcome{}, err
	}
	return out, nil
}

// decideRotation is the rule. The slot that would be entered was last used by generation current+1-N. Emptiness of that
// slot would be the wrong question: rows that haven't committed yet don't show, and a prune with them in it can't have
// happened, so the prune ledger is asked (hazard 3).
func decideRotation(r ring, w window, holdsAnything bool) RotateStatus {
	switch {
	case w[0] == w.current()+1-int64(r.slots):
		return RotateSkippedNextNotPruned
	case !holdsAnything:
		return RotateSkippedIdle
	}
	return Rotated
}
