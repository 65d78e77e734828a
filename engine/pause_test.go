package engine_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// A paused queue hands nothing out, to any process, whatever that process remembers; everything else goes on.
func TestPauseQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	other := b.open(t, b.pool)
	b.enqueue(t, "q", 3)
	b.enqueue(t, "other", 1)
	attempts := b.claim(t, "q", 1)
	paused := b.clock.now()
	for range 2 { // the second time changes nothing, not even since when
		if err := b.PauseQueue(ctx, "q"); err != nil {
			t.Fatal(err)
		}
		b.clock.advance(time.Minute)
	}
	for _, e := range []*engine.Engine{b.Engine, other} {
		if got, err := e.Claim(ctx, "q", 10); err != nil || len(got) != 0 {
			t.Fatalf("%d jobs were handed out: %v", len(got), err)
		}
	}
	b.claim(t, "other", 1)
	b.complete(t, attempts)
	b.enqueue(t, "q", 1)
	states, err := b.Queues(ctx, "", 10)
	if err != nil || len(states) != 2 || states[0].Queue != "other" || states[0].PausedAt != nil || states[1].PausedAt == nil || !states[1].PausedAt.Equal(paused) {
		t.Errorf("the queues are %+v, %v", states, err)
	}
	if states, err := b.Queues(ctx, "other", 1); err != nil || len(states) != 1 || states[0].Queue != "q" {
		t.Errorf("after the first one: %+v, %v", states, err)
	}
	if err := other.ResumeQueue(ctx, "q"); err != nil {
		t.Fatal(err)
	}
	b.claim(t, "q", 3)
}

// A pause waits for the claims that are under way: after it nothing is handed out any more.
func TestPauseWaitsForClaims(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 1)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, b.LaneKey("q", 2)); err != nil {
		t.Fatal(err)
	}
	if err := b.open(t, impatient(t, 2)).PauseQueue(t.Context(), "q"); !engine.SafeToRetry(err) {
		t.Errorf("beside a claim: %v", err)
	}
}

func TestPauseQueueRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantError(t, b.PauseQueue(t.Context(), ""), engine.ErrInvalid, "queue")
	wantError(t, b.ResumeQueue(t.Context(), "\x00"), engine.ErrInvalid, "queue")
	if _, err := b.Queues(t.Context(), "", 0); err == nil {
		t.Error("a limit of 0 is accepted")
	}
}
