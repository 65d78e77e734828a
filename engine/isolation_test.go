package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

var snapshotLevels = []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable}

// A transaction with an old snapshot can't see whether the ring moved on; its jobs wait outside the rings, due at once,
// and Promote hands them on.
func TestEnqueueInACallersSnapshotDefers(t *testing.T) {
	t.Parallel()
	for _, level := range snapshotLevels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := t.Context()
			b.enqueue(t, "q", 1)
			tx := begin(t, b.pool, level)
			if _, err := tx.Exec(ctx, `SELECT 1`); err != nil { // the snapshot is taken
				t.Fatal(err)
			}
			b.turnAway(t) // and the slot that it sees as current is pruned
			ids, err := b.EnqueueTx(ctx, tx, jobs("q", 3)...)
			if err != nil || len(ids) != 3 {
				t.Fatal(ids, err)
			}
			b.wantCounts(t, "q", engine.Counts{PrunedCompleted: 1})
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			b.wantCounts(t, "q", engine.Counts{Scheduled: 3, PrunedCompleted: 1})
			if job, err := b.Job(ctx, ids[1]); err != nil || job.State != engine.JobScheduled || job.RunLease != 0 {
				t.Errorf("%+v, %v", job, err)
			}
			if attempts, err := b.Claim(ctx, "q", 1); err != nil || len(attempts) > 0 {
				t.Fatal(attempts, err)
			}
			if n, err := b.Promote(ctx, 2); err != nil || n != 2 {
				t.Fatal(n, err)
			}
			b.wantCounts(t, "q", engine.Counts{Scheduled: 1, Available: 2, PrunedCompleted: 1})
			if n, err := b.Promote(ctx, 2); err != nil || n != 1 {
				t.Fatal(n, err)
			}
			for i, a := range b.claim(t, "q", 3) {
				if a.Receipt.JobID() != ids[i] || a.Receipt.RunLease() != 1 || a.Attempt != 1 {
					t.Errorf("promoted job %d comes as %+v, want job %d", i, a, ids[i])
				}
			}
		})
	}
}

// turnAway finishes the only job there is and turns both rings.
func (b *bundle) turnAway(t *testing.T) {
	t.Helper()
	b.complete(t, b.claim(t, "q", 1))
	b.turn(t)
}

func TestDeferredJobsOfARolledBackTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := begin(t, b.pool, pgx.Serializable)
	if _, err := b.EnqueueTx(t.Context(), tx, jobs("q", 3)...); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantCounts(t, "q", engine.Counts{})
	if n, err := b.Promote(t.Context(), 10); err != nil || n != 0 {
		t.Error(n, err)
	}
}

// What isn't due yet stays; the longest due comes first.
func TestPromoteInOrderOfTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []int64
	for range 3 {
		tx := begin(t, b.pool, pgx.RepeatableRead)
		one, err := b.EnqueueTx(t.Context(), tx, jobs("q", 1)...)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, one...)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.clock.advance(-time.Minute)
	}
	promote := func(want int) {
		t.Helper()
		if n, err := b.Promote(t.Context(), 10); err != nil || n != want {
			t.Fatalf("promoted %d, %v; want %d", n, err, want)
		}
	}
	promote(0)
	b.clock.advance(time.Minute)
	promote(1)
	b.clock.advance(2 * time.Minute)
	promote(2)
	for i, a := range b.claim(t, "q", 3) {
		if want := ids[2-i]; a.Receipt.JobID() != want {
			t.Errorf("job %d comes at place %d, want job %d", a.Receipt.JobID(), i, want)
		}
	}
}

// Two leaders promote at once: each job is moved once.
func TestTwoLeadersPromote(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := begin(t, b.pool, pgx.RepeatableRead)
	if _, err := b.EnqueueTx(t.Context(), tx, jobs("q", 200)...); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	moved := make(chan int)
	for range 4 {
		go func() {
			total := 0
			for n := 1; n > 0; total += n {
				var err error
				if n, err = b.Promote(t.Context(), 7); err != nil {
					t.Error(err)
				}
			}
			moved <- total
		}()
	}
	total := 0
	for range 4 {
		total += <-moved
	}
	if total != 200 {
		t.Errorf("moved %d jobs of 200", total)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 200})
	seen := map[int64]bool{}
	for _, a := range b.claim(t, "q", 200) {
		if seen[a.Receipt.JobID()] {
			t.Errorf("job %d came twice", a.Receipt.JobID())
		}
		seen[a.Receipt.JobID()] = true
	}
}

// The engine states READ COMMITTED itself, whatever the session's default is.
func TestEngineOnSessionsOfAnotherDefault(t *testing.T) {
	t.Parallel()
	for _, level := range snapshotLevels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.pool = connect(t, 8, set("default_transaction_isolation", string(level)))
			b.Engine = b.open(t, b.pool)
			b.wholeLife(t)
		})
	}
}

// wholeLife runs every operation once with success, in a fresh schema.
func (b *bundle) wholeLife(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	cfg := smallRings(b.schema)
	if err := engine.Migrate(ctx, b.pool, cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Enqueue(ctx, engine.JobParams{Queue: "q", Kind: "first", Args: []byte(`{"x": "y'\\\"$1"}`), Priority: 1, MaxAttempts: 1}); err != nil {
		t.Fatal(err)
	}
	ids := b.enqueue(t, "q", 4)
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		tx := begin(t, b.pool, level)
		more, err := b.EnqueueTx(ctx, tx, jobs("q", 1)...)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, more...)
	}
	if n, err := b.Promote(ctx, 10); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 7})
	attempts := b.claim(t, "q", 5)
	if a := attempts[0]; a.Kind != "first" || string(a.Args) != `{"x": "y'\\\"$1"}` || a.Priority != 1 || a.Max != 1 || !a.CreatedAt.Equal(b.clock.now()) {
		t.Errorf("the first attempt: %+v", a)
	}
	results, err := b.Fail(ctx, []engine.Failure{{Receipt: attempts[1].Receipt, Message: "it's \"broken\""}})
	if err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	b.complete(t, attempts[2:4])
	b.clock.advance(3 * time.Second)
	if swept, err := b.RescueStale(ctx, 2500*time.Millisecond, 10); err != nil || swept != (engine.RescueOutcome{Requeued: 1, Failed: 1}) {
		t.Fatal(swept, err)
	}
	job, err := b.Job(ctx, ids[0])
	if err != nil || job.State != engine.JobFailed || job.Errors[0].Error != "it's \"broken\"" || job.FinalizedAt == nil || job.Attempt != 1 {
		t.Errorf("%+v, %v", job, err)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 3, Completed: 2, Failed: 2})
	b.complete(t, b.claim(t, "q", 3))
	b.turn(t)
	b.wantCounts(t, "q", engine.Counts{PrunedCompleted: 5, PrunedFailed: 2})
}

// Many processes meet the same new queues at once, on sessions whose default is a snapshot for the whole transaction.
func TestConcurrentRegistrations(t *testing.T) {
	t.Parallel()
	for _, level := range append(snapshotLevels, pgx.ReadCommitted) {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			pool := connect(t, 8, set("default_transaction_isolation", string(level)))
			errs := make(chan error)
			for range 8 {
				e := b.open(t, pool)
				go func() {
					for i := range 15 {
						if err := e.RegisterQueue(t.Context(), fmt.Sprintf("queue %d", i)); err != nil {
							errs <- err
							return
						}
					}
					errs <- nil
				}()
			}
			for range 8 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if n := one[int](t, b, `SELECT count(*) FROM %s.lanes`); n != 60 {
				t.Errorf("15 queues have %d lanes", n)
			}
			if n := one[int](t, b, `SELECT count(*) FROM pg_class WHERE relkind = 'S' AND relname LIKE 'lane\_seq\_%' AND relnamespace = to_regnamespace($1)`, b.schema); n != 60 {
				t.Errorf("15 queues have %d sequences", n)
			}
		})
	}
}
