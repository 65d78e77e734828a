package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// CompleteTx completes attempts in the caller's transaction: they are done if and only if it commits, together with what
// else it writes. The results say what will be so then; an attempt that was over before is ErrStale, as in Complete. tx may
// be of any pool on the same database.
//
// The transaction itself finds the jobs completed: it may enqueue what comes next, under the same unique key as well.
//
// Until the transaction ends, whoever closes, parks or resumes an attempt of the same claim waits for it, RescueStale and its
// like pass such attempts over, and Heartbeat says ErrClosing. A claim has up to 4,096 attempts: a job that is completed in
// transactions that stay open should be enqueued with OwnClaim, or with a TimeLimit, which give it a claim of its own, so that
// the transaction delays nobody else. The slots of the attempts can't be pruned meanwhile.
//
// The transaction must be READ COMMITTED: an older snapshot can't see who closed an attempt. ErrIsolation otherwise, before
// anything is written. Keys are taken in the order of the calls: two transactions that complete attempts of the same claims
// crosswise end in a deadlock error of the server's, and SafeToRetry says so. At most 10,000 receipts. After an error tx is usable only
// when it matches ErrInvalid or ErrIsolation.
func (e *Engine) CompleteTx(ctx context.Context, tx pgx.Tx, receipts ...Receipt) ([]Result, error) {
	c := closing{e: e, op: "CompleteTx", to: JobCompleted, receipts: receipts, callers: true}
	if err := c.check(); err != nil || len(receipts) == 0 {
		return nil, err
	}
	var level string
	var before []string
	row := tx.QueryRow(ctx, e.sql.get("callers_settings", children{}))
	if err := row.Scan(&level, &before); err != nil {
		return nil, fail(c.op, "", err)
	}
	if level != "read committed" && level != "read uncommitted" {
		return nil, &Error{Op: c.op, Value: level, Err: ErrIsolation}
	}
	if err := c.closeIn(ctx, tx, before); err != nil {
		return nil, fail(c.op, "", err)
	}
	c.receipts = receipts
	return c.results(), nil
}

// closeIn closes in a savepoint. Where nothing of a claim was open, its key and the locks on its slots are given back, by
// going back and closing the others alone: a stale receipt holds up nobody (P5).
func (c *closing) closeIn(ctx context.Context, tx pgx.Tx, before []string) error {
	for len(c.receipts) > 0 {
		inner, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		c.closed, c.stateful = map[Receipt]JobState{}, false
		if err := c.close(ctx, &txn{Tx: inner, op: c.op}); err != nil {
			return err
		}
		if c.closedOfEach() {
			if _, err := inner.Exec(ctx, c.e.sql.get("restore_settings", children{}), before); err != nil {
				return err
			}
			return inner.Commit(ctx)
		}
		if err := inner.Rollback(ctx); err != nil {
			return err
		}
		c.receipts = slices.Collect(maps.Keys(c.closed))
	}
	return nil
}

// closedOfEach says whether something was closed of each claim.
func (c *closing) closedOfEach() bool {
	some := map[int64]bool{}
	for r := range c.closed {
		some[r.batch] = true
	}
	return !slices.ContainsFunc(c.receipts, func(r Receipt) bool { return !some[r.batch] })
}
