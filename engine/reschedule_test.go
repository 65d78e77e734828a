package engine_test

import (
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// again retries the attempts with one delay and wants all to go to a state.
func (b *bundle) again(t *testing.T, attempts []engine.Attempt, after time.Duration, want engine.JobState) {
	t.Helper()
	var retrials []engine.Retrial
	for _, a := range attempts {
		retrials = append(retrials, engine.Retrial{Receipt: a.Receipt, Message: "no", After: after})
	}
	results, err := b.Retry(t.Context(), retrials)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil || r.State != want {
			t.Fatalf("retry of %s: %v, %s; want %s", r.Receipt, r.Err, r.State, want)
		}
	}
}

// The job comes back when its time has come, with its body, its errors and the next attempt's number.
func TestRetryComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id, err := b.Enqueue(ctx, engine.JobParams{Queue: "q", Kind: "mail", Args: []byte(`{"to": "x"}`), Priority: 3, MaxAttempts: 3})
	if err != nil {
		t.Fatal(err)
	}
	first := b.claim(t, "q", 1)
	b.again(t, first, time.Minute, engine.JobRetryable)
	b.wantCounts(t, "q", engine.Counts{Retryable: 1})
	j, err := b.Job(ctx, id)
	if err != nil || j.State != engine.JobRetryable || j.Attempt != 1 || j.RunLease != 1 || len(j.Errors) != 1 || !j.RunAt.Equal(b.clock.now().Add(time.Minute)) {
		t.Fatalf("got %+v, %v", j, err)
	}
	b.clock.advance(time.Minute)
	if n, err := b.Promote(ctx, 10); err != nil || n != 1 {
		t.Fatalf("promoted %d, %v", n, err)
	}
	a := b.claim(t, "q", 1)[0]
	if a.Receipt.JobID() != id || a.Receipt.RunLease() != 2 || a.Attempt != 2 || a.Max != 3 || a.Kind != "mail" || string(a.Args) != `{"to": "x"}` || a.Priority != 3 {
		t.Errorf("came back as %+v", a)
	}
	// The old attempt is over for good (P3).
	results, err := b.Retry(ctx, []engine.Retrial{{Receipt: first[0].Receipt}})
	if err != nil || !engine.Stale(results[0].Err) || results[0].State != "" {
		t.Errorf("the superseded attempt: %+v, %v", results, err)
	}
}

// max_attempts stands over every wish, also in a batch where some jobs have attempts left (hazard 29). The closures of
// the batch are of two outcomes and meet nowhere.
func TestRetryRespectsMaxAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	batch := jobs("q", 4)
	for i := range batch {
		batch[i].MaxAttempts = 1 + i%2
	}
	if _, err := b.EnqueueMany(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	var retrials []engine.Retrial
	for _, a := range b.claim(t, "q", 4) {
		retrials = append(retrials, engine.Retrial{Receipt: a.Receipt, Message: "no", After: time.Hour})
	}
	results, err := b.Retry(t.Context(), retrials)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		want := []engine.JobState{engine.JobFailed, engine.JobRetryable}[i%2]
		if r.Err != nil || r.State != want {
			t.Errorf("place %d: %s, %v; want %s", i, r.State, r.Err, want)
		}
	}
	b.wantCounts(t, "q", engine.Counts{Retryable: 2, Failed: 2})
	if n := one[int64](t, b, `SELECT count(*) FROM %s.lease_claim_closure_batches WHERE outcome IN ('failed', 'retried') AND closed_count = 2`); n != 2 {
		t.Errorf("%d closures of two attempts, want 2", n)
	}
}

// A second after the first try, then twice as long, an hour at most, however many tries there were.
func TestRetryBackoff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id, err := b.Enqueue(ctx, engine.JobParams{Queue: "q", Kind: "k", MaxAttempts: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	for try, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 12: 2048 * time.Second, 13: time.Hour, 31: time.Hour, 32: time.Hour, 63: time.Hour,
		64: time.Hour, 999_999: time.Hour,
	} {
		b.exec(t, `UPDATE %s.ready_entries SET attempt = $1`, try-1)
		b.exec(t, `UPDATE %s.deferred_jobs SET attempt = $1`, try-1)
		b.clock.advance(time.Hour)
		if _, err := b.Promote(ctx, 10); err != nil {
			t.Fatal(err)
		}
		b.again(t, b.claim(t, "q", 1), 0, engine.JobRetryable)
		if j, err := b.Job(ctx, id); err != nil || j.RunAt.Sub(b.clock.now()) != want {
			t.Errorf("after try %d: waits until %v (%v) from %v, want %s", try, j.RunAt, err, b.clock.now(), want)
		}
	}
}

// The first mention of a receipt counts; messages that can't be stored are made fit, and history is bounded.
func TestRetryMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id, err := b.Enqueue(ctx, engine.JobParams{Queue: "q", Kind: "k", MaxAttempts: 30})
	if err != nil {
		t.Fatal(err)
	}
	for range 22 {
		r := b.claim(t, "q", 1)[0].Receipt
		results, err := b.Retry(ctx, []engine.Retrial{{Receipt: r, Message: "a\x00b\xff", After: time.Nanosecond}, {Receipt: r, Message: "second", After: time.Hour}})
		if err != nil || results[0].Err != nil || !engine.Stale(results[1].Err) {
			t.Fatalf("%+v, %v", results, err)
		}
		b.clock.advance(time.Microsecond)
		if n, err := b.Promote(ctx, 1); err != nil || n != 1 {
			t.Fatalf("promoted %d, %v", n, err)
		}
	}
	j, err := b.Job(ctx, id)
	if err != nil || len(j.Errors) != 20 || j.Errors[0].Attempt != 3 || j.Errors[19].Attempt != 22 || j.Errors[19].Error != "a\uFFFDb\uFFFD" {
		t.Errorf("%+v, %v", j.Errors, err)
	}
}

// A snoozed job has as many tries left as before, and a run lease that nobody had (hazard 29).
func TestSnoozeGivesTheAttemptBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	if _, err := b.Enqueue(ctx, engine.JobParams{Queue: "q", Kind: "k", MaxAttempts: 1}); err != nil {
		t.Fatal(err)
	}
	for lease := range int64(30) {
		a := b.claim(t, "q", 1)[0]
		if a.Attempt != 1 || a.Receipt.RunLease() != lease+1 {
			t.Fatalf("snooze %d: came back as %+v", lease, a)
		}
		results, err := b.Snooze(ctx, []engine.Snoozing{{Receipt: a.Receipt, For: time.Minute}, {Receipt: a.Receipt}})
		if err != nil || results[0].Err != nil || results[0].State != engine.JobScheduled || !engine.Stale(results[1].Err) {
			t.Fatalf("%+v, %v", results, err)
		}
		b.wantCounts(t, "q", engine.Counts{Scheduled: 1})
		b.clock.advance(time.Minute)
		if n, err := b.Promote(ctx, 1); err != nil || n != 1 {
			t.Fatalf("promoted %d, %v", n, err)
		}
	}
}

// Delays are checked before anything is written, for every attempt of the call.
func TestPutOffBounds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 2)
	attempts := receipts(b.claim(t, "q", 2))
	before := b.rowCounts(t)
	for _, d := range []time.Duration{-1, 1<<63 - 1} {
		_, err := b.Retry(t.Context(), []engine.Retrial{{Receipt: attempts[0]}, {Receipt: attempts[1], After: d}})
		wantError(t, err, engine.ErrInvalid, "After")
		_, err = b.Snooze(t.Context(), []engine.Snoozing{{Receipt: attempts[0]}, {Receipt: attempts[1], For: d}})
		wantError(t, err, engine.ErrInvalid, "For")
	}
	b.wantUnchanged(t, before)
}

// A batch that is asked for in two rounds, since a receipt of another attempt stands beside the right one, is closed once, and
// the wrong one is told that it is stale.
func TestRetryOfABatchInRounds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	batch := jobs("q", 2)
	batch[0].MaxAttempts, batch[1].MaxAttempts = 1, 1
	if _, err := b.EnqueueMany(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	a := receipts(b.claim(t, "q", 2))
	results, err := b.Retry(t.Context(), []engine.Retrial{{Receipt: engine.Forged(a[0], a[1].JobID())}, {Receipt: a[1]}, {Receipt: a[0]}})
	if err != nil || !engine.Stale(results[0].Err) || results[1].State != engine.JobFailed || results[2].State != engine.JobFailed {
		t.Errorf("%+v, %v", results, err)
	}
	b.wantCounts(t, "q", engine.Counts{Failed: 2})
	b.wantAudit(t)
}
