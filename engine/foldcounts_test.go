package engine_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// Who sees the past is asked of the whole server: so these tests have one to themselves, and run one after the other.
func TestFoldCounts(t *testing.T) {
	t.Parallel()
	s, err := pgtest.Start(t.Context(), pgtest.Options{Local: true, Settings: map[string]string{"autovacuum": "off"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, test := range map[string]func(*testing.T, *bundle){"sums": testFold, "past": testFoldOfThePast, "lock": testFoldOfALockedSlot} {
		t.Run(name, func(t *testing.T) {
			b := &bundle{schema: name, pool: s.TestPool(t, 6), clock: newClock()}
			if err := engine.Migrate(t.Context(), b.pool, smallRings(b.schema)); err != nil {
				t.Fatal(err)
			}
			b.Engine = b.open(t, b.pool)
			test(t, b)
		})
	}
}

// wantFold waits for nobody: whoever is in the way is meant to be.
func (b *bundle) wantFold(t *testing.T, status engine.FoldStatus, generation, deltas int64) engine.FoldOutcome {
	t.Helper()
	out, err := b.FoldCounts(t.Context(), 1)
	if err != nil || out.Status != status || out.Generation != generation || out.Deltas != deltas {
		t.Fatalf("%+v, %v, want %s of generation %d with %d deltas", out, err, status, generation, deltas)
	}
	return out
}

func (b *bundle) wantKept(t *testing.T, deltas, sums int) {
	t.Helper()
	if d, s := one[int](t, b, `SELECT count(*) FROM %s.queue_terminal_count_deltas`), one[int](t, b, `SELECT count(*) FROM %s.queue_terminal_live_counts`); d != deltas || s != sums {
		t.Errorf("%d deltas and %d sums are kept, want %d and %d", d, s, deltas, sums)
	}
	apart, err := b.CheckCounts(t.Context())
	if err != nil || len(apart) > 0 {
		t.Errorf("%+v, %v", apart, err)
	}
}

// What a sealed slot keeps is added up, and what is written into it afterwards counts beside that, and once it is folded
// again; a prune takes all of it.
func testFold(t *testing.T, b *bundle) {
	failed := b.claimNew(t, "q", 3)
	late := b.claimNew(t, "q", 1)
	for _, a := range failed {
		b.failAll(t, []engine.Attempt{a}) // a delta each
	}
	b.wantFold(t, engine.FoldNothing, -1, 0)
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	b.wantKept(t, 3, 0)
	if out, err := b.FoldCounts(t.Context(), 4); err != nil || out.Status != engine.FoldNothing {
		t.Errorf("three deltas are as many as four: %+v, %v", out, err)
	}
	b.wantFold(t, engine.Folded, 0, 3)
	b.wantKept(t, 0, 1)
	b.wantFold(t, engine.FoldNothing, -1, 0)
	b.wantCounts(t, "q", engine.Counts{Failed: 3, Running: 1})
	b.failAll(t, late)
	b.wantKept(t, 1, 1)
	b.wantFold(t, engine.Folded, 0, 1)
	b.wantKept(t, 0, 2)
	if _, err := b.DeleteTerminal(t.Context(), []int64{failed[0].Receipt.JobID()}); err != nil {
		t.Fatal(err)
	}
	b.wantKept(t, 1, 2)
	b.wantCounts(t, "q", engine.Counts{Failed: 3})
	b.turn(t)
	b.wantKept(t, 0, 0)
	b.wantCounts(t, "q", engine.Counts{PrunedFailed: 3})
	_, err := b.FoldCounts(t.Context(), 0)
	wantError(t, err, engine.ErrInvalid, "atLeast")
}

// Whoever still sees the world from before the slot was sealed holds a fold back, and is named; who came later doesn't, however
// long he stays.
func testFoldOfThePast(t *testing.T, b *bundle) {
	ctx := t.Context()
	snapshot := func() (pgx.Tx, int32) {
		tx := begin(t, b.pool, pgx.RepeatableRead)
		var pid int32
		if err := tx.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			t.Fatal(err)
		}
		return tx, pid
	}
	b.failAll(t, b.claimNew(t, "q", 2))
	reader, pid := snapshot()
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	_, _ = snapshot()
	if out := b.wantFold(t, engine.FoldPinned, 0, 1); out.Holder == nil || out.Holder.PID != pid || out.Holder.Age <= 0 {
		t.Errorf("%+v doesn't name %d", out.Holder, pid)
	}
	late := b.claimNew(t, "q", 2)
	b.failAll(t, late[:1])
	b.failAll(t, late[1:])
	b.wantRotate(t, rings[0], engine.Rotated, 2) // of which the second snapshot knows nothing
	if err := reader.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	b.wantFold(t, engine.Folded, 0, 1)
	b.retryAll(t, "q", 1)
	b.wantKept(t, 3, 1)
	// Neither the slot that was sealed after the second snapshot, nor the other one once more.
	if out := b.wantFold(t, engine.FoldPinned, 1, 2); out.Holder == nil {
		t.Error("nobody is named")
	}
}

// retryAll makes n failed jobs of a queue live again.
func (b *bundle) retryAll(t *testing.T, queue string, n int) {
	t.Helper()
	if out, err := b.RetryFailed(t.Context(), engine.FailedJobs{Queue: queue}, n); err != nil || len(out.Retried) != n {
		t.Fatalf("%+v, %v", out, err)
	}
}

// A lock that a writer of terminal rows holds is not waited for longer than it is bounded, and who holds it is named.
func testFoldOfALockedSlot(t *testing.T, b *bundle) {
	b.failAll(t, b.claimNew(t, "q", 1))
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(t.Context(), b.sql(`LOCK TABLE %s.queue_terminal_count_deltas_0 IN ROW EXCLUSIVE MODE`)); err != nil {
		t.Fatal(err)
	}
	if out := b.wantFold(t, engine.FoldBlocked, 0, 1); out.Holder == nil || out.Holder.PID == 0 {
		t.Errorf("%+v names nobody", out)
	}
	b.wantKept(t, 1, 0)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantFold(t, engine.Folded, 0, 1)
}

// Whoever wrote into the tables by hand is found out, and what is kept is set right by counting.
func TestRebuildCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failed := b.claimNew(t, "q", 2)
	b.failAll(t, failed)
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	b.failAll(t, b.claimNew(t, "p", 1))
	b.exec(t, `UPDATE %s.queue_terminal_count_deltas SET delta = 5 WHERE ready_generation = 0`)
	b.exec(t, `INSERT INTO %s.queue_terminal_live_counts (ready_slot, ready_generation, lane_id, state, live_count)
	           SELECT 1, 1, lane_id, 'cancelled', 7 FROM %s.lanes WHERE queue = 'p' AND priority = 2`)
	apart, err := b.CheckCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range apart {
		apart[i].Lane = 0
	}
	if want := []engine.CountMismatch{{Generation: 0, Queue: "q", State: "failed", Kept: 5, Rows: 2}, {Generation: 1, Queue: "p", State: "cancelled", Kept: 7}}; !slices.Equal(apart, want) {
		t.Errorf("%+v, want %+v", apart, want)
	}
	report, err := b.Audit(t.Context())
	if err != nil || report.Err() == nil {
		t.Errorf("the audit finds nothing: %v", err)
	}
	b.wantRebuilt(t, 2)
	b.wantRebuilt(t, 0)
	b.wantKept(t, 0, 2)
	b.wantCounts(t, "q", engine.Counts{Failed: 2})
	b.wantCounts(t, "p", engine.Counts{Failed: 1})
}

func (b *bundle) wantRebuilt(t *testing.T, slots int) {
	t.Helper()
	if n, err := b.RebuildCounts(t.Context()); err != nil || n != slots {
		t.Errorf("%d slots were rebuilt, %v, want %d", n, err, slots)
	}
}
