package engine

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// rollbackTimeout bounds a rollback. It doesn't use the caller's context: a cancelled caller must not leave an aborted
// transaction on a pooled connection.
const rollbackTimeout = 5 * time.Second

// ringAttempts bounds how often an operation is repeated because a ring moved on between its read of the cursor and its
// lock. Each repetition needs another rotation in those microseconds.
const ringAttempts = 16

// A txn is one of the engine's own transactions.
type txn struct {
	pgx.Tx
	op   string
	txid // known after the statement of queueXid was answered
}

// A txid is the identity of a transaction, as far as Settle can ask for it. The number alone is none: PostgreSQL gives it
// again when a crash took the WAL of the transaction that had it, which is the ordinary fate of a commit in flight.
type txid struct {
	xid    uint64
	server time.Time // when its server was started, or last recovered from a crash
	at     time.Time // a moment within the transaction, by that server's clock
}

// transact runs fn in a transaction that states READ COMMITTED, whatever the session's default is: every check against
// a ledger relies on a snapshot per statement (storage: "Writing into a ring"). It commits when fn returns commit=true
// and no error; otherwise it rolls back. An error of the commit itself whose outcome isn't known is ErrAmbiguous.
func (e *Engine) transact(ctx context.Context, op string, fn func(*txn) (commit bool, err error)) error {
	tx, err := e.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return fail(op, "", err)
	}
	t := &txn{Tx: tx, op: op}
	defer func() {
		// After a commit this does nothing; it runs also when fn panics, so that the connection is clean.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_ = tx.Rollback(clean) // a failure closes the connection, which ends the transaction
	}()
	commit, err := fn(t)
	if err != nil {
		err = fail(op, "", err)
		if mine := (*Error)(nil); tx.Conn().IsClosed() && errors.As(err, &mine) {
			mine.unsent = true
		}
		return err
	}
	if !commit {
		return nil
	}
	if err := tx.Commit(ctx); err != nil {
		return commitError(op, t.txid, err)
	}
	return nil
}

// untilCurrent repeats an operation while it reports that the ring moved on under it. On such a report nothing has been
// written, so that repeating is the whole recovery.
func (e *Engine) untilCurrent(ctx context.Context, op string, fn func(*txn) (moved, commit bool, err error)) error {
	for range ringAttempts {
		moved := false
		err := e.transact(ctx, op, func(t *txn) (bool, error) {
			var commit bool
			var err error
			moved, commit, err = fn(t)
			return commit && !moved, err
		})
		if err != nil || !moved {
			return err
		}
	}
	return &Error{Op: op, Err: ErrBusy}
}

// incarnation is an SQL expression: when the server was started or last recovered from a crash, whichever is later. A
// crash of one backend makes the server recover without starting anew; its statistics are then gone, which everybody may
// see.
const incarnation = `greatest(pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time())`

// queueXid makes the transaction's id part of the batch. It must stand before any statement that takes a sequence
// value: a claim may pass a hole in a lane only when every transaction that could fill it has ended, and it knows them
// by their ids (hazard 2). It is also what Settle asks about.
func (t *txn) queueXid(b *pgx.Batch) {
	b.Queue(`/* awa:` + t.op + ` */ SELECT pg_current_xact_id()::text::bigint, ` + incarnation + `, clock_timestamp()`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&t.xid, &t.server, &t.at)
	})
}

// send runs the batch in one round trip.
func send(ctx context.Context, tx pgx.Tx, b *pgx.Batch) error {
	return tx.SendBatch(ctx, b).Close()
}

// now is the time parameter of a statement: nil lets the server's clock decide.
func (e *Engine) now() *time.Time {
	if e.cfg.Now == nil {
		return nil
	}
	t := e.cfg.Now()
	return &t
}

// A pause waits longer each time, from a millisecond up to a fifth of a second.
type pause struct{ next time.Duration }

func newPause() *pause { return &pause{next: time.Millisecond} }

func (p *pause) wait(ctx context.Context) error {
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	p.next = min(2*p.next, 200*time.Millisecond)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
