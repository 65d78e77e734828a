package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// aging is a process whose queue q gains a step of priority each minute.
func (b *bundle) aging(t *testing.T, pool *pgxpool.Pool) *engine.Engine {
	t.Helper()
	cfg := smallRings(b.schema)
	cfg.Now = b.clock.now
	cfg.Queues = map[string]engine.QueueConfig{"q": {Aging: time.Minute}}
	e, err := engine.Open(t.Context(), pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (b *bundle) enqueueAt(t *testing.T, priority int) int64 {
	t.Helper()
	id, err := b.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", Priority: priority})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bundle) claimed(t *testing.T, limit int) (ids []int64) {
	t.Helper()
	attempts, err := b.Claim(t.Context(), "q", limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attempts {
		ids = append(ids, a.Receipt.JobID())
	}
	return ids
}

// A job gains one priority a minute and not before, is never better than 1, and of two that are equal the one that waits
// longer goes first; in one answer as in many.
func TestWaitingGainsPriority(t *testing.T) {
	t.Parallel()
	for _, limits := range [][]int{{6}, {1, 1, 1, 1, 1, 1}, {2, 3, 1}} {
		b := setup(t)
		b.Engine = b.aging(t, b.pool)
		low := b.enqueueAt(t, 4)
		b.clock.advance(2*time.Minute - time.Second)
		third := b.enqueueAt(t, 3)
		second := b.enqueueAt(t, 2)
		b.clock.advance(time.Second)
		first := b.enqueueAt(t, 1)
		low2 := b.enqueueAt(t, 4) // behind the one that is old, which it gains nothing from
		second2 := b.enqueueAt(t, 2)
		// Two minutes: the oldest has priority 2, and has waited longer than those that always had it.
		want := []int64{first, low, second, second2, third, low2}
		var got []int64
		for _, n := range limits {
			got = append(got, b.claimed(t, n)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("limits %v: handed out %v, want %v", limits, got, want)
		}
	}
}

// Jobs of priority 1 come faster than they are handed out, for ever; one of priority 4 is handed out all the same, as soon as
// its bound allows: when it has waited for three steps, only those that came before it go first. Without aging it never is.
func TestAgingStarvesNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plain, ages := b.Engine, b.aging(t, b.pool)
	b.enqueueAt(t, 1)
	low := b.enqueueAt(t, 4)
	came := map[int64]time.Time{}
	steady := func() []int64 {
		for range 3 {
			came[b.enqueueAt(t, 1)] = b.clock.now()
		}
		b.clock.advance(20 * time.Second)
		return b.claimed(t, 2)
	}
	b.Engine = plain
	for range 20 {
		if slices.Contains(steady(), low) {
			t.Fatal("handed out, though waiting gains nothing")
		}
	}
	b.Engine = ages
	since := b.clock.now() // all that had come by now has priority 1, and so has the job: it is the oldest
	if got := steady(); got[0] != low && got[1] != low {
		t.Errorf("not handed out at %s: %v", since, got)
	}

	low, born := b.enqueueAt(t, 4), b.clock.now()
	for range 1000 {
		got := steady()
		at := slices.Index(got, low)
		for i, id := range got {
			if late := came[id].After(born); late && (at < 0 || i < at) && b.clock.now().Sub(born) >= 3*time.Minute {
				t.Fatalf("after %s a job was handed out that came later", b.clock.now().Sub(born))
			}
		}
		if at >= 0 {
			if waited := b.clock.now().Sub(born); waited < 3*time.Minute {
				t.Fatalf("handed out after %s, while others of priority 1 waited", waited)
			}
			return
		}
	}
	t.Error("never handed out")
}

// What aging makes of a priority stands nowhere: the job is given away with its own, its rows are in its own lane, and another
// process, without aging, goes on with them (hazard 36).
func TestAgedJobKeepsItsLane(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plain := b.Engine
	b.Engine = b.aging(t, b.pool)
	id := b.enqueueAt(t, 4)
	b.clock.advance(time.Hour)
	young := b.enqueueAt(t, 1)
	attempts, err := b.Claim(t.Context(), "q", 2)
	if err != nil || len(attempts) != 2 || attempts[0].Receipt.JobID() != id || attempts[0].Priority != 4 || attempts[1].Priority != 1 {
		t.Fatalf("%+v, %v", attempts, err)
	}
	if j, err := b.Job(t.Context(), id); err != nil || j.Priority != 4 {
		t.Errorf("%+v, %v", j, err)
	}
	if n := one[int](t, b, `SELECT count(*) FROM %s.lease_claim_batches b JOIN %s.lanes l USING (lane_id) WHERE l.priority = 4 AND $1 = ANY (b.job_ids)`, id); n != 1 {
		t.Errorf("%d claims in the lane of priority 4", n)
	}
	b.wantJobs(t, plain, "q")
	b.complete(t, attempts)
	b.wantJobs(t, plain, "q")
	_ = young
}

// Waiting counts from when a job became available: not from its first enqueue when it was put off, tried again or retried, but on
// from there when it is moved.
func TestWaitingBeginsAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Engine = b.aging(t, b.pool)
	ctx := t.Context()
	later := []int64{b.enqueueAt(t, 4), b.enqueueAt(t, 4), b.enqueueAt(t, 4)}
	ids, err := b.EnqueueMany(ctx, []engine.JobParams{{Queue: "q", Kind: "k", Priority: 4, RunAt: b.clock.now().Add(time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	attempts, err := b.Claim(ctx, "q", 3)
	if err != nil || len(attempts) != 3 {
		t.Fatal(attempts, err)
	}
	if _, err := b.Fail(ctx, []engine.Failure{{Receipt: attempts[0].Receipt, Message: "no"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Retry(ctx, []engine.Retrial{{Receipt: attempts[1].Receipt, After: time.Second}}); err != nil {
		t.Fatal(err)
	}
	moved := b.enqueueAt(t, 3)
	b.clock.advance(2 * time.Hour)
	old := b.enqueueAt(t, 2)
	if _, err := b.RetryFailed(ctx, engine.FailedJobs{Queue: "q"}, 1); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Promote(ctx, 10); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if out, err := b.RescueStale(ctx, time.Minute, 10); err != nil || out.Requeued != 1 {
		t.Fatal(out, err)
	}
	if results, err := b.SetPriority(ctx, []int64{moved}, 4); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	// The moved job has waited for hours, but stands behind those who came back now.
	want := append([]int64{old}, later[0], later[1], ids[0], later[2], moved)
	if got := b.claimed(t, 10); !slices.Equal(got, want) {
		t.Errorf("handed out %v, want %v", got, want)
	}
	// In a lane of its own it goes first.
	b.enqueueAt(t, 1)
	moved = b.enqueueAt(t, 2)
	b.clock.advance(time.Hour)
	b.enqueueAt(t, 1)
	if results, err := b.SetPriority(ctx, []int64{moved}, 4); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	if got := b.claimed(t, 2); len(got) != 2 || got[1] != moved {
		t.Errorf("handed out %v, want %d in the second place", got, moved)
	}
}

// What a claim of an aging queue has left, its hint still has: holes of open producers, positions beyond the limit, in every
// lane; and lanes that have nothing let their generations go.
func TestAgingForgetsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Engine = b.aging(t, b.pool)
	ctx := t.Context()
	wanted := map[int64]bool{}
	var open []pgx.Tx
	for round := range 6 {
		tx := begin(t, b.pool, pgx.ReadCommitted)
		for _, priority := range []int{1, 3, 4} {
			late, err := b.EnqueueTx(ctx, tx, engine.JobParams{Queue: "q", Kind: "k", Priority: priority, OwnClaim: round%2 == 0})
			if err != nil {
				t.Fatal(err)
			}
			wanted[late[0]], wanted[b.enqueueAt(t, priority)] = true, true
		}
		open = append(open, tx)
		b.clock.advance(50 * time.Second)
		for _, id := range b.claimed(t, 2) {
			delete(wanted, id)
		}
		if round > 1 {
			if err := open[round-2].Commit(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.RotateQueue(ctx); err != nil && !errors.Is(err, engine.ErrBusy) {
			t.Fatal(err)
		}
	}
	for _, tx := range open[4:] {
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for len(wanted) > 0 {
		got := b.claimed(t, 5)
		if len(got) == 0 {
			t.Fatalf("%d jobs are left out: %v", len(wanted), wanted)
		}
		for _, id := range got {
			if !wanted[id] {
				t.Fatalf("job %d was handed out twice", id)
			}
			delete(wanted, id)
		}
	}
}

// A claim that ends at its limit knows of each lane where it goes on: the slot of what it left isn't closed when the ring turns.
func TestAgingLeavesSlotsOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Engine = b.aging(t, b.pool)
	var want []int64
	for range 4 {
		want = append(want, b.enqueueAt(t, 1), b.enqueueAt(t, 3))
	}
	if _, err := b.RotateQueue(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for range len(want) {
		b.waitForOthers(t) // no id below those that the last claim saw is at work
		got = append(got, b.claimed(t, 1)...)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("handed out %v of %v", got, want)
	}
}
