package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// openWithDeadline is a process whose queue q has a deadline.
func (b *bundle) openWithDeadline(t *testing.T, pool *pgxpool.Pool, d time.Duration) *engine.Engine {
	t.Helper()
	cfg := smallRings(b.schema)
	cfg.Now = b.clock.now
	cfg.Queues = map[string]engine.QueueConfig{"q": {DeadlineDuration: d}}
	e, err := engine.Open(t.Context(), pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// mixedClaim claims four jobs at once: without a limit, with one of a minute, of an hour, and with a claim of its own.
func (b *bundle) mixedClaim(t *testing.T) []engine.Attempt {
	t.Helper()
	js := jobs("q", 4)
	js[1].TimeLimit, js[2].TimeLimit, js[3].OwnClaim = time.Minute, time.Hour, true
	if _, err := b.EnqueueMany(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	return b.claim(t, "q", 4)
}

// One claim hands out both shapes in the order of the lane; each job has its deadline, its queue's or its own, also a
// longer one.
func TestClaimOfBothShapes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Engine = b.openWithDeadline(t, b.pool, 10*time.Minute)
	for round, first := range []int{0, 4} { // the second time the process knows that the queue has both
		attempts := b.mixedClaim(t)
		for i, want := range []time.Duration{10 * time.Minute, time.Minute, time.Hour, 10 * time.Minute} {
			a := attempts[i]
			if a.Deadline == nil || !a.Deadline.Equal(b.clock.now().Add(want)) {
				t.Errorf("round %d: job %d has the deadline %v, want %s from now", round, i, a.Deadline, want)
			}
			if j, err := b.Job(t.Context(), a.Receipt.JobID()); err != nil || j.State != engine.JobRunning || j.DeadlineAt == nil || !j.DeadlineAt.Equal(*a.Deadline) {
				t.Errorf("round %d: job %d reads %+v, %v", round, i, j, err)
			}
		}
		if got := one[string](t, b, `SELECT (SELECT count(*) FROM %s.lease_claim_batches) || ' ' || (SELECT count(*) FROM %s.lease_claims)`); got != fmt.Sprintf("%d %d", round+1, 3*(round+1)) {
			t.Errorf("round %d: batches and row-local claims are %s", round, got)
		}
		b.wantCounts(t, "q", engine.Counts{Running: 4, Completed: int64(first)})
		b.complete(t, attempts)
		if results, err := b.Complete(t.Context(), receipts(attempts)); err != nil || !engine.Stale(results[0].Err) || !engine.Stale(results[1].Err) {
			t.Errorf("round %d: completed again: %v, %v", round, results, err)
		}
	}
	if got := one[string](t, b, `SELECT (SELECT sum(closed_count) FROM %s.lease_claim_closure_batches) || ' ' || (SELECT count(*) FROM %s.lease_claim_closures)`); got != "2 6" {
		t.Errorf("closures by shape are %s, want 2 in batches and 6 row-local", got)
	}
	b.wantAudit(t)
}

// A job keeps its own limit when a rescue gives it back.
func TestTimeLimitTravels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", TimeLimit: time.Minute}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a := b.claim(t, "q", 1)[0]
		if want := b.clock.now().Add(time.Minute); a.Deadline == nil || !a.Deadline.Equal(want) {
			t.Fatalf("deadline %v, want %s", a.Deadline, want)
		}
		b.clock.advance(time.Minute)
		if out, err := b.RescueDeadline(t.Context(), 10); err != nil || out != (engine.RescueOutcome{Requeued: 1}) {
			t.Fatal(out, err)
		}
	}
}

// A deadline ends the attempt at its very time, not before, in either shape; the job goes on, and the worker is told.
func TestRescueDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Engine = b.openWithDeadline(t, b.pool, time.Minute)
	attempts := b.mixedClaim(t)
	rescue := func(want engine.RescueOutcome) {
		t.Helper()
		if got, err := b.RescueDeadline(t.Context(), 10); err != nil || got != want {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	}
	b.clock.advance(time.Minute - time.Microsecond)
	rescue(engine.RescueOutcome{})
	b.clock.advance(time.Microsecond)
	rescue(engine.RescueOutcome{Requeued: 3})
	results, err := b.Complete(t.Context(), receipts(attempts))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if stale := i != 2; engine.Stale(r.Err) != stale {
			t.Errorf("attempt %d: %v", i, r.Err)
		}
	}
	if j, err := b.Job(t.Context(), attempts[0].Receipt.JobID()); err != nil || len(j.Errors) != 1 || j.Errors[0].Error != "the deadline has passed" {
		t.Errorf("%+v, %v", j, err)
	}
	rescue(engine.RescueOutcome{})
	b.wantAudit(t)
}

// Each sweep has a cursor of its own: one that can't get on delays none of the others.
func TestSweepsHaveTheirOwnCursors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Engine = b.openWithDeadline(t, b.pool, time.Minute)
	attempts := b.mixedClaim(t)
	b.clock.advance(2 * time.Hour)
	release := b.holdBatch(t, attempts[:1]) // the batch; its sweeps can't get on
	e := b.openWithDeadline(t, impatient(t, 2), time.Minute)
	if out, err := e.RescueDeadline(t.Context(), 10); err != nil || out != (engine.RescueOutcome{Requeued: 3, Busy: 1}) {
		t.Fatal(out, err)
	}
	if out, err := e.RescueStale(t.Context(), time.Second, 10); err != nil || out != (engine.RescueOutcome{Busy: 1}) {
		t.Fatal(out, err)
	}
	// The row-local cursors stand at the last claim, and at the last deadline, which is of the job with an hour.
	want := "- 1 - 1"
	const saved = `SELECT concat_ws(' ', coalesce(batch_rescue_cursor_batch_id::text, '-'),
		(SELECT count(*) FROM %s.lease_claims c WHERE (c.claimed_at, c.batch_id) >= (rescue_cursor_claimed_at, rescue_cursor_batch_id)),
		coalesce(batch_deadline_cursor_batch_id::text, '-'),
		(SELECT count(*) FROM %s.lease_claims c WHERE (c.deadline_at, c.batch_id) >= (deadline_cursor_deadline_at, deadline_cursor_batch_id)))
		FROM %s.claim_ring_slots WHERE slot = 0`
	if got := one[string](t, b, saved); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	release()
	if out, err := e.RescueStale(t.Context(), time.Second, 10); err != nil || out != (engine.RescueOutcome{Requeued: 1}) {
		t.Fatal(out, err)
	}
}

// The numbers of claim batches are given again where a commit was lost, and in another schema; (job, run lease) isn't. A
// receipt from there closes nothing, also where its batch and index are in use, and keeps none that is right from closing.
func TestReceiptOfAnotherLife(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		other := setup(t)
		other.enqueue(t, "q", 3) // so that the same batches have other jobs there
		other.claim(t, "q", 3)
		b.enqueue(t, "q", 1)
		b.claim(t, "q", 1)
		there, here := other.mixedClaim(t), b.mixedClaim(t)
		var forged, both []engine.Receipt
		for i := range there {
			forged = append(forged, there[i].Receipt)
			both = append(both, there[i].Receipt, here[i].Receipt)
		}
		b.wantClosed(t, c, forged, 0, 1, 2, 3)
		b.wantCounts(t, "q", engine.Counts{Running: 5})
		b.wantClosed(t, c, both, 0, 2, 4, 6)

		// Of one batch the first members are the same in both lives, and the others are not.
		b.enqueue(t, "q", 3)
		three := b.claim(t, "q", 3)
		b.wantClosed(t, c, []engine.Receipt{three[0].Receipt, engine.Forged(three[1].Receipt, there[0].Receipt.JobID()+9000), three[2].Receipt}, 1)
		b.wantClosed(t, c, receipts(three), 0, 2)
	})
}
