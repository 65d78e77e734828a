package engine_test

import (
	"testing"

	"github.com/awa-engine/awa/engine"
)

// The ledgers keep one lap, whatever is unpruned of it, and the rings turn on as before.
func TestTrimLedger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	trim := func(want int) {
		t.Helper()
		if n, err := b.TrimLedger(t.Context()); err != nil || n != want {
			t.Errorf("%d rows trimmed, %v, want %d", n, err, want)
		}
	}
	trim(0)
	for range 6 {
		b.complete(t, b.claimNew(t, "q", 1))
		b.turn(t)
	}
	rows := func(ledger string) int { return one[int](t, b, `SELECT count(*) FROM %s.`+ledger) }
	before := rows("queue_ring_rotations") + rows("queue_ring_prunes") + rows("claim_ring_rotations") + rows("claim_ring_prunes")
	n, err := b.TrimLedger(t.Context())
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	if got := rows("queue_ring_rotations"); got != 4 {
		t.Errorf("the queue ring of 4 slots keeps %d rotations", got)
	}
	if got := rows("claim_ring_rotations"); got != 2 {
		t.Errorf("the claim ring of 2 slots keeps %d rotations", got)
	}
	after := rows("queue_ring_rotations") + rows("queue_ring_prunes") + rows("claim_ring_rotations") + rows("claim_ring_prunes")
	if after != before-n {
		t.Errorf("%d rows of %d are left, and %d were trimmed", after, before, n)
	}
	trim(0)
	open := b.claimNew(t, "held", 1)
	b.wantRotate(t, rings[0], engine.Rotated, 7)
	for range 2 {
		b.complete(t, b.claimNew(t, "q", 1))
		if _, err := b.RotateQueue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.TrimLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.complete(t, open)
	for range 4 {
		b.complete(t, b.claimNew(t, "q", 1))
		if _, err := b.PruneQueue(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := b.RotateQueue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if report, err := b.Audit(t.Context()); err != nil || len(report.Violations()) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
