package engine_test

import (
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
		queue, claims, err := b.RotateDue(t.Context(), p)
		if err != nil || queue.Status != want || (claims.Status == engine.RotateNotDue) != (want != engine.Rotated) {
			t.Errorf("%+v: %+v %+v, %v, want %s", p, queue, claims, err, want)
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
	b.clock.advance(15*time.Minute - time.Second)
	due(engine.RotationPolicy{}, engine.RotateNotDue)
	b.clock.advance(-time.Hour)
	due(engine.RotationPolicy{}, engine.RotateNotDue)
	_, _, err := b.RotateDue(t.Context(), engine.RotationPolicy{Rows: -1})
	wantError(t, err, engine.ErrInvalid, "Rows")
	_, _, err = b.RotateDue(t.Context(), engine.RotationPolicy{Age: -1})
	wantError(t, err, engine.ErrInvalid, "Age")
}

// A ring in which nothing ever happened doesn't turn, however old it is.
func TestIdleRingIsNeverDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.clock.advance(100 * 365 * 24 * time.Hour)
	queue, _, err := b.RotateDue(t.Context(), engine.RotationPolicy{})
	if err != nil || queue.Status != engine.RotateSkippedIdle {
		t.Error(queue, err)
	}
}
