package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

func TestEnqueuedJobsComeInTheOrderGiven(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	var want []int64
	one, err := b.Enqueue(ctx, jobs("q", 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, one)
	want = append(want, b.enqueue(t, "q", 3)...)
	tx := begin(t, b.pool, pgx.ReadUncommitted) // the server treats it as READ COMMITTED, and so do we
	for range 2 {
		ids, err := b.EnqueueTx(ctx, tx, jobs("q", 2)...)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, ids...)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, a := range b.claim(t, "q", len(want)) {
		got = append(got, a.Receipt.JobID())
	}
	if !slices.Equal(got, want) || !slices.IsSorted(got) {
		t.Errorf("enqueued %v, claimed %v", want, got)
	}
}

// What a job doesn't say is the default, or its queue's policy.
func TestDefaultsOfJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := smallRings(b.schema)
	cfg.Now = b.clock.now
	cfg.Queues = map[string]engine.QueueConfig{"short": {MaxAttempts: 3}, "none": {}}
	e, err := engine.Open(t.Context(), b.pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for queue, max := range map[string]int{"short": 3, "none": 25, "other": 25} {
		for _, own := range []int{0, 7} {
			job := engine.JobParams{Queue: queue, Kind: "k", MaxAttempts: own}
			if _, err := e.EnqueueMany(t.Context(), []engine.JobParams{job}); err != nil {
				t.Fatal(err)
			}
			want := max
			if own > 0 {
				want = own
			}
			a := b.claim(t, queue, 1)[0]
			if a.Max != want || a.Priority != 2 || string(a.Args) != `{}` || a.Attempt != 1 {
				t.Errorf("queue %q, MaxAttempts %d: got %+v", queue, own, a)
			}
		}
	}
}

// One call may bring jobs of many queues and priorities.
func TestEnqueueManyOverQueues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var batch []engine.JobParams
	for i := range 24 {
		batch = append(batch, engine.JobParams{Queue: string(rune('a' + i%3)), Kind: "k", Priority: 1 + i/3%4})
	}
	ids, err := b.EnqueueMany(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for q := range 3 {
		attempts := b.claim(t, string(rune('a'+q)), 8)
		for i, a := range attempts {
			if a.Priority != 1+i/2 {
				t.Errorf("place %d has priority %d", i, a.Priority)
			}
			if at := slices.Index(ids, a.Receipt.JobID()); at%3 != q || 1+at/3%4 != a.Priority {
				t.Errorf("job %d of queue %d and priority %d was enqueued at place %d", a.Receipt.JobID(), q, a.Priority, at)
			}
		}
	}
}

// The jobs exist if and only if the caller's transaction commits (P1).
func TestEnqueueTxFollowsTheTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	for _, commit := range []bool{false, true} {
		tx := begin(t, b.pool, pgx.ReadCommitted)
		ids, err := b.EnqueueTx(ctx, tx, jobs("q", 2)...)
		if err != nil {
			t.Fatal(err)
		}
		b.wantCounts(t, "q", engine.Counts{})
		if _, err := b.Job(ctx, ids[0]); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("before the commit: %v", err)
		}
		if attempts, err := b.Claim(ctx, "q", 2); err != nil || len(attempts) > 0 {
			t.Errorf("claimed before the commit: %v, %v", attempts, err)
		}
		if commit {
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			b.wantCounts(t, "q", engine.Counts{Available: 2})
		} else {
			if err := tx.Rollback(ctx); err != nil {
				t.Fatal(err)
			}
			b.wantCounts(t, "q", engine.Counts{})
		}
	}
	b.claim(t, "q", 2)
}

// A part of the caller's transaction that is rolled back takes its jobs with it; the rest stays.
func TestEnqueueTxInASavepoint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	tx := begin(t, b.pool, pgx.ReadCommitted)
	kept, err := b.EnqueueTx(ctx, tx, jobs("q", 1)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		sub, err := tx.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := b.EnqueueTx(ctx, sub, jobs("q", 1)...)
		if err != nil {
			t.Fatal(err)
		}
		end := sub.Rollback
		if commit {
			end, kept = sub.Commit, append(kept, ids...)
		}
		if err := end(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for i, a := range b.claim(t, "q", 2) {
		if a.Receipt.JobID() != kept[i] {
			t.Errorf("claimed job %d, want %d", a.Receipt.JobID(), kept[i])
		}
	}
}

// A transaction prepared for a two-phase commit is an open producer until its second phase.
func TestEnqueueInAPreparedTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if one[int](t, b, `SELECT current_setting('max_prepared_transactions')::integer`) == 0 {
		t.Skip("this server has no prepared transactions (max_prepared_transactions)")
	}
	ctx := t.Context()
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := b.EnqueueTx(ctx, tx, jobs("q", 1)...)
	if err != nil {
		t.Fatal(err)
	}
	gid := "awa " + b.schema
	if _, err := conn.Exec(ctx, `PREPARE TRANSACTION '`+gid+`'`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // fails once it was committed
		_, _ = b.pool.Exec(context.WithoutCancel(t.Context()), `ROLLBACK PREPARED '`+gid+`'`)
	})
	later := b.enqueue(t, "q", 1)
	for range 3 { // the hole stays a hole
		if attempts, err := b.Claim(ctx, "q", 5); err != nil {
			t.Fatal(err)
		} else if len(attempts) > 0 {
			if attempts[0].Receipt.JobID() != later[0] {
				t.Fatalf("claimed %v", attempts)
			}
			b.complete(t, attempts)
		}
	}
	if out, err := b.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatal(out, err)
	}
	if out, err := b.PruneQueue(ctx, 0); err != nil || out.Status != engine.PruneBlocked || out.Holder == nil || out.Holder.PID != 0 {
		t.Errorf("a slot with prepared rows: %+v, %v", out, err)
	}
	b.exec(t, `COMMIT PREPARED '`+gid+`'`)
	if a := b.claim(t, "q", 1)[0]; a.Receipt.JobID() != ids[0] {
		t.Errorf("claimed %+v", a)
	}
}

// EnqueueTx takes a transaction of any pool on the database: here one of its own, with another search path and a
// caller's own settings, which stay as they were.
func TestEnqueueTxInAForeignSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	pool := connect(t, 1, set("search_path", "pg_temp", "application_name", "caller", "enable_seqscan", "on", "lock_timeout", "7s", "timezone", "Asia/Kathmandu"))
	tx := begin(t, pool, pgx.ReadCommitted)
	if _, err := b.EnqueueTx(ctx, tx, jobs("q", 1)...); err != nil {
		t.Fatal(err)
	}
	var path, seqscan, timeout string
	err := tx.QueryRow(ctx, `SELECT current_setting('search_path'), current_setting('enable_seqscan'), current_setting('lock_timeout')`).Scan(&path, &seqscan, &timeout)
	if err != nil || path != "pg_temp" || seqscan != "on" || timeout != "7s" {
		t.Errorf("the caller's settings became %s, %s, %s: %v", path, seqscan, timeout, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if a := b.claim(t, "q", 1)[0]; !a.CreatedAt.Equal(b.clock.now()) {
		t.Errorf("created at %s, want %s", a.CreatedAt, b.clock.now())
	}
}
