package engine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// A heartbeat moves the age of an attempt, in both shapes, and its deadline not; without one the attempt is given up.
func TestHeartbeatKeepsAnAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Engine = b.openWithDeadline(t, b.pool, 20*time.Minute)
	attempts := b.mixedClaim(t)
	beat := receipts(attempts)[:2] // one of each shape
	b.clock.advance(90 * time.Second)
	if results, err := b.Heartbeat(t.Context(), beat); err != nil || results[0].Err != nil || results[1].Err != nil {
		t.Fatal(results, err)
	}
	b.wantRescue(t, 90*time.Second, 10, engine.RescueOutcome{})
	b.clock.advance(time.Microsecond)
	b.wantRescue(t, 90*time.Second, 10, engine.RescueOutcome{Requeued: 2})
	if results, err := b.Heartbeat(t.Context(), receipts(attempts)); err != nil || results[0].Err != nil || results[1].Err != nil ||
		!engine.Stale(results[2].Err) || !engine.Stale(results[3].Err) {
		t.Fatal(results, err)
	}
	b.clock.advance(90*time.Second + time.Microsecond)
	b.wantRescue(t, 90*time.Second, 10, engine.RescueOutcome{Requeued: 2})
	b.wantAudit(t)
	if n := one[int](t, b, `SELECT count(*) FROM %s.attempt_state`); n != 0 {
		t.Errorf("%d states outlived their attempts", n)
	}
}

// A deadline asks for no heartbeat.
func TestDeadlineIgnoresHeartbeats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Engine = b.openWithDeadline(t, b.pool, time.Minute)
	a := b.claimNew(t, "q", 1)
	b.clock.advance(time.Minute)
	if _, err := b.Heartbeat(t.Context(), receipts(a)); err != nil {
		t.Fatal(err)
	}
	if out, err := b.RescueDeadline(t.Context(), 10); err != nil || out != (engine.RescueOutcome{Requeued: 1}) {
		t.Fatal(out, err)
	}
}

// Progress shows while the attempt is open, keeps what it isn't told anew, and goes with the attempt, however that ends.
func TestProgress(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		for _, a := range b.mixedClaim(t) {
			told := engine.ProgressReport{Percent: 10, Message: "begun\x00", Metadata: json.RawMessage(`{"page": 1}`)}
			if err := b.Progress(t.Context(), a.Receipt, told); err != nil {
				t.Fatal(err)
			}
			b.clock.advance(time.Second)
			if err := b.Progress(t.Context(), a.Receipt, engine.ProgressReport{Percent: 60}); err != nil {
				t.Fatal(err)
			}
			j, err := b.Job(t.Context(), a.Receipt.JobID())
			if err != nil || j.Percent == nil || *j.Percent != 60 || *j.Message != "begun\uFFFD" || string(j.Metadata) != `{"page": 1}` || !j.HeartbeatAt.Equal(b.clock.now()) {
				t.Errorf("%+v, %v", j, err)
			}
			b.wantClosed(t, c, []engine.Receipt{a.Receipt})
			if err := b.Progress(t.Context(), a.Receipt, told); !engine.Stale(err) {
				t.Errorf("progress of an attempt that is over: %v", err)
			}
			if j, err := b.Job(t.Context(), a.Receipt.JobID()); err != nil || j.Percent != nil || j.HeartbeatAt != nil {
				t.Errorf("%+v, %v", j, err)
			}
		}
		for _, bad := range []engine.ProgressReport{{Percent: -1}, {Percent: 101}, {Metadata: json.RawMessage(`{`)}} {
			if err := b.Progress(t.Context(), engine.Receipt{}, bad); !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

// While somebody closes an attempt, perhaps in a transaction that stays open, its heartbeat doesn't wait, nor does that of
// others in the same call.
func TestHeartbeatWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	closing, alive := b.claimNew(t, "q", 1), b.claimNew(t, "q", 1)
	release := b.holdBatch(t, closing)
	e := b.open(t, impatient(t, 2))
	results, err := e.Heartbeat(t.Context(), []engine.Receipt{closing[0].Receipt, alive[0].Receipt})
	if err != nil || !errors.Is(results[0].Err, engine.ErrClosing) || !engine.SafeToRetry(results[0].Err) || results[1].Err != nil {
		t.Fatal(results, err)
	}
	release()
	if results, err := e.Heartbeat(t.Context(), receipts(closing)); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
}
