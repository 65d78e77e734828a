package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// One job of each fate, through both rings, until nothing is left but the permanent counts.
func TestLifeOfJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	ids := b.enqueue(t, "mail", 4)
	b.wantCounts(t, "mail", engine.Counts{Available: 4})

	attempts := b.claim(t, "mail", 3)
	for i, a := range attempts {
		if a.Receipt.JobID() != ids[i] || a.Receipt.RunLease() != 1 || a.Attempt != 1 || a.Priority != 2 {
			t.Errorf("attempt %d: %+v, want job %d in lane order", i, a, ids[i])
		}
	}
	b.wantCounts(t, "mail", engine.Counts{Available: 1, Running: 3})

	b.complete(t, attempts[:1])
	results, err := b.Fail(ctx, []engine.Failure{{Receipt: attempts[1].Receipt, Message: "smtp\x00 down"}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	b.clock.advance(2 * time.Minute)
	swept, err := b.RescueStale(ctx, time.Minute, 100)
	if err != nil || swept != (engine.RescueOutcome{Requeued: 1}) {
		t.Fatalf("rescue: %+v, %v", swept, err)
	}
	b.wantCounts(t, "mail", engine.Counts{Available: 2, Completed: 1, Failed: 1})

	if results, err := b.Complete(ctx, receipts(attempts)); err != nil {
		t.Fatal(err)
	} else {
		for i, r := range results {
			if !engine.Stale(r.Err) {
				t.Errorf("attempt %d is over, yet Complete said %v", i, r.Err)
			}
		}
	}
	job, err := b.Job(ctx, ids[1])
	if err != nil || job.State != engine.JobFailed || len(job.Errors) != 1 || job.Errors[0].Error != "smtp\uFFFD down" {
		t.Errorf("job %d: %+v, %v", ids[1], job, err)
	}

	again := b.claim(t, "mail", 2)
	if a := again[1]; a.Receipt.JobID() != ids[2] || a.Receipt.RunLease() != 2 || a.Attempt != 2 {
		t.Errorf("the rescued job comes back as %+v", a)
	}
	b.complete(t, again)
	b.wantCounts(t, "mail", engine.Counts{Completed: 3, Failed: 1})
	b.turn(t)
	b.wantCounts(t, "mail", engine.Counts{PrunedCompleted: 3, PrunedFailed: 1})
	if _, err := b.Job(ctx, ids[0]); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a pruned job: %v", err)
	}
}

// turn rotates and prunes both rings once; everything must be spent.
func (b *bundle) turn(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	if out, err := b.RotateClaims(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatalf("rotate claims: %+v, %v", out, err)
	}
	if out, err := b.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatalf("rotate queue: %+v, %v", out, err)
	}
	if out, err := b.PruneClaims(ctx); err != nil || out.Status != engine.Pruned {
		t.Fatalf("prune claims: %+v, %v", out, err)
	}
	if out, err := b.PruneQueue(ctx, 0); err != nil || out.Status != engine.Pruned {
		t.Fatalf("prune queue: %+v, %v", out, err)
	}
}
