package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// A failed job runs again under its id, by each way to choose it, narrow and carried rows alike.
func TestRetryFailed(t *testing.T) {
	t.Parallel()
	for _, carried := range []bool{false, true} {
		b := setup(t)
		ctx := t.Context()
		if _, err := b.EnqueueMany(ctx, []engine.JobParams{
			{Queue: "q", Kind: "k", MaxAttempts: 1},
			{Queue: "q", Kind: "k", MaxAttempts: 5},
			{Queue: "q", Kind: "special", Args: []byte(`{"n": 7}`)},
			{Queue: "q", Kind: "k"},
		}); err != nil {
			t.Fatal(err)
		}
		attempts := b.claim(t, "q", 4)
		var ids []int64
		for _, a := range attempts {
			ids = append(ids, a.Receipt.JobID())
		}
		b.failAll(t, attempts)
		b.failAll(t, b.claimNew(t, "p", 1))
		if carried {
			if n := b.lap(t, time.Hour); n != 5 {
				t.Fatalf("%d rows were carried", n)
			}
		}
		retry := func(which engine.FailedJobs, limit int, want ...int64) engine.RetryFailedOutcome {
			t.Helper()
			out, err := b.RetryFailed(ctx, which, limit)
			if err != nil || !slices.Equal(out.Retried, want) || out.Matched != len(want) || (out.PrunedFailedCount != nil) != (which.Queue != "") {
				t.Fatalf("%+v: %+v, %v, want %v", which, out, err, want)
			}
			return out
		}
		retry(engine.FailedJobs{Kind: "special"}, 10, ids[2])
		retry(engine.FailedJobs{IDs: []int64{ids[3], ids[2], 999_999}}, 10, ids[3])
		retry(engine.FailedJobs{Queue: "q"}, 1, ids[0])
		if out := retry(engine.FailedJobs{Queue: "q"}, 10, ids[1]); *out.PrunedFailedCount != 0 {
			t.Errorf("%+v", out)
		}
		retry(engine.FailedJobs{Queue: "q"}, 10)
		retry(engine.FailedJobs{Queue: "unknown"}, 10)
		again := b.claim(t, "q", 4)
		for i, want := range []struct {
			id   int64
			max  int
			args string
		}{{ids[2], 25, `{"n": 7}`}, {ids[3], 25, `{}`}, {ids[0], 2, `{}`}, {ids[1], 5, `{}`}} {
			a := again[i]
			if a.Receipt.JobID() != want.id || a.Receipt.RunLease() != 2 || a.Attempt != 2 || a.Max != want.max || string(a.Args) != want.args {
				t.Errorf("handed out %+v, want %+v", a, want)
			}
		}
		if j := b.job(t, ids[0]); len(j.Errors) != 1 {
			t.Errorf("the error history is %+v", j.Errors)
		}
		b.complete(t, again)
	}
}

// What was carried past its retention is counted, and told to whoever asks for its queue.
func TestRetryFailedTellsWhatWasPruned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failAll(t, b.claimNew(t, "q", 2))
	b.lap(t, 0)
	out, err := b.RetryFailed(t.Context(), engine.FailedJobs{Queue: "q"}, 10)
	if err != nil || out.Matched != 0 || *out.PrunedFailedCount != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestRetryFailedValidates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	before := b.rowCounts(t)
	for _, which := range []engine.FailedJobs{{}, {Queue: "q", Kind: "k"}, {Kind: "k", IDs: []int64{1}}, {Queue: "\x00"}, {IDs: make([]int64, 10_001)}} {
		if _, err := b.RetryFailed(t.Context(), which, 10); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%d ids, queue %q: %v", len(which.IDs), which.Queue, err)
		}
	}
	for _, limit := range []int{0, -1, 10_001} {
		_, err := b.RetryFailed(t.Context(), engine.FailedJobs{Queue: "q"}, limit)
		wantError(t, err, engine.ErrInvalid, "limit")
	}
	b.wantUnchanged(t, before)
}
