package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/awa-engine/awa/engine"
)

// A schema of any legal name works, through every operation.
func TestSchemaNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Upper_Case$1", "select", "a123456789_123456789_123456789_123456789_123456789_123456789_12"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bare(t)
			b.schema = name
			drop := b.sql(`DROP SCHEMA IF EXISTS %s CASCADE`)
			b.exec(t, drop) // of an earlier run on a server that isn't ours
			t.Cleanup(func() {
				if _, err := b.pool.Exec(context.WithoutCancel(t.Context()), drop); err != nil {
					t.Error(err)
				}
			})
			b.mustMigrate(t, func(cfg *engine.Config) { cfg.QueueSlots, cfg.ClaimSlots, cfg.LeaseSlots = 4, 2, 2 })
			b.clock = newClock()
			b.Engine = b.open(t, b.pool)
			b.wholeLife(t)
			if n := one[int](t, b, `SELECT count(*) FROM pg_class WHERE relname = 'ready_entries' AND relnamespace = to_regnamespace('public')`); n > 0 {
				t.Error("something went into the schema public")
			}
		})
	}
}

// Two engines in two schemas of one database don't meet: no row, no lock, no key.
func TestTwoSchemas(t *testing.T) {
	t.Parallel()
	a, b := setup(t), setup(t)
	ctx := t.Context()
	a.enqueue(t, "q", 3)
	b.enqueue(t, "q", 2)
	attempts := a.claim(t, "q", 2)
	if a.LaneKey("q", 1) == b.LaneKey("q", 1) || a.BatchKey(attempts[0].Receipt) == b.BatchKey(attempts[0].Receipt) {
		t.Error("the same keys in both schemas")
	}
	release := a.holdBatch(t, attempts)
	e := b.open(t, impatient(t, 2))
	theirs := b.wantJobs(t, e, "q", 1, 2)
	if results, err := e.Complete(ctx, receipts(theirs)); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	for _, r := range rings {
		if out, err := r.rotate(e, ctx); err != nil || out.Status != engine.Rotated {
			t.Fatal(out, err)
		}
		if out, err := r.prune(e, ctx); err != nil || out.Status != engine.Pruned {
			t.Fatal(out, err)
		}
	}
	release()
	a.wantCounts(t, "q", engine.Counts{Available: 1, Running: 2})
	b.wantCounts(t, "q", engine.Counts{PrunedCompleted: 2})
	a.complete(t, attempts)
}

// Ids are 64 bits wide, everywhere (hazard 22).
func TestLargeIDs(t *testing.T) {
	t.Parallel()
	for _, from := range []int64{1<<31 - 2, 1 << 62} {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			if err := b.RegisterQueue(t.Context(), "q"); err != nil {
				t.Fatal(err)
			}
			b.exec(t, `SELECT setval('%s.job_id_seq', $1)`, from)
			b.exec(t, `SELECT setval(seq, $1) FROM %s.lanes`, from)
			const lastBatch = 2251799813685247
			b.exec(t, `SELECT setval('%s.claim_batch_id_seq', $1)`, min(from, lastBatch-100))
			b.wholeLife(t)
			if id, err := b.Enqueue(t.Context(), jobs("q", 1)[0]); err != nil || id <= from {
				t.Errorf("job %d, %v", id, err)
			}
		})
	}
}

// The generations of the rings are no smaller.
func TestLargeGenerations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const from = 1<<40 + 1 // slot 1 in both rings
	for _, ring := range []string{"queue", "claim"} {
		b.exec(t, `INSERT INTO %s.`+ring+`_ring_rotations SELECT g, g % (SELECT slot_count FROM %s.`+ring+`_ring_state), now() FROM generate_series($1::bigint - 3, $1) g`, int64(from))
		b.exec(t, `INSERT INTO %s.`+ring+`_ring_prunes SELECT generation, slot, now() FROM %s.`+ring+`_ring_rotations WHERE generation < $1`, int64(from))
	}
	b.wholeLife(t)
	if g := one[int64](t, b, `SELECT max(generation) FROM %s.queue_ring_rotations`); g != from+1 {
		t.Errorf("the ring stands at generation %d, want %d", g, int64(from+1))
	}
}

// When the receipts run out, a claim fails rather than to begin anew.
func TestLastBatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, `SELECT setval('%s.claim_batch_id_seq', 2251799813685246)`)
	b.enqueue(t, "q", 5000)
	attempts := b.claim(t, "q", 3)
	if r := attempts[2].Receipt; r.ID() != 2251799813685247*4096+2 {
		t.Errorf("the last batch's receipt is %d", r.ID())
	}
	b.complete(t, attempts)
	before := b.rowCounts(t)
	if attempts, err := b.Claim(t.Context(), "q", 1); err == nil {
		t.Errorf("claimed %v", attempts)
	}
	b.wantUnchanged(t, before)
}
