package engine_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// wantDeleted deletes and compares the outcome of each job; nil stands for success.
func (b *bundle) wantDeleted(t *testing.T, ids []int64, want ...error) {
	t.Helper()
	results, err := b.DeleteTerminal(t.Context(), ids)
	if err != nil || len(results) != len(want) {
		t.Fatalf("%+v, %v", results, err)
	}
	for i, r := range results {
		if r.JobID != ids[i] || !errors.Is(r.Err, want[i]) || (want[i] == nil) != (r.Err == nil) {
			t.Errorf("place %d: %+v, want job %d and %v", i, r, ids[i], want[i])
		}
	}
}

// Ends of every shape are removed, jobs in every other state are left alone, and what was removed isn't found, counted or
// shown any more, neither now nor when its slot is pruned.
func TestDeleteTerminalInEveryState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	first := b.claimNew(t, "q", 1)
	wide := first[0].Receipt.JobID()
	b.failAll(t, first)
	if n := b.lap(t, time.Hour); n != 1 {
		t.Fatalf("%d rows were carried", n)
	}
	batch := jobs("q", 9)
	batch[0].Priority, batch[8].RunAt = 1, b.clock.now().Add(time.Hour)
	batch[1].Priority, batch[1].TimeLimit = 1, time.Hour
	ids, err := b.EnqueueMany(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	b.complete(t, b.claim(t, "q", 3)) // 0 and 2 compact, 1 row-local
	b.failAll(t, b.claim(t, "q", 1))  // 3
	b.wantCancelled(t, ids[4:5], nil)
	running := b.claim(t, "q", 1) // 5
	b.hold(t, "q", true)
	b.failAll(t, b.claim(t, "q", 1)) // 6 is held; 7 is available, 8 deferred
	b.hold(t, "q", false)
	b.wantCounts(t, "q", engine.Counts{Available: 1, Scheduled: 1, Running: 1, Completed: 3, Failed: 2, Cancelled: 1, DLQ: 1})
	const none = 999_999
	all := append([]int64{wide, none}, ids...)
	b.wantDeleted(t, append(all, ids[0]), nil, engine.ErrNotFound, nil, nil, nil, nil, nil,
		engine.ErrWrongState, engine.ErrWrongState, engine.ErrWrongState, engine.ErrWrongState, engine.ErrNotFound)
	b.wantCounts(t, "q", engine.Counts{Available: 1, Scheduled: 1, Running: 1, DLQ: 1})
	b.wantAudit(t)
	// Once more says that there is nothing left.
	b.wantDeleted(t, all[:3], engine.ErrNotFound, engine.ErrNotFound, engine.ErrNotFound)
	b.wantCancelled(t, all[:3], engine.ErrNotFound, engine.ErrNotFound, engine.ErrNotFound)
	for _, id := range []int64{wide, ids[0], ids[1], ids[3], ids[4]} {
		if _, err := b.Job(ctx, id); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("job %d: %v", id, err)
		}
	}
	if n := one[int](t, b, `SELECT count(*) FROM %s.terminal_jobs WHERE queue = 'q' AND state <> 'dlq'`); n != 0 {
		t.Errorf("the view shows %d of them", n)
	}
	if out, err := b.RetryFailed(ctx, engine.FailedJobs{Queue: "q"}, 10); err != nil || out.Matched != 0 {
		t.Errorf("%+v, %v", out, err)
	}

	b.complete(t, append(running, b.claim(t, "q", 1)...))
	b.turn(t)
	if c, err := b.Counts(ctx, "q"); err != nil || c != (engine.Counts{Scheduled: 1, DLQ: 1, PrunedCompleted: 2}) {
		t.Errorf("after the prune: %+v, %v", c, err)
	}
	b.wantAudit(t)
}

// Two who delete one success hide it once: it is subtracted once.
func TestDeleteTerminalConcurrently(t *testing.T) {
	t.Parallel()
	b := setup(t)
	attempts := b.claimNew(t, "q", 50)
	b.complete(t, attempts)
	var ids []int64
	for _, a := range attempts {
		ids = append(ids, a.Receipt.JobID())
	}
	var mu sync.Mutex
	hidden := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			results, err := b.DeleteTerminal(t.Context(), ids)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range results {
				if r.Err == nil {
					hidden++
				} else if !errors.Is(r.Err, engine.ErrNotFound) {
					t.Error(r.Err)
				}
			}
		})
	}
	wg.Wait()
	if hidden != len(ids) {
		t.Errorf("%d ends were removed of %d", hidden, len(ids))
	}
	b.wantCounts(t, "q", engine.Counts{})
	b.wantAudit(t)
}

// A key that a deleted job held in its end is free.
func TestDeleteTerminalFreesItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	unique := func() engine.JobParams {
		return once(func(j *engine.JobParams) { j.Unique.HeldIn = []engine.JobState{engine.JobCompleted} })
	}
	id := b.newUniqueJob(t, unique())
	b.complete(t, b.claim(t, "q", 1))
	b.wantUnique(t, unique(), engine.Enqueued{ID: id, Existing: true})
	b.wantDeleted(t, []int64{id}, nil)
	b.newUniqueJob(t, unique())
	b.wantAudit(t)
}

// A success that is hidden without being one is a contradiction: the prune stops rather than count wrong.
func TestPruneDoubtsTombstones(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failAll(t, b.claimNew(t, "q", 1))
	b.exec(t, `INSERT INTO %s.receipt_completion_tombstones SELECT ready_generation, lane_seq, job_id, lane_id, ready_slot FROM %s.ready_entries`)
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	_, err := b.PruneQueue(t.Context(), 0)
	wantError(t, err, engine.ErrCorrupt)
}
