package engine_test

import (
	"testing"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// A claim that finds nothing takes no transaction id: pollers of an empty queue would use them up, and bring on the
// vacuums that keep them from wrapping round. Ids are the whole server's, so this test has one to itself.
func TestPollingAnEmptyQueueTakesNoTransactionIDs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := pgtest.Start(ctx, pgtest.Options{Local: true, Settings: map[string]string{"autovacuum": "off"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	pool := s.TestPool(t, 2)
	if err := engine.Migrate(ctx, pool, smallRings("idle")); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(ctx, pool, smallRings("idle"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{Engine: e, pool: pool, schema: "idle"}
	nextID := func() (id int64) {
		t.Helper()
		if err := pool.QueryRow(ctx, `SELECT age('3'::xid)`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	if err := b.RegisterQueue(ctx, "q"); err != nil {
		t.Fatal(err)
	}
	before := nextID()
	for range 50 {
		if attempts, err := b.Claim(ctx, "q", 10); err != nil || len(attempts) != 0 {
			t.Fatal(attempts, err)
		}
	}
	if after := nextID(); after != before {
		t.Errorf("50 empty claims took %d transaction ids", after-before)
	}
	b.enqueue(t, "q", 1)
	b.claim(t, "q", 1)
	if after := nextID(); after != before+2 {
		t.Errorf("an enqueue and a claim took %d ids, so that the measure is broken", after-before)
	}
}
