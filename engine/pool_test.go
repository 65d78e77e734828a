package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// One connection is enough for everything (hazard 14).
func TestPoolOfOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.pool = server.TestPool(t, 1)
	b.Engine = b.open(t, b.pool)
	b.wholeLife(t)
}

// A pooler hands out server sessions by the transaction: nothing may rely on a named statement or on session state.
// Here each transaction gets a fresh session, in every mode of pgx that such a pooler allows, and in the default one.
func TestExecutionModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(strings.ReplaceAll(mode.String(), " ", "_"), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.pool = connect(t, 4, func(cfg *pgxpool.Config) {
				cfg.ConnConfig.DefaultQueryExecMode = mode
				if mode != pgx.QueryExecModeCacheStatement {
					cfg.AfterRelease = discardAll
				}
			})
			b.Engine = b.open(t, b.pool)
			b.wholeLife(t)
		})
	}
}

// discardAll makes the session forget everything, as if the next user got another one.
func discardAll(conn *pgx.Conn) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := conn.Exec(ctx, `DISCARD ALL`)
	return err == nil
}

// A new queue needs a transaction of its own. Where the pool has no connection for it, the caller is told at once what to
// do, and keeps his transaction.
func TestNewQueueInATransactionOfAPoolOfOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	pool := server.TestPool(t, 1)
	e := b.open(t, pool)
	if err := e.RegisterQueue(ctx, "known"); err != nil {
		t.Fatal(err)
	}
	tx := begin(t, pool, pgx.ReadCommitted)
	_, err := e.EnqueueTx(ctx, tx, engine.JobParams{Queue: "new", Kind: "k"})
	wantError(t, err, engine.ErrQueueNotRegistered, `"new"`)
	if _, err := e.EnqueueTx(ctx, tx, engine.JobParams{Queue: "known", Kind: "k"}); err != nil {
		t.Errorf("the transaction isn't usable any more: %v", err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.RegisterQueue(ctx, "new"); err != nil {
		t.Fatal(err)
	}
	tx = begin(t, pool, pgx.ReadCommitted)
	if _, err := e.EnqueueTx(ctx, tx, engine.JobParams{Queue: "new", Kind: "k"}); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	b.wantCounts(t, "known", engine.Counts{Available: 1})
	b.wantCounts(t, "new", engine.Counts{Available: 1})
}

// The same when the caller holds all of several connections: the wait for one is bounded.
func TestNewQueueInTransactionsThatHoldThePool(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := server.TestPool(t, 2)
	e := b.open(t, pool)
	tx, other := begin(t, pool, pgx.ReadCommitted), begin(t, pool, pgx.ReadCommitted)
	_, err := e.EnqueueTx(t.Context(), tx, engine.JobParams{Queue: "new", Kind: "k"})
	wantError(t, err, engine.ErrQueueNotRegistered, `"new"`)
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.EnqueueTx(t.Context(), tx, engine.JobParams{Queue: "new", Kind: "k"}); err != nil {
		t.Errorf("with a free connection: %v", err)
	}
}

// A queue that a rolled back transaction was the first to mention is registered all the same, and stays so: the process
// remembers nothing that isn't so (hazard 32).
func TestQueueOfARolledBackTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := b.EnqueueTx(t.Context(), tx, engine.JobParams{Queue: "new", Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*engine.Engine{b.Engine, b.open(t, b.pool)} {
		if _, err := e.Enqueue(t.Context(), engine.JobParams{Queue: "new", Kind: "k"}); err != nil {
			t.Error(err)
		}
	}
	b.wantCounts(t, "new", engine.Counts{Available: 2})
}
