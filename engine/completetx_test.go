package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// callers is a claim of n jobs of a kind that is completed in callers' transactions: each has a claim of its own.
func (b *bundle) callers(t *testing.T, n int) []engine.Attempt {
	t.Helper()
	js := jobs("q", n)
	for i := range js {
		js[i].OwnClaim = true
	}
	if _, err := b.EnqueueMany(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	return b.claim(t, "q", n)
}

// completeTx completes the attempts in the transaction, in which all of them must be open.
func (b *bundle) completeTx(t *testing.T, tx pgx.Tx, attempts ...engine.Attempt) {
	t.Helper()
	results, err := b.CompleteTx(t.Context(), tx, receipts(attempts)...)
	if err != nil || len(results) != len(attempts) {
		t.Fatal(results, err)
	}
	for i, r := range results {
		if r.Err != nil || r.State != engine.JobCompleted || r.Receipt != attempts[i].Receipt {
			t.Fatalf("attempt %s: %+v", attempts[i].Receipt, r)
		}
	}
}

// wantStale wants the attempts over.
func (b *bundle) wantStale(t *testing.T, attempts ...engine.Attempt) {
	t.Helper()
	results, err := b.Complete(t.Context(), receipts(attempts))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if !engine.Stale(r.Err) {
			t.Errorf("attempt %s isn't over: %v", r.Receipt, r.Err)
		}
	}
}

// The work and its completion are one: either both are there, or neither. Until then everybody else sees the job run.
func TestCompleteTx(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		for _, own := range []bool{true, false} {
			b := setup(t)
			b.exec(t, `CREATE TABLE %s.work (done text)`)
			b.enqueue(t, "q", 2)
			attempts := b.claim(t, "q", 2)
			if own {
				attempts = b.callers(t, 2)
			}
			running := int64(2)
			if own {
				running = 4
			}
			tx := begin(t, b.pool, pgx.ReadCommitted)
			if _, err := tx.Exec(t.Context(), b.sql(`INSERT INTO %s.work VALUES ('order 1')`)); err != nil {
				t.Fatal(err)
			}
			b.completeTx(t, tx, attempts...)
			if again, err := b.CompleteTx(t.Context(), tx, attempts[0].Receipt); err != nil || !engine.Stale(again[0].Err) {
				t.Error(again, err)
			}
			b.wantCounts(t, "q", engine.Counts{Running: running})
			if j := b.job(t, attempts[0].Receipt.JobID()); j.State != engine.JobRunning {
				t.Errorf("others see the job %s", j.State)
			}
			if !commit {
				if err := tx.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
				b.wantCounts(t, "q", engine.Counts{Running: running})
				b.complete(t, attempts)
				b.wantAudit(t)
				continue
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.wantCounts(t, "q", engine.Counts{Running: running - 2, Completed: 2})
			b.wantStale(t, attempts...)
			if n := one[int](t, b, `SELECT count(*) FROM %s.work`); n != 1 {
				t.Errorf("%d rows of work", n)
			}
			b.wantAudit(t)
		}
	}
}

// A transaction that stays open holds up nobody but those who close its own attempts (P5): the neighbours that were handed
// out by the same call complete, fail, are retried, parked and told of, and their sweeps go on; the rest is claimed. Nothing
// here waits: whatever did for a second would be an error.
func TestCompleteTxDelaysOnlyItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 2)
	plain := b.claim(t, "q", 2)
	attempts := b.callers(t, 8)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	b.completeTx(t, tx, attempts[0])
	b.clock.advance(time.Minute)

	ctx := t.Context()
	hasty := &bundle{Engine: b.open(t, impatient(t, 2)), pool: b.pool, schema: b.schema, clock: b.clock}
	hasty.complete(t, plain)
	hasty.complete(t, attempts[1:3])
	for what, closes := range map[string]func() ([]engine.Result, error){
		"fail": func() ([]engine.Result, error) {
			return hasty.Fail(ctx, []engine.Failure{{Receipt: attempts[3].Receipt}})
		},
		"retry": func() ([]engine.Result, error) {
			return hasty.Retry(ctx, []engine.Retrial{{Receipt: attempts[4].Receipt}})
		},
		"heartbeat": func() ([]engine.Result, error) { return hasty.Heartbeat(ctx, []engine.Receipt{attempts[5].Receipt}) },
	} {
		if results, err := closes(); err != nil || results[0].Err != nil {
			t.Errorf("%s: %v, %v", what, results, err)
		}
	}
	hasty.park(t, attempts[6].Receipt, engine.Wait{})
	other := begin(t, b.pool, pgx.ReadCommitted)
	hasty.completeTx(t, other, attempts[5])
	b.clock.advance(time.Hour)
	// Two are being completed, one waits, four are over.
	if out, err := hasty.RescueStale(ctx, time.Minute, 10); err != nil || out != (engine.RescueOutcome{Requeued: 1, Busy: 2}) {
		t.Errorf("%+v, %v", out, err)
	}
	if results, err := hasty.Heartbeat(ctx, []engine.Receipt{attempts[0].Receipt}); err != nil || !errors.Is(results[0].Err, engine.ErrClosing) {
		t.Errorf("%+v, %v", results, err)
	}
	hasty.enqueue(t, "q", 1)
	hasty.complete(t, hasty.claim(t, "q", 2)) // with the one that was given back
	for _, open := range []pgx.Tx{tx, other} {
		if err := open.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	b.wantStale(t, attempts[0], attempts[5])
	b.wantAudit(t)
}

// Where the attempts of a call share a claim, a completion in one's own transaction holds the others up until it ends: that is
// what OwnClaim is for. Sweeps don't wait even there.
func TestCompleteTxOfASharedClaim(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 3)
	attempts := b.claim(t, "q", 3)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	b.completeTx(t, tx, attempts[0])
	b.clock.advance(time.Hour)

	hasty := b.open(t, impatient(t, 2))
	if _, err := hasty.Complete(t.Context(), receipts(attempts[1:2])); !engine.SafeToRetry(err) {
		t.Errorf("a neighbour: %v", err)
	}
	if out, err := hasty.RescueStale(t.Context(), time.Minute, 10); err != nil || out != (engine.RescueOutcome{Busy: 3}) {
		t.Errorf("%+v, %v", out, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.complete(t, attempts[1:])
	b.wantAudit(t)
}

// What was over before is called stale and holds up nobody: the keys and locks of claims of which nothing was closed are given
// back at once, in a call that closes others.
func TestCompleteTxOfStaleAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 2)
	shared := b.claim(t, "q", 2)
	b.complete(t, shared[:1])
	attempts := b.callers(t, 2)
	b.complete(t, attempts[:1])
	tx := begin(t, b.pool, pgx.ReadCommitted)
	results, err := b.CompleteTx(t.Context(), tx, shared[0].Receipt, attempts[0].Receipt, attempts[1].Receipt, attempts[1].Receipt)
	if err != nil || len(results) != 4 {
		t.Fatal(results, err)
	}
	for i, stale := range []bool{true, true, false, true} { // a second mention finds it over
		if engine.Stale(results[i].Err) != stale {
			t.Errorf("receipt %d: %v", i, results[i].Err)
		}
	}
	const held = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = $1`
	if n := one[int](t, b, held, tx.Conn().PgConn().PID()); n != 1 {
		t.Errorf("%d keys are held for one attempt", n)
	}
	hasty := &bundle{Engine: b.open(t, impatient(t, 2)), pool: b.pool}
	hasty.complete(t, shared[1:])
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantStale(t, append(attempts, shared...)...)
	b.wantAudit(t)
}

// An old snapshot can't see who closed an attempt. Nothing is written, and the transaction can be used.
func TestCompleteTxInASnapshot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	attempts := b.callers(t, 1)
	before := b.rowCounts(t)
	for _, level := range snapshotLevels {
		tx := begin(t, b.pool, level)
		_, err := b.CompleteTx(t.Context(), tx, attempts[0].Receipt)
		wantError(t, err, engine.ErrIsolation, string(level))
		if engine.SafeToRetry(err) || engine.Stale(err) || engine.Ambiguous(err) {
			t.Errorf("%v is none of these", err)
		}
		if _, err := tx.Exec(t.Context(), `SELECT 1`); err != nil {
			t.Errorf("after ErrIsolation: %v", err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
	b.wantUnchanged(t, before)
	tx := begin(t, b.pool, pgx.ReadUncommitted) // which is READ COMMITTED to the server
	b.completeTx(t, tx, attempts...)
	_, err := b.CompleteTx(t.Context(), tx, engine.Receipt{})
	wantError(t, err, engine.ErrInvalid)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantStale(t, attempts...)
}

// The transaction goes on with the caller's settings, not with those that a completion needs (hazard 15), also those of
// a caller who has his own for this transaction alone.
func TestCompleteTxLeavesSettingsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	attempts := b.callers(t, 1)
	b.enqueue(t, "q", 2)
	plain := b.claim(t, "q", 2)
	b.complete(t, plain[:1])
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(t.Context(), `SET LOCAL enable_mergejoin = off`); err != nil {
		t.Fatal(err)
	}
	settings := func() string {
		var all string
		if err := tx.QueryRow(t.Context(), `SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings`).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := settings()
	b.completeTx(t, tx, attempts...)
	if _, err := b.CompleteTx(t.Context(), tx, plain[0].Receipt); err != nil { // which closes nothing
		t.Fatal(err)
	}
	if after := settings(); after != before {
		was := strings.Fields(before)
		for i, s := range strings.Fields(after) {
			if i < len(was) && s != was[i] {
				t.Errorf("%s, was %s", s, was[i])
			}
		}
	}
}

// The slots of what is being completed are kept, by those who look and by those who wait for nothing, and go when it is over.
// A lease and a state end with their attempt, and with its transaction.
func TestPrunesBesideCompleteTx(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		b := setup(t)
		attempts := b.callers(t, 2)
		if _, err := b.Heartbeat(t.Context(), receipts(attempts)); err != nil {
			t.Fatal(err)
		}
		b.park(t, attempts[1].Receipt, engine.Wait{Timeout: time.Minute})
		tx := begin(t, b.pool, pgx.ReadCommitted)
		b.completeTx(t, tx, attempts...)
		b.wantRotate(t, rings[0], engine.Rotated, 1)
		b.wantRotate(t, rings[1], engine.Rotated, 1)
		if out, err := b.RotateLeases(t.Context()); err != nil || out.Status != engine.Rotated {
			t.Fatal(out, err)
		}
		b.clock.advance(time.Hour)
		for what, ask := range map[string]func(context.Context) (engine.PruneOutcome, error){
			"queue":  func(ctx context.Context) (engine.PruneOutcome, error) { return b.PruneQueue(ctx, 0) },
			"claims": b.PruneClaims, "leases": b.PruneLeases,
		} {
			if out, err := ask(t.Context()); err != nil || out.Status != engine.PruneSkippedActive {
				t.Errorf("%s: %+v, %v", what, out, err)
			}
		}
		for what, sweep := range map[string]func(context.Context, int) (engine.RescueOutcome, error){
			"timeout": b.CallbackTimeout, "deadline": b.RescueDeadline,
		} {
			if out, err := sweep(t.Context(), 10); err != nil || out.Requeued > 0 || out.Failed > 0 {
				t.Errorf("%s: %+v, %v", what, out, err)
			}
		}
		if commit {
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.wantStale(t, attempts...)
		} else {
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if j := b.job(t, attempts[1].Receipt.JobID()); j.State != engine.JobWaiting {
				t.Errorf("the wait is %s", j.State)
			}
			b.complete(t, attempts)
		}
		b.wantPrune(t, rings[0], engine.Pruned, 0)
		b.wantPrune(t, rings[1], engine.Pruned, 0)
		if out, err := b.PruneLeases(t.Context()); err != nil || out.Status != engine.Pruned {
			t.Errorf("%+v, %v", out, err)
		}
		b.wantAudit(t)
	}
}

// The answer of a caller's commit may be lost like any other's, and it is the caller's commit: Settle knows nothing of it.
// The attempt tells: to complete it once more is safe, and finds it over exactly when the transaction committed.
func TestCompleteTxOfALostCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	attempts := b.callers(t, 2)
	pool := connect(t, 2, nil)
	tx := begin(t, pool, pgx.ReadCommitted)
	b.completeTx(t, tx, attempts[0])
	b.exec(t, `SELECT pg_terminate_backend($1)`, tx.Conn().PgConn().PID())
	err := tx.Commit(t.Context())
	if err == nil {
		t.Fatal("the commit of a lost connection succeeds")
	}
	if _, err := b.Settle(t.Context(), err); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("Settle of another's commit: %v", err)
	}
	again := begin(t, pool, pgx.ReadCommitted)
	b.completeTx(t, again, attempts...)
	if err := again.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	third := begin(t, pool, pgx.ReadCommitted)
	results, err := b.CompleteTx(t.Context(), third, receipts(attempts)...)
	if err != nil || !engine.Stale(results[0].Err) || !engine.Stale(results[1].Err) {
		t.Errorf("%v, %v", results, err)
	}
	b.wantCounts(t, "q", engine.Counts{Completed: 2})
}

// Two callers that complete attempts of the same two claims crosswise deadlock, as the documentation says: the server ends
// one, which may begin anew.
func TestCompleteTxCrosswise(t *testing.T) {
	t.Parallel()
	b := setup(t)
	attempts := b.callers(t, 2)
	first, second := begin(t, b.pool, pgx.ReadCommitted), begin(t, b.pool, pgx.ReadCommitted)
	b.completeTx(t, first, attempts[0])
	b.completeTx(t, second, attempts[1])
	done := make(chan error, 1)
	go func() {
		_, err := b.CompleteTx(t.Context(), first, attempts[1].Receipt)
		done <- errors.Join(err, first.Rollback(t.Context()))
	}()
	b.waitFor(t, `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)`, first.Conn().PgConn().PID())
	_, err := b.CompleteTx(t.Context(), second, attempts[0].Receipt)
	rollback := second.Rollback(t.Context())
	other := <-done
	if err == nil && other == nil || err != nil && !engine.SafeToRetry(err) || other != nil && !engine.SafeToRetry(other) || rollback != nil {
		t.Errorf("%v; %v; %v", err, other, rollback)
	}
	b.complete(t, attempts)
}

// A transaction that completes a job may enqueue its successor under the same key, since to it the job is over. To all others
// the job has the key until the commit, and a rollback leaves it with it.
func TestCompleteTxLetsGoOfItsKey(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		b := setup(t)
		ctx := t.Context()
		job := engine.JobParams{Queue: "q", Kind: "k", OwnClaim: true, Unique: &engine.Unique{Queue: true}}
		id := b.newUniqueJob(t, job)
		attempts := b.claim(t, "q", 1)
		tx := begin(t, b.pool, pgx.ReadCommitted)
		b.completeTx(t, tx, attempts...)
		b.wantUnique(t, job, engine.Enqueued{ID: id, Existing: true})
		next, err := b.EnqueueUniqueTx(ctx, tx, job)
		if err != nil || next[0].Existing {
			t.Fatal(next, err)
		}
		want := engine.Enqueued{ID: next[0].ID, Existing: true}
		if commit {
			err = tx.Commit(ctx)
		} else {
			want.ID = id
			err = tx.Rollback(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		b.wantUnique(t, job, want)
		b.wantAudit(t)
	}
}
