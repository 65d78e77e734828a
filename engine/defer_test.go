package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// A job for later waits outside the ring until it is due, whichever way it came; its neighbours in the same call don't.
func TestRunAtDefers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	now := b.clock.now()
	batch := jobs("q", 4)
	batch[1].RunAt = now.Add(time.Microsecond)
	batch[2].RunAt = now // not later
	batch[3].RunAt = now.Add(time.Hour)
	for way, enqueue := range map[string]func() ([]int64, error){
		"many": func() ([]int64, error) { return b.EnqueueMany(ctx, batch) },
		"one by one": func() ([]int64, error) {
			var ids []int64
			for _, j := range batch {
				id, err := b.Enqueue(ctx, j)
				if err != nil {
					return nil, err
				}
				ids = append(ids, id)
			}
			return ids, nil
		},
		"in a transaction": func() ([]int64, error) {
			tx := begin(t, b.pool, pgx.ReadCommitted)
			ids, err := b.EnqueueTx(ctx, tx, batch...)
			if err == nil {
				err = tx.Commit(ctx)
			}
			return ids, err
		},
	} {
		ids, err := enqueue()
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		b.wantHandedOut(t, way, ids[0], ids[2])
		if n, err := b.Promote(ctx, 10); err != nil || n != 0 {
			t.Fatalf("%s: promoted %d jobs before their time, %v", way, n, err)
		}
		j, err := b.Job(ctx, ids[3])
		if err != nil || j.State != engine.JobScheduled || j.RunAt == nil || !j.RunAt.Equal(batch[3].RunAt) {
			t.Fatalf("%s: got %+v, %v", way, j, err)
		}
		b.clock.advance(time.Microsecond)
		if n, err := b.Promote(ctx, 10); err != nil || n != 1 {
			t.Fatalf("%s: promoted %d, %v; want the one that is due", way, n, err)
		}
		b.wantHandedOut(t, way, ids[1])
		b.clock.advance(-time.Microsecond)
	}
	b.clock.advance(time.Hour)
	if n, err := b.Promote(ctx, 10); err != nil || n != 3 {
		t.Fatalf("promoted %d, %v; want the three that waited an hour", n, err)
	}
}

// wantHandedOut claims all that there is and wants these jobs.
func (b *bundle) wantHandedOut(t *testing.T, what string, want ...int64) {
	t.Helper()
	var got []int64
	for _, a := range b.claim(t, "q", len(want)) {
		got = append(got, a.Receipt.JobID())
	}
	if more, err := b.Claim(t.Context(), "q", 1); err != nil || len(more) != 0 || !slices.Equal(got, want) {
		t.Fatalf("%s: handed out %v and %v (%v), want %v", what, got, more, err, want)
	}
}

// The server's clock says what is later, not the caller's (hazard 17).
func TestRunAtIsTheServersTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := smallRings(b.schema)
	e, err := engine.Open(t.Context(), b.pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	at := one[time.Time](t, b, `SELECT now()`)
	for _, offset := range []time.Duration{-time.Minute, time.Hour} {
		if _, err := e.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", RunAt: at.Add(offset)}); err != nil {
			t.Fatal(err)
		}
	}
	b.wantCounts(t, "q", engine.Counts{Available: 1, Scheduled: 1})
}

// A time that the server can't store is refused before anything is written.
func TestRunAtIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := b.rowCounts(t)
	for _, at := range []time.Time{time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := b.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", RunAt: at})
		wantError(t, err, engine.ErrInvalid, "RunAt")
	}
	b.wantUnchanged(t, before)
}
