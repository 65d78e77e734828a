package engine

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// A RotationPolicy says when a slot has had enough. The zero value is the default one.
type RotationPolicy struct {
	// Rows is how many ready rows a slot takes, as far as its size tells. Zero means a million.
	Rows int64
	// Age is how old a slot may become. Zero means 20 minutes: with 16 slots, of which two are free,
	// a lap takes 4 hours and 40 minutes then, and a failed row that is kept for 72 hours is rewritten 15 times.
	Age time.Duration
	// Apart is how far apart two rotations are at least, since each slot costs a TRUNCATE of its tables, which leaves dead
	// rows in the catalogue (P6). Zero means 10 seconds.
	Apart time.Duration

	_ struct{}
}

// The defaults of a RotationPolicy.
const (
	rotateRows  = 1_000_000
	rotateAge   = 20 * time.Minute
	rotateApart = 10 * time.Second
)

// A RotateDueOutcome says what RotateDue did to each ring: RotateNotDue for one that it left alone.
type RotateDueOutcome struct{ Queue, Claims, Leases RotateOutcome }

// RotateDue rotates the queue ring when its current slot is full or old enough, and the other two rings with it. Errors:
// ErrInvalid; otherwise see SafeToRetry.
func (e *Engine) RotateDue(ctx context.Context, policy RotationPolicy) (RotateDueOutcome, error) {
	const op = "RotateDue"
	left := RotateOutcome{Status: RotateNotDue, Generation: -1}
	not := RotateDueOutcome{left, left, left}
	for name, d := range map[string]time.Duration{"Age": policy.Age, "Apart": policy.Apart} {
		if err := checkDuration(op, name, d); err != nil {
			return not, err
		}
	}
	if policy.Rows < 0 {
		return not, invalid(op, "Rows", "negative")
	}
	var w window
	if err := e.pool.QueryRow(ctx, e.sql.get("read_window", children{Ring: e.queue})).Scan(&w); err != nil {
		return not, fail(op, "", err)
	}
	var age float64
	var rows int64
	at := children{Ring: e.queue, Queue: e.queue.slot(w.current())}
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, e.pool, opts, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, e.sql.get("fill", at), e.now()).Scan(&age, &rows)
	})
	if err != nil {
		return not, fail(op, "", err)
	}
	if !policy.due(time.Duration(age*float64(time.Second)), rows) {
		return not, nil
	}
	out := not
	if out.Queue, err = e.RotateQueue(ctx); err != nil || out.Queue.Status != Rotated {
		return out, err
	}
	if out.Claims, err = e.RotateClaims(ctx); err != nil {
		return out, err
	}
	out.Leases, err = e.RotateLeases(ctx)
	return out, err
}

// due is the rule. A clock that was set back makes a slot younger than nothing: then only time helps.
func (p RotationPolicy) due(age time.Duration, rows int64) bool {
	if p.Rows == 0 {
		p.Rows = rotateRows
	}
	if p.Age == 0 {
		p.Age = rotateAge
	}
	if p.Apart == 0 {
		p.Apart = rotateApart
	}
	return age >= p.Apart && (age >= p.Age || rows >= p.Rows)
}
