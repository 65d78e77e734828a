package engine_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// Without a clock of its own the engine takes the server's, in each operation.
func TestServerClock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	e, err := engine.Open(ctx, b.pool, smallRings(b.schema))
	if err != nil {
		t.Fatal(err)
	}
	b.Engine = e
	before := one[time.Time](t, b, `SELECT clock_timestamp()`)
	ids := b.enqueue(t, "q", 3)
	tx := begin(t, b.pool, pgx.RepeatableRead)
	if _, err := b.EnqueueTx(ctx, tx, jobs("q", 1)...); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Promote(ctx, 10); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	attempts := b.claim(t, "q", 4)
	if swept, err := b.RescueStale(ctx, time.Hour, 10); err != nil || swept != (engine.RescueOutcome{}) {
		t.Fatal(swept, err)
	}
	b.complete(t, attempts[:1])
	if results, err := b.Fail(ctx, []engine.Failure{{Receipt: attempts[1].Receipt, Message: "m"}}); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	failed, err := b.Job(ctx, ids[1])
	if err != nil {
		t.Fatal(err)
	}
	running, err := b.Job(ctx, ids[2])
	if err != nil {
		t.Fatal(err)
	}
	after := one[time.Time](t, b, `SELECT clock_timestamp()`)
	for what, at := range map[string]time.Time{
		"created": failed.CreatedAt, "finalized": *failed.FinalizedAt, "failed": failed.Errors[0].At, "claimed": *running.ClaimedAt,
	} {
		if at.Before(before) || at.After(after) {
			t.Errorf("%s at %s, outside %s to %s", what, at, before, after)
		}
	}
	// A moment later everything that runs is older than nothing.
	b.waitFor(t, `SELECT clock_timestamp() > $1`, after)
	if swept, err := b.RescueStale(ctx, 0, 10); err != nil || swept.Requeued != 2 {
		t.Fatal(swept, err)
	}
	b.complete(t, b.claim(t, "q", 2))
	b.wantRetained(t, time.Hour)
}

// wantRetained turns the queue ring; its failed row is carried on while it is inside the retention.
func (b *bundle) wantRetained(t *testing.T, retention time.Duration) {
	t.Helper()
	ctx := t.Context()
	if out, err := b.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatal(out, err)
	}
	if out, err := b.PruneQueue(ctx, retention); err != nil || out.Status != engine.Pruned || out.CarriedFailedRows != 1 {
		t.Errorf("failed rows inside their retention: %+v, %v", out, err)
	}
}

// A server's time zone, and a session's, change nothing.
func TestTimesAreInstants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pool := connect(t, 2, set("timezone", "Pacific/Kiritimati", "datestyle", "SQL, DMY", "intervalstyle", "iso_8601"))
	b.Engine = b.open(t, pool)
	b.wholeLife(t)
}
