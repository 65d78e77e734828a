package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// Promise P9: while everything goes on, no two reads of the counts contradict each other. The number of jobs that were
// ever enqueued is known exactly here, since producers tell before and after each commit.
func TestCountsAreExactAtAnyMoment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	pool := server.TestPool(t, 10)
	var mu sync.Mutex
	var begun, done int64 // jobs whose enqueueing has begun, and those whose enqueueing has ended
	var work sync.WaitGroup
	stop := make(chan struct{})
	loop := func(step func(e *engine.Engine) error) {
		e := b.open(t, pool)
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := step(e); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	loop(func(e *engine.Engine) error {
		mu.Lock()
		begun += 7
		mu.Unlock()
		_, err := e.EnqueueMany(ctx, jobs("q", 7))
		mu.Lock()
		done += 7
		mu.Unlock()
		return err
	})
	for range 2 {
		loop(func(e *engine.Engine) error { return work9(ctx, e) })
	}
	for _, r := range rings {
		loop(func(e *engine.Engine) error {
			_, rotated := r.rotate(e, ctx)
			_, pruned := r.prune(e, ctx)
			return errors.Join(rotated, pruned)
		})
	}
	var last engine.Counts
	for reads := 0; reads < 60 || last.PrunedCompleted == 0 && reads < 5000; reads++ {
		mu.Lock()
		atLeast := done
		mu.Unlock()
		c, err := b.Counts(ctx, "q")
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		atMost := begun
		mu.Unlock()
		wantPossible(t, c, last, atLeast, atMost)
		last = c
	}
	close(stop)
	work.Wait()
	if last.PrunedCompleted == 0 {
		t.Errorf("nothing was pruned meanwhile: %+v", last)
	}
}

// work9 claims up to nine jobs, fails the first and completes the others.
func work9(ctx context.Context, e *engine.Engine) error {
	attempts, err := e.Claim(ctx, "q", 9)
	if err != nil || len(attempts) == 0 {
		return err
	}
	_, failed := e.Fail(ctx, []engine.Failure{{Receipt: attempts[0].Receipt}})
	_, completed := e.Complete(ctx, receipts(attempts[1:]))
	return errors.Join(failed, completed)
}

// wantPossible checks counts that were read after others, while the number of all jobs was between two.
func wantPossible(t *testing.T, c, before engine.Counts, atLeast, atMost int64) {
	t.Helper()
	sum := c.Available + c.Running + c.Completed + c.Failed + c.PrunedCompleted + c.PrunedFailed
	if sum < atLeast || sum > atMost || min(c.Available, c.Running, c.Completed, c.Failed) < 0 || c.Scheduled != 0 {
		t.Errorf("%+v: %d jobs in all, but between %d and %d were enqueued", c, sum, atLeast, atMost)
	}
	if c.PrunedCompleted < before.PrunedCompleted || c.PrunedFailed < before.PrunedFailed {
		t.Errorf("the permanent counts fell from %+v to %+v", before, c)
	}
}

// Counts waits for a prune that has a slot to itself rather than to miss what it holds: every table stands by name, so
// that all locks are held before the snapshot is taken.
func TestCountsWaitForAPrune(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.complete(t, b.claimNew(t, "q", 3))
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(ctx, b.sql(`LOCK TABLE %s.ready_entries_0, %s.ready_claim_attempt_batches_0, %s.receipt_completion_batches_0 IN ACCESS EXCLUSIVE MODE`)); err != nil {
		t.Fatal(err)
	}
	got := make(chan engine.Counts)
	go func() {
		c, err := b.Counts(ctx, "q")
		if err != nil {
			t.Error(err)
		}
		got <- c
	}()
	b.waitFor(t, `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = '%s.ready_entries_0'::regclass`)
	for _, step := range []string{
		`TRUNCATE %s.receipt_completion_batches_0, %s.ready_entries_0, %s.ready_claim_attempt_batches_0`,
		`INSERT INTO %s.queue_terminal_rollups VALUES ('q', 3, 0)`,
	} {
		if _, err := tx.Exec(ctx, b.sql(step)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if c := <-got; c.Completed != 0 || c.PrunedCompleted != 3 {
		t.Errorf("a prune between lock and snapshot shows as %+v", c)
	}
}

// Each queue counts its own.
func TestCountsByQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "a", 5)
	b.enqueue(t, "b", 3)
	attempts := b.claim(t, "a", 4)
	b.complete(t, attempts[:1])
	if _, err := b.Fail(t.Context(), []engine.Failure{{Receipt: attempts[1].Receipt}}); err != nil {
		t.Fatal(err)
	}
	b.wantCounts(t, "a", engine.Counts{Available: 1, Running: 2, Completed: 1, Failed: 1})
	b.wantCounts(t, "b", engine.Counts{Available: 3})
	b.wantCounts(t, "A", engine.Counts{})
}
