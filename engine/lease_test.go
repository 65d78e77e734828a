package engine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// park parks an attempt, which must be open and not parked.
func (b *bundle) park(t *testing.T, r engine.Receipt, w engine.Wait) engine.Token {
	t.Helper()
	p, err := b.Park(t.Context(), r, w)
	if err != nil || p.Delivered {
		t.Fatalf("park %s: %+v, %v", r, p, err)
	}
	return p.Token
}

// wantResume resumes by the token's text, as another process would.
func (b *bundle) wantResume(t *testing.T, token engine.Token, payload string, want engine.ResumeStatus) {
	t.Helper()
	read, err := engine.ParseToken(token.String())
	if err != nil || read != token {
		t.Fatalf("token %q: %+v, %v", token, read, err)
	}
	if got, err := b.Resume(t.Context(), read, json.RawMessage(payload)); err != nil || got != want {
		t.Fatalf("resume: %q, %v; want %q", got, err, want)
	}
}

// An attempt waits in both shapes, any number of times, is never stale meanwhile, and goes on as the same attempt: then it
// is its worker's again, and stale when nothing is heard of it (hazard 24).
func TestParkAndResume(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, own := range []bool{false, true} {
		job := jobs("q", 1)[0]
		job.OwnClaim = own
		id, err := b.Enqueue(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		a := b.wantJobs(t, b.Engine, "q", id)[0]
		token := b.park(t, a.Receipt, engine.Wait{Timeout: time.Hour})
		b.clock.advance(time.Hour / 2)
		b.wantRescue(t, time.Second, 10, engine.RescueOutcome{})
		j, err := b.Job(t.Context(), a.Receipt.JobID())
		if err != nil || j.State != engine.JobWaiting || j.TimeoutAt == nil || !j.TimeoutAt.Equal(b.clock.now().Add(time.Hour/2)) || j.ClaimedAt == nil {
			t.Fatalf("%+v, %v", j, err)
		}
		if _, err := b.RotateLeases(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.wantResume(t, token, `{"ok": true}`, engine.Resumed)
		b.wantResume(t, token, `{"ok": false}`, engine.ResumeRepeated)
		again := b.park(t, a.Receipt, engine.Wait{}) // in a younger slot than the first wait, without a timeout
		if p, err := b.Park(t.Context(), a.Receipt, engine.Wait{Token: again}); err != nil || p.Delivered {
			t.Errorf("the same park again: %+v, %v", p, err)
		}
		if _, err := b.Park(t.Context(), a.Receipt, engine.Wait{}); !errors.Is(err, engine.ErrWrongState) {
			t.Errorf("a second wait at once: %v", err)
		}
		b.wantAudit(t)
		b.wantResume(t, again, `7`, engine.Resumed)
		j, err = b.Job(t.Context(), a.Receipt.JobID())
		if err != nil || j.State != engine.JobRunning || string(j.Callback) != "7" || j.TimeoutAt != nil || j.RunLease != 1 {
			t.Errorf("%+v, %v", j, err)
		}
		if p, err := b.Park(t.Context(), a.Receipt, engine.Wait{Token: again}); err != nil || !p.Delivered || string(p.Payload) != "7" {
			t.Errorf("a park whose callback has come: %+v, %v", p, err)
		}
		b.clock.advance(time.Second)
		b.wantRescue(t, time.Second, 10, engine.RescueOutcome{}) // the callback was a sign of life
		b.clock.advance(time.Microsecond)
		b.wantRescue(t, time.Second, 10, engine.RescueOutcome{Requeued: 1})
		if _, err := b.Resume(t.Context(), again, nil); !engine.Stale(err) {
			t.Errorf("a token of an attempt that is over: %v", err)
		}
		b.complete(t, b.wantJobs(t, b.Engine, "q", id))
	}
	b.wantAudit(t)
}

// Whatever closes a parked attempt ends its wait and its token; a success after a wait is a row of its own, and history
// like any other. It makes no difference in which slot the lease stands (hazard 6).
func TestCloseParked(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		attempts := b.mixedClaim(t)
		r := receipts(attempts)
		tokens := []engine.Token{b.park(t, r[0], engine.Wait{}), b.park(t, r[1], engine.Wait{})}
		if out, err := b.RotateLeases(t.Context()); err != nil || out.Status != engine.Rotated {
			t.Fatal(out, err)
		}
		tokens = append(tokens, b.park(t, r[2], engine.Wait{Timeout: time.Minute}))
		if c, err := b.Counts(t.Context(), "q"); err != nil || c.Waiting != 3 || c.Running != 1 {
			t.Fatalf("%+v, %v", c, err)
		}
		if out, err := b.PruneLeases(t.Context()); err != nil || out.Status != engine.PruneSkippedActive {
			t.Fatal(out, err)
		}
		b.wantClosed(t, c, []engine.Receipt{r[2], r[0], r[3], r[1], r[0]}, 4)
		b.wantAudit(t)
		b.wantCounts(t, "q", c.count(4))
		for _, token := range tokens {
			if _, err := b.Resume(t.Context(), token, nil); !engine.Stale(err) {
				t.Errorf("a token outlives its attempt: %v", err)
			}
			if _, err := b.Park(t.Context(), token.Receipt(), engine.Wait{Token: token}); !engine.Stale(err) {
				t.Errorf("an attempt that is over was parked: %v", err)
			}
		}
		for _, table := range []string{"leases", "attempt_state"} {
			if n := one[int](t, b, `SELECT count(*) FROM %s.`+table); n != 0 {
				t.Errorf("%d rows of %s outlived their attempts", n, table)
			}
		}
		if out, err := b.PruneLeases(t.Context()); err != nil || out.Status != engine.Pruned {
			t.Fatal(out, err)
		}
		if n := one[int](t, b, `SELECT pg_relation_size('%s.leases_0')`); n != 0 {
			t.Errorf("the pruned slot still has %d bytes", n)
		}
		b.turn(t)
	})
}

// A callback that comes before its park is kept and delivered by it (hazard 33); it is no sign of life, and goes with its
// attempt.
func TestEarlyCallback(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, a := range b.mixedClaim(t) {
		first, second := a.Receipt.NewToken(), a.Receipt.Token([16]byte{1})
		b.wantResume(t, second, `"two"`, engine.ResumeKept)
		b.wantResume(t, first, `"one"`, engine.ResumeKept)
		b.wantResume(t, first, `"other"`, engine.ResumeRepeated)
		for _, w := range []struct {
			token engine.Token
			want  string
		}{{first, `"one"`}, {first, `"one"`}, {second, `"two"`}} {
			p, err := b.Park(t.Context(), a.Receipt, engine.Wait{Token: w.token})
			if err != nil || !p.Delivered || string(p.Payload) != w.want {
				t.Fatalf("%+v, %v; want %s", p, err, w.want)
			}
		}
		for i := range byte(16) {
			b.wantResume(t, a.Receipt.Token([16]byte{15: i + 1}), `null`, engine.ResumeKept)
		}
		if _, err := b.Resume(t.Context(), a.Receipt.NewToken(), nil); !errors.Is(err, engine.ErrWrongState) {
			t.Errorf("one more early callback than there is room for: %v", err)
		}
	}
	b.wantAudit(t)
	late := b.claimNew(t, "q", 1)[0]
	b.clock.advance(time.Minute)
	b.wantResume(t, late.Receipt.NewToken(), `1`, engine.ResumeKept)
	if out, err := b.RescueStale(t.Context(), time.Second, 1); err != nil || out.Requeued != 1 {
		t.Fatal(out, err)
	}
}

// A wait that took too long ends the attempt, in both shapes, as a rescue would; one that a callback ended doesn't. A
// deadline ends waits, too.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := receipts(b.mixedClaim(t))
	b.park(t, r[0], engine.Wait{Timeout: time.Second})
	b.park(t, r[1], engine.Wait{})
	token := b.park(t, r[2], engine.Wait{Timeout: time.Second})
	b.park(t, r[3], engine.Wait{Timeout: time.Second})
	b.wantResume(t, token, `1`, engine.Resumed)
	b.clock.advance(time.Second - time.Microsecond)
	for _, want := range []engine.RescueOutcome{{}, {Requeued: 2}, {}} {
		if out, err := b.CallbackTimeout(t.Context(), 10); err != nil || out != want {
			t.Fatalf("%+v, %v; want %+v", out, err, want)
		}
		b.clock.advance(time.Microsecond)
	}
	for _, closures := range []string{"lease_claim_closure_batches", "lease_claim_closures"} {
		if n := one[int](t, b, `SELECT count(*) FROM %s.`+closures+` WHERE outcome = 'callback_timeout'`); n != 1 {
			t.Errorf("%d rows of %s say callback_timeout", n, closures)
		}
	}
	b.clock.advance(time.Minute)
	if out, err := b.RescueDeadline(t.Context(), 10); err != nil || out != (engine.RescueOutcome{Requeued: 1}) {
		t.Fatal(out, err)
	}
	b.wantAudit(t)
	if c, err := b.Counts(t.Context(), "q"); err != nil || c.Waiting != 0 || c.Running != 1 || c.Available != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

// What can't be a token or a wait is refused before anything is written.
func TestWaitsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.claimNew(t, "q", 2)
	r, other := a[0].Receipt, a[1].Receipt
	before := b.rowCounts(t)
	for _, w := range []engine.Wait{{Timeout: -1}, {Token: other.NewToken()}} {
		if _, err := b.Park(t.Context(), r, w); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("park %+v: %v", w, err)
		}
	}
	if _, err := b.Resume(t.Context(), r.NewToken(), json.RawMessage(`{`)); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	if _, err := b.Resume(t.Context(), engine.Token{}, nil); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	good := r.NewToken().String()
	for _, text := range []string{"", "!", good[1:], good[:len(good)-2], good + "AAAA", "AQ"} {
		if token, err := engine.ParseToken(text); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%q was read as %+v, %v", text, token, err)
		}
	}
	if after := b.rowCounts(t); len(after) != len(before) || after["attempt_state"] != 0 {
		t.Errorf("%v became %v", before, after)
	}
}
