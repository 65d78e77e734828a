package engine_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

func (b *bundle) wantRescue(t *testing.T, staleAfter time.Duration, budget int, want engine.RescueOutcome) {
	t.Helper()
	if got, err := b.RescueStale(t.Context(), staleAfter, budget); err != nil || got != want {
		t.Fatalf("rescue: %+v, %v; want %+v", got, err, want)
	}
}

// cursors reads the saved rescue cursors: the batch that each slot's stands at, and how often the slots' rows were
// written.
func (b *bundle) cursors(t *testing.T) string {
	t.Helper()
	return one[string](t, b, `SELECT string_agg(coalesce(batch_rescue_cursor_batch_id::text, '-'), ' ' ORDER BY slot) FROM %s.claim_ring_slots`)
}

// slotRows is where the slots' rows stand and who wrote them: it changes with each UPDATE.
func (b *bundle) slotRows(t *testing.T) string {
	t.Helper()
	return one[string](t, b, `SELECT string_agg(ctid::text || xmin::text, ' ' ORDER BY slot) FROM %s.claim_ring_slots`)
}

// Only what is older than the bound, to the microsecond; an attempt of this very moment is not older than nothing.
func TestRescueOnlyWhatIsStale(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.claimNew(t, "q", 1)
	b.wantRescue(t, 0, 10, engine.RescueOutcome{})
	b.clock.advance(300 * time.Millisecond)
	b.claimNew(t, "q", 1)
	b.wantRescue(t, 300*time.Millisecond, 10, engine.RescueOutcome{})
	b.clock.advance(time.Microsecond)
	b.wantRescue(t, 500*time.Millisecond, 10, engine.RescueOutcome{})
	b.wantRescue(t, 300*time.Millisecond, 10, engine.RescueOutcome{Requeued: 1})
	b.wantRescue(t, 0, 10, engine.RescueOutcome{Requeued: 1})
	b.wantCounts(t, "q", engine.Counts{Available: 2})
}

// A rescued job comes back at the end of its lane, as the same job with its history; a late worker is told.
func TestRescuedJobComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := b.clock.now()
	lost := b.claimNew(t, "q", 1)[0]
	waiting := b.enqueue(t, "q", 1)
	b.clock.advance(time.Minute)
	b.wantRescue(t, time.Second, 10, engine.RescueOutcome{Requeued: 1})

	attempts := b.wantJobs(t, b.Engine, "q", waiting[0], lost.Receipt.JobID())
	again := attempts[1]
	if again.Receipt.RunLease() != 2 || again.Attempt != 2 || again.Kind != lost.Kind || string(again.Args) != string(lost.Args) ||
		again.Max != lost.Max || !again.CreatedAt.Equal(created) || again.Receipt == lost.Receipt {
		t.Errorf("%+v comes back as %+v", lost, again)
	}
	results, err := b.Complete(t.Context(), []engine.Receipt{lost.Receipt, again.Receipt})
	if err != nil || !engine.Stale(results[0].Err) || results[1].Err != nil {
		t.Errorf("the late worker and the new one: %+v, %v", results, err)
	}
	job, err := b.Job(t.Context(), lost.Receipt.JobID())
	if err != nil || job.State != engine.JobCompleted || job.RunLease != 2 || job.Attempt != 2 || len(job.Errors) != 1 ||
		job.Errors[0].Attempt != 1 || !job.Errors[0].At.Equal(b.clock.now()) || job.Errors[0].Error == "" {
		t.Errorf("%+v, %v", job, err)
	}
}

// When no attempt is left, the job fails; the history keeps the newest twenty entries.
func TestRescueOfTheLastAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const attempts = 23
	id, err := b.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", MaxAttempts: attempts})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= attempts; n++ {
		a := b.claim(t, "q", 1)[0]
		if a.Attempt != n || a.Receipt.RunLease() != int64(n) || a.Max != attempts {
			t.Fatalf("attempt %d: %+v", n, a)
		}
		b.clock.advance(time.Second)
		want := engine.RescueOutcome{Requeued: 1}
		if n == attempts {
			want = engine.RescueOutcome{Failed: 1}
		}
		b.wantRescue(t, 0, 10, want)
	}
	job, err := b.Job(t.Context(), id)
	if err != nil || job.State != engine.JobFailed || job.Attempt != attempts || len(job.Errors) != 20 {
		t.Fatalf("%+v, %v", job, err)
	}
	for i, e := range job.Errors {
		if e.Attempt != i+4 {
			t.Errorf("entry %d is of attempt %d", i, e.Attempt)
		}
	}
	b.wantCounts(t, "q", engine.Counts{Failed: 1})
	b.turn(t)
	b.wantCounts(t, "q", engine.Counts{PrunedFailed: 1})
}

// The budget bounds a pass, also within a batch and over slots; the next pass goes on.
func TestRescueBudget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.claimNew(t, "q", 5)
	b.claimNew(t, "q", 3)
	b.wantRotate(t, rings[1], engine.Rotated, 1)
	b.claimNew(t, "q", 4)
	b.clock.advance(time.Minute)
	for _, n := range []int{2, 4, 1, 3, 2, 0} { // of 12, the budget of the last call is larger than what is left
		b.wantRescue(t, time.Second, max(n, 1), engine.RescueOutcome{Requeued: n})
	}
	b.wantCounts(t, "q", engine.Counts{Available: 12})
}

// The saved cursor passes what is closed, stops before what is open, is written only when it moved, and goes round.
func TestRescueCursor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var batches [][]engine.Attempt
	for range 5 {
		batches = append(batches, b.claimNew(t, "q", 2))
		b.clock.advance(time.Second)
	}
	first := batches[0][0].Receipt.Batch()
	saved := func(want string) {
		t.Helper()
		if got := b.cursors(t); got != want {
			t.Fatalf("the cursors stand at %s, want %s", got, want)
		}
	}
	at := func(i int) string { return fmt.Sprintf("%d -", first+int64(i)) }
	saved("- -")

	rows := b.slotRows(t)
	b.wantRescue(t, time.Hour, 10, engine.RescueOutcome{})
	saved("- -")
	if b.slotRows(t) != rows {
		t.Error("a cursor that didn't move was written")
	}

	b.complete(t, batches[0])
	b.complete(t, batches[1][:1])
	b.complete(t, batches[2])
	b.wantRescue(t, 4500*time.Millisecond, 10, engine.RescueOutcome{}) // sees the first batch only
	saved(at(0))

	// Two batches are busy: the sweep goes on behind the first, the cursor doesn't.
	second, fourth := b.holdBatch(t, batches[1]), b.holdBatch(t, batches[3])
	rows = b.slotRows(t)
	b.wantRescue(t, 1500*time.Millisecond, 10, engine.RescueOutcome{Busy: 3})
	saved(at(0))
	if b.slotRows(t) != rows {
		t.Error("a cursor that didn't move was written")
	}
	second()
	b.wantRescue(t, 1500*time.Millisecond, 10, engine.RescueOutcome{Requeued: 1, Busy: 2})
	saved(at(2))
	fourth()
	b.wantRescue(t, 1500*time.Millisecond, 10, engine.RescueOutcome{Requeued: 2}) // all the way round

	// The clock goes back, as a server's may: what is claimed now stands before the cursor, and is found by going round.
	b.clock.advance(-time.Hour)
	late := b.claim(t, "q", 1)
	b.clock.advance(2 * time.Hour)
	b.wantRescue(t, 90*time.Minute, 10, engine.RescueOutcome{Requeued: 1})
	if results, err := b.Complete(t.Context(), receipts(late)); err != nil || !engine.Stale(results[0].Err) {
		t.Error(results, err)
	}
	b.wantRescue(t, time.Minute, 10, engine.RescueOutcome{Requeued: 2})

	// The next generation of the slot begins without one (hazard 9).
	b.complete(t, b.claim(t, "q", 5))
	b.wantRotate(t, rings[1], engine.Rotated, 1)
	b.wantPrune(t, rings[1], engine.Pruned, 0)
	saved("- -")
}

// holdBatch is a closer at work on a claim batch, until the function that it returns is called.
func (b *bundle) holdBatch(t *testing.T, attempts []engine.Attempt) (release func()) {
	t.Helper()
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, b.BatchKey(attempts[0].Receipt)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A completion at work on a batch is not waited for, nor closed over; the rest of the sweep goes on.
func TestRescuePassesOverBusyBatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	busy, lost := b.claimNew(t, "q", 2), b.claimNew(t, "q", 1)
	b.clock.advance(time.Minute)
	release := b.holdBatch(t, busy)
	e := b.open(t, impatient(t, 2))
	if got, err := e.RescueStale(t.Context(), time.Second, 10); err != nil || got != (engine.RescueOutcome{Requeued: 1, Busy: 2}) {
		t.Fatal(got, err)
	}
	release()
	b.complete(t, busy)
	if results, err := b.Complete(t.Context(), receipts(lost)); err != nil || !engine.Stale(results[0].Err) {
		t.Error(results, err)
	}
	b.wantRescue(t, time.Second, 10, engine.RescueOutcome{})
}

// A claim slot that another leader sweeps, or a prune works on, is left to it.
func TestRescuePassesOverBusySlots(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.claimNew(t, "q", 1)
	b.wantRotate(t, rings[1], engine.Rotated, 1)
	b.claimNew(t, "q", 1)
	b.clock.advance(time.Minute)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(t.Context(), b.sql(`SELECT FROM %s.claim_ring_slots WHERE slot = 0 FOR UPDATE`)); err != nil {
		t.Fatal(err)
	}
	e := b.open(t, impatient(t, 2))
	if got, err := e.RescueStale(t.Context(), time.Second, 10); err != nil || got != (engine.RescueOutcome{Requeued: 1}) {
		t.Fatal(got, err)
	}
}

// Leaders and late workers at once: each attempt ends once, each job is in one place. The leaders begin when something is
// completed, and sweep once more when the workers are done, who leave the last attempt to them: so both have closed some.
func TestTwoLeadersRescueBesideCompletions(t *testing.T) {
	t.Parallel()
	const n = 300
	b := setup(t)
	b.enqueue(t, "q", n)
	var attempts []engine.Attempt
	for range n / 10 {
		attempts = append(attempts, b.claim(t, "q", 10)...)
	}
	b.clock.advance(time.Minute)
	begun, done := make(chan struct{}), make(chan struct{})
	var completed, rescued atomic.Int64
	var leaders, workers sync.WaitGroup
	for l := range 3 {
		leader := b.open(t, b.pool)
		leaders.Go(func() {
			<-begun
			rescued.Add(sweepUntil(t, leader, done, 7+l))
		})
	}
	var first sync.Once
	for w := range 2 {
		workers.Go(func() {
			defer first.Do(func() { close(begun) }) // whatever went wrong
			for i := w; i < len(attempts)-1; i += 2 {
				r, err := b.Complete(t.Context(), receipts(attempts[i:i+1]))
				if err != nil {
					t.Error(err)
				} else if r[0].Err == nil {
					completed.Add(1)
					first.Do(func() { close(begun) })
				}
			}
		})
	}
	workers.Wait()
	close(done)
	leaders.Wait()
	closed := completed.Load() + rescued.Load()
	b.wantCounts(t, "q", engine.Counts{Available: rescued.Load(), Running: n - closed, Completed: completed.Load()})
	if completed.Load() == 0 || rescued.Load() == 0 {
		t.Fatalf("no race: %d completed, %d rescued", completed.Load(), rescued.Load())
	}
	for got := 1; got > 0; {
		out, err := b.RescueStale(t.Context(), time.Second, 100)
		if err != nil {
			t.Fatal(err)
		}
		got = out.Requeued
	}
	b.complete(t, b.claim(t, "q", n-int(completed.Load())))
	b.turn(t) // proves that nothing was closed twice
}

// sweepUntil sweeps at least 20 times, and once more after done. It returns how many attempts it closed.
func sweepUntil(t *testing.T, leader *engine.Engine, done <-chan struct{}, budget int) (closed int64) {
	for i, last := 0, false; !last; i++ {
		select {
		case <-done:
			last = i >= 20
		default:
		}
		out, err := leader.RescueStale(t.Context(), time.Second, budget)
		if err != nil {
			t.Error(err)
		}
		closed += int64(out.Requeued + out.Failed)
	}
	return closed
}

// One sweep looks at a bounded number of batches and goes on behind them in the next.
func TestRescueOfManyBatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 1100
	b.enqueue(t, "q", n)
	for range n {
		b.claim(t, "q", 1)
	}
	b.clock.advance(time.Minute)
	total := 0
	for range 3 {
		out, err := b.RescueStale(t.Context(), time.Second, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		total += out.Requeued
	}
	if total != n {
		t.Errorf("rescued %d of %d", total, n)
	}
}
