package engine_test

import (
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// Fifty thousand jobs, most of them done, some failed, some rescued, and not one row of a ring updated or deleted (P6).
// The server counts; it counts completely once the connections that did the work are closed.
func TestNoRowIsUpdatedOrDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	working := connect(t, 4, nil)
	e := b.open(t, working)
	const batches, size = 50, 1000
	for i := range batches {
		if _, err := e.EnqueueMany(ctx, jobs("q", size)); err != nil {
			t.Fatal(err)
		}
		attempts, err := e.Claim(ctx, "q", size)
		if err != nil || len(attempts) != size {
			t.Fatal(len(attempts), err)
		}
		rs := receipts(attempts)
		if _, err := e.Fail(ctx, []engine.Failure{{Receipt: rs[0], Message: "no"}, {Receipt: rs[1], Message: "no"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Complete(ctx, rs[2:size-10]); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 { // those that nobody closed
			b.clock.advance(time.Hour)
			if _, err := e.RescueStale(ctx, time.Minute, 10_000); err != nil {
				t.Fatal(err)
			}
		}
	}
	working.Close()

	counters := `SELECT coalesce(sum(s.n_tup_ins), 0)::bigint, coalesce(sum(s.n_tup_upd + s.n_tup_del), 0)::bigint
		FROM pg_stat_user_tables s JOIN pg_inherits i ON i.inhrelid = s.relid WHERE s.schemaname = $1`
	b.waitFor(t, `SELECT sum(s.n_tup_ins) >= 50000 FROM pg_stat_user_tables s JOIN pg_inherits i ON i.inhrelid = s.relid WHERE s.schemaname = $1`, b.schema)
	var inserted, churned int64
	if err := b.pool.QueryRow(ctx, counters, b.schema).Scan(&inserted, &churned); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows inserted into the rings by %d jobs, %d updated or deleted", inserted, batches*size, churned)
	if churned != 0 {
		t.Errorf("%d rows of the rings' children were updated or deleted", churned)
	}

	// The measure can fail.
	b.exec(t, `DELETE FROM %s.ready_entries WHERE lane_seq = 1`)
	b.waitFor(t, `SELECT sum(s.n_tup_upd + s.n_tup_del) = 1 FROM pg_stat_user_tables s JOIN pg_inherits i ON i.inhrelid = s.relid WHERE s.schemaname = $1`, b.schema)
}
