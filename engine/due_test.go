package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// A slot is left when it is full or old, and never sooner than the last one was; an idle ring stays as it is.
func TestRotateDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, `UPDATE %s.queue_ring_rotations SET rotated_at = $1`, b.clock.now())
	due := func(p engine.RotationPolicy, want engine.RotateStatus) {
		t.Helper()
		out, err := b.RotateDue(t.Context(), p)
		if err != nil || out.Queue.Status != want || (out.Claims.Status == engine.RotateNotDue) != (want != engine.Rotated) ||
			(out.Leases.Status == engine.RotateNotDue) != (want != engine.Rotated) {
			t.Errorf("%+v: %+v, %v, want %s", p, out, err, want)
		}
	}
	small := engine.RotationPolicy{Rows: 100, Age: time.Hour, Apart: time.Minute}
	b.claimNew(t, "q", 5)
	due(small, engine.RotateNotDue)
	b.enqueue(t, "q", 500)
	due(small, engine.RotateNotDue) // full, and too young
	b.clock.advance(time.Minute)
	due(small, engine.Rotated)
	b.clock.advance(59 * time.Minute)
	due(small, engine.RotateNotDue)
	b.clock.advance(time.Minute)
	b.claimNew(t, "q", 1)
	due(small, engine.Rotated)
	due(engine.RotationPolicy{}, engine.RotateNotDue)
	b.clock.advance(20*time.Minute - time.Second)
	due(engine.RotationPolicy{}, engine.RotateNotDue)
	b.clock.advance(-time.Hour)
	due(engine.RotationPolicy{}, engine.RotateNotDue)
	_, err := b.RotateDue(t.Context(), engine.RotationPolicy{Rows: -1})
	wantError(t, err, engine.ErrInvalid, "Rows")
	_, err = b.RotateDue(t.Context(), engine.RotationPolicy{Age: -1})
	wantError(t, err, engine.ErrInvalid, "Age")
}

// A ring in which nothing ever happened doesn't turn, however old it is.
func TestIdleRingIsNeverDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.clock.advance(100 * 365 * 24 * time.Hour)
	out, err := b.RotateDue(t.Context(), engine.RotationPolicy{})
	if err != nil || out.Queue.Status != engine.RotateSkippedIdle {
		t.Error(out, err)
	}
}

// With the default policies a failed row is rewritten about once a lap of the ring, so seldom over 72 hours that it doesn't
// matter, and it is there until then.
func TestFailedRowIsSeldomRewritten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three days of virtual time are hundreds of rotations, and show nothing of races")
	}
	b := setup(t)
	b.schema += "_days"
	cfg := engine.Config{Schema: b.schema, Now: b.clock.now}
	if err := engine.Migrate(t.Context(), b.pool, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := b.pool.Exec(context.WithoutCancel(t.Context()), b.sql(`DROP SCHEMA %s CASCADE`)); err != nil {
			t.Error(err)
		}
	})
	var err error
	if b.Engine, err = engine.Open(t.Context(), b.pool, cfg); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE %s.queue_ring_rotations SET rotated_at = $1`, b.clock.now())
	b.failAll(t, b.claimNew(t, "q", 1))
	const retention = 72 * time.Hour
	carried, rotated, began := 0, 0, b.clock.now()
	for b.clock.now().Sub(began) < retention+12*time.Hour {
		b.clock.advance(20 * time.Minute)
		b.complete(t, b.claimNew(t, "other", 1))
		turned, err := b.RotateDue(t.Context(), engine.RotationPolicy{})
		if err != nil || turned.Queue.Status != engine.Rotated {
			t.Fatal(turned, err)
		}
		rotated++
		out, err := b.PruneQueueDue(t.Context(), retention)
		if err != nil || out.Status != engine.Pruned && out.Status != engine.PruneNotDue {
			t.Fatal(out, err)
		}
		carried += out.CarriedFailedRows
		if _, err := b.PruneClaims(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rotations, carried %d times", rotated, carried)
	if carried > 20 || carried < 10 {
		t.Errorf("one failed row was carried %d times", carried)
	}
	b.wantCounts(t, "q", engine.Counts{PrunedFailed: 1})
}

// Nothing is pruned while there are slots to rotate into.
func TestPruneQueueDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for generation, want := range []engine.PruneStatus{engine.PruneNotDue, engine.Pruned, engine.Pruned} {
		b.complete(t, b.claimNew(t, "q", 1))
		b.wantRotate(t, rings[0], engine.Rotated, int64(generation+1))
		if out, err := b.PruneQueueDue(t.Context(), 0); err != nil || out.Status != want {
			t.Errorf("beside generation %d: %+v, %v, want %s", generation+1, out, err, want)
		}
	}
	_, err := b.PruneQueueDue(t.Context(), -1)
	wantError(t, err, engine.ErrInvalid, "failedRetention")
}
