package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// wantCancelled cancels and compares the outcome of each job; nil stands for success.
func (b *bundle) wantCancelled(t *testing.T, ids []int64, want ...error) {
	t.Helper()
	results, err := b.Cancel(t.Context(), ids)
	if err != nil || len(results) != len(want) {
		t.Fatalf("%+v, %v", results, err)
	}
	for i, r := range results {
		if r.JobID != ids[i] || !errors.Is(r.Err, want[i]) || (want[i] == nil) != (r.Err == nil) {
			t.Errorf("place %d: %+v, want job %d and %v", i, r, ids[i], want[i])
		}
	}
}

// A job is cancelled wherever it is, many at once, and told apart from one that is over or never was.
func TestCancelInEveryState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	batch := jobs("q", 6)
	batch[0].Priority, batch[1].Priority = 1, 1
	batch[1].TimeLimit = time.Hour // claimed row-local
	batch[2].MaxAttempts = 1
	batch[4].RunAt = b.clock.now().Add(time.Hour)
	ids, err := b.EnqueueMany(ctx, batch)
	if err != nil {
		t.Fatal(err)
	}
	running := b.claim(t, "q", 2) // 0 and 1
	b.complete(t, b.claim(t, "q", 1))
	all := append([]int64{ids[5] + 1000}, ids...)
	b.wantCancelled(t, append(all, ids[4]), engine.ErrNotFound, nil, nil, engine.ErrWrongState, nil, nil, nil, engine.ErrWrongState)
	b.wantCounts(t, "q", engine.Counts{Completed: 1, Cancelled: 5})
	for i, id := range ids {
		j, err := b.Job(ctx, id)
		want := engine.JobCancelled
		if i == 2 {
			want = engine.JobCompleted
		}
		if err != nil || j.State != want || j.FinalizedAt == nil || j.Kind != "k" || string(j.Args) != string(batch[i].Args) {
			t.Errorf("job %d: %+v, %v", i, j, err)
		}
		if lease := map[int]int64{0: 1, 1: 1, 2: 1}[i]; j.RunLease != lease || int64(j.Attempt) != lease {
			t.Errorf("job %d was handed out %d times and tried %d times, want %d", i, j.RunLease, j.Attempt, lease)
		}
	}
	results, err := b.Complete(ctx, receipts(running))
	if err != nil || !engine.Stale(results[0].Err) || !engine.Stale(results[1].Err) {
		t.Errorf("the workers of cancelled jobs: %+v, %v", results, err)
	}
	b.clock.advance(time.Hour)
	if n, err := b.Promote(ctx, 10); err != nil || n != 0 {
		t.Errorf("promoted %d, %v", n, err)
	}
	if attempts, err := b.Claim(ctx, "q", 10); err != nil || len(attempts) != 0 {
		t.Errorf("handed out %+v, %v", attempts, err)
	}
	b.wantAudit(t)
}

// What is cancelled spends its slot as what was handed out does, and is counted for ever when the slot is pruned.
func TestCancelledSlotIsPruned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	ids := b.enqueue(t, "q", 3)
	b.wantCancelled(t, ids, nil, nil, nil)
	if out, err := b.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatalf("%+v, %v", out, err)
	}
	if out, err := b.PruneQueue(ctx, time.Hour); err != nil || out.Status != engine.Pruned {
		t.Fatalf("%+v, %v", out, err)
	}
	b.wantCounts(t, "q", engine.Counts{PrunedCompleted: 3})
	b.wantCancelled(t, ids[:1], engine.ErrNotFound)
}

// A claim's hint of an earlier time doesn't hide a tombstone, nor a process that has none.
func TestHintsKnowTombstones(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(t, "q", 5)
	b.claim(t, "q", 1)
	b.wantCancelled(t, []int64{ids[1], ids[3]}, nil, nil)
	if a := b.claim(t, "q", 1)[0]; a.Receipt.JobID() != ids[2] {
		t.Errorf("handed out job %d, want %d", a.Receipt.JobID(), ids[2])
	}
	other := b.open(t, b.pool)
	attempts, err := other.Claim(t.Context(), "q", 5)
	if err != nil || len(attempts) != 1 || attempts[0].Receipt.JobID() != ids[4] {
		t.Errorf("the other process: %+v, %v", attempts, err)
	}
}
