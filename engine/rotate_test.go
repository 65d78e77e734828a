package engine_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// turning is one of the two rings, as the tests of rotation take them.
type turning struct {
	name      string
	rotate    func(*engine.Engine, context.Context) (engine.RotateOutcome, error)
	prune     func(*engine.Engine, context.Context) (engine.PruneOutcome, error)
	slots     int
	gate      string
	rotations string
}

var rings = []turning{
	{
		"queue", (*engine.Engine).RotateQueue,
		func(e *engine.Engine, ctx context.Context) (engine.PruneOutcome, error) { return e.PruneQueue(ctx, 0) },
		4, "ready_entries", "queue_ring_rotations",
	},
	{"claim", (*engine.Engine).RotateClaims, (*engine.Engine).PruneClaims, 2, "lease_claim_batches", "claim_ring_rotations"},
}

func eachRing(t *testing.T, test func(t *testing.T, b *bundle, r turning)) {
	t.Helper()
	t.Parallel()
	for _, r := range rings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t), r)
		})
	}
}

func (b *bundle) wantRotate(t *testing.T, r turning, status engine.RotateStatus, generation int64) {
	t.Helper()
	if out, err := r.rotate(b.Engine, t.Context()); err != nil || out.Status != status || out.Generation != generation {
		t.Fatalf("rotate the %s ring: %+v, %v; want %s, generation %d", r.name, out, err, status, generation)
	}
}

func (b *bundle) wantPrune(t *testing.T, r turning, status engine.PruneStatus, generation int64) engine.PruneOutcome {
	t.Helper()
	out, err := r.prune(b.Engine, t.Context())
	if err != nil || out.Status != status || out.Generation != generation || out.CarriedFailedRows != 0 {
		t.Fatalf("prune the %s ring: %+v, %v; want %s, generation %d", r.name, out, err, status, generation)
	}
	return out
}

// An empty ring doesn't turn; one with rows does, also when they stand in a sealed slot only, until it is full. A slot is
// entered again only when its last generation was pruned.
func TestRotateUntilTheRingIsFull(t *testing.T) {
	eachRing(t, func(t *testing.T, b *bundle, r turning) {
		b.wantRotate(t, r, engine.RotateSkippedIdle, 0)
		attempts := b.claimNew(t, "q", 3)
		for g := 1; g < r.slots; g++ {
			b.wantRotate(t, r, engine.Rotated, int64(g))
		}
		for range 2 {
			b.wantRotate(t, r, engine.RotateSkippedNextNotPruned, int64(r.slots-1))
		}
		b.complete(t, attempts)
		b.wantPrune(t, r, engine.Pruned, 0)
		b.wantRotate(t, r, engine.RotateSkippedIdle, int64(r.slots-1))
		for g := 1; g < r.slots-1; g++ {
			b.wantPrune(t, r, engine.Pruned, int64(g))
		}
		b.wantPrune(t, r, engine.PruneNothing, -1)
	})
}

// Round and round: slot = generation mod N, for ever.
func TestRingsTurn(t *testing.T) {
	eachRing(t, func(t *testing.T, b *bundle, r turning) {
		for g := range int64(3*r.slots + 1) {
			slot := int(g) % r.slots
			b.complete(t, b.claimNew(t, "q", 2))
			if n := one[int](t, b, `SELECT count(*) FROM ONLY %s.`+r.gate+`_`+string(rune('0'+slot))); n == 0 {
				t.Errorf("generation %d wrote nothing into slot %d", g, slot)
			}
			if got := one[int](t, b, `SELECT slot FROM %s.`+r.rotations+` WHERE generation = $1`, g); got != slot {
				t.Errorf("the ledger has generation %d in slot %d", g, got)
			}
			b.wantRotate(t, r, engine.Rotated, g+1)
			b.wantPrune(t, r, engine.Pruned, g)
		}
	})
}

// Whoever holds the ring's mutex is left alone; the call doesn't wait.
func TestRotateBlocked(t *testing.T) {
	eachRing(t, func(t *testing.T, b *bundle, r turning) {
		b.claimNew(t, "q", 1)
		tx := begin(t, b.pool, pgx.ReadCommitted)
		if _, err := tx.Exec(t.Context(), b.sql(`SELECT FROM %s.`+r.name+`_ring_state FOR UPDATE`)); err != nil {
			t.Fatal(err)
		}
		b.wantRotate(t, r, engine.RotateBlocked, -1)
		b.wantPrune(t, r, engine.PruneBlocked, -1)
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.wantRotate(t, r, engine.Rotated, 1)
	})
}

// Somebody who has a child of the ring to himself, as a hand-made VACUUM FULL has, blocks a rotation; it neither waits
// nor fails.
func TestRotateBesideAnExclusiveLock(t *testing.T) {
	eachRing(t, func(t *testing.T, b *bundle, r turning) {
		b.claimNew(t, "q", 1)
		tx := begin(t, b.pool, pgx.ReadCommitted)
		if _, err := tx.Exec(t.Context(), b.sql(`LOCK TABLE %s.`+r.gate+`_0 IN ACCESS EXCLUSIVE MODE`)); err != nil {
			t.Fatal(err)
		}
		b.wantRotate(t, r, engine.RotateBlocked, -1)
	})
}

// Leaders who don't know of each other rotate and prune at once: each generation once, in order, and nothing is lost.
func TestTwoLeadersTurnTheRings(t *testing.T) {
	eachRing(t, func(t *testing.T, b *bundle, r turning) {
		leaders := []*engine.Engine{b.Engine, b.open(t, b.pool), b.open(t, b.pool)}
		errs := make(chan error)
		for _, e := range leaders {
			go func() {
				for range 12 {
					if _, err := r.rotate(e, t.Context()); err != nil {
						errs <- err
						return
					}
					if _, err := r.prune(e, t.Context()); err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
		}
		for range 8 {
			b.complete(t, b.claimNew(t, "q", 2))
		}
		for range leaders {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		c, err := b.Counts(t.Context(), "q")
		if err != nil || c.Completed+c.PrunedCompleted != 16 {
			t.Errorf("%+v, %v", c, err)
		}
		if n := one[int](t, b, `SELECT count(*) FROM %s.`+r.rotations+` WHERE slot <> generation % $1`, r.slots); n > 0 {
			t.Errorf("%d generations stand in the wrong slot", n)
		}
	})
}
