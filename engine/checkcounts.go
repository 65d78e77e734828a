package engine

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// A CountMismatch is a number that is kept and isn't that of the rows.
type CountMismatch struct {
	Generation int64  // of the queue ring
	Queue      string // empty when the lane is registered nowhere
	Lane       int32
	State      string // failed, cancelled or completed
	Kept, Rows int64
}

// CheckCounts compares the counts that are kept of terminal rows with the rows themselves, at one moment and beside everything
// else, and returns where they differ: nothing, unless somebody wrote into the tables by hand. It reads all slots.
func (e *Engine) CheckCounts(ctx context.Context) ([]CountMismatch, error) {
	const op = "CheckCounts"
	var apart []CountMismatch
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, e.pool, opts, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue(e.sql.get("no_jit", children{}))
		b.Queue(e.sql.get("check_counts", children{})).Query(func(rows pgx.Rows) (err error) {
			apart, err = pgx.CollectRows(rows, pgx.RowToStructByPos[CountMismatch])
			return err
		})
		return send(ctx, tx, &b)
	})
	return apart, fail(op, "", err)
}

// RebuildCounts counts the terminal rows of each slot where CheckCounts finds a difference, and keeps those numbers instead.
// A slot is rebuilt in a transaction of its own, during which nobody writes terminal rows into it. It returns how many were
// rebuilt: fewer than there are differences in where a lock could not be had within Config.MaintenanceLockTimeout, or another
// maintenance transaction was at work; call it again then. It is safe beside everything else.
func (e *Engine) RebuildCounts(ctx context.Context) (rebuilt int, err error) {
	apart, err := e.CheckCounts(ctx)
	if err != nil {
		return 0, err
	}
	for i, a := range apart {
		if i > 0 && apart[i-1].Generation == a.Generation {
			continue // they are in order
		}
		done, err := e.rebuild(ctx, a.Generation)
		if err != nil {
			return rebuilt, err
		}
		if done {
			rebuilt++
		}
	}
	return rebuilt, nil
}

// rebuild counts the rows of the slot that a generation uses, if it is still there. Rows of another generation have no business
// in it, and are gone with the kept counts.
func (e *Engine) rebuild(ctx context.Context, generation int64) (done bool, err error) {
	const op = "RebuildCounts"
	p := pruning{e: e, op: op, ring: e.queue}
	err = e.transact(ctx, op, func(t *txn) (bool, error) {
		done = false
		w, err := p.lockRing(ctx, t)
		slot := e.queue.slot(generation)
		if err == nil && slices.Contains(e.queue.slotsOf(w), slot) {
			at := children{Queue: slot}
			var b pgx.Batch
			b.Queue(e.sql.get("lock_counts", at))
			b.Queue(e.sql.get("truncate_counts", at))
			b.Queue(e.sql.get("count_rows", at))
			err = send(ctx, t, &b)
			done = err == nil
		}
		if isLockTimeout(err) {
			return false, nil
		}
		return done, err
	})
	return done && err == nil, err
}
