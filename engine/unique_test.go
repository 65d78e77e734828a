package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// once is a unique job of kind k; change changes it.
func once(change ...func(*engine.JobParams)) engine.JobParams {
	j := engine.JobParams{Queue: "q", Kind: "k", Unique: &engine.Unique{}}
	for _, c := range change {
		c(&j)
	}
	return j
}

// wantUnique enqueues and compares which job answers, and whether it was there already.
func (b *bundle) wantUnique(t *testing.T, j engine.JobParams, want engine.Enqueued) {
	t.Helper()
	got, err := b.EnqueueUnique(t.Context(), []engine.JobParams{j})
	if err != nil {
		t.Fatal(err)
	}
	if want.ID == 0 {
		want.ID = got[0].ID
	}
	if got[0] != want {
		t.Fatalf("got %+v, want %+v", got[0], want)
	}
}

// newUniqueJob enqueues a job that must be new.
func (b *bundle) newUniqueJob(t *testing.T, j engine.JobParams) int64 {
	t.Helper()
	got, err := b.EnqueueUnique(t.Context(), []engine.JobParams{j})
	if err != nil || got[0].Existing {
		t.Fatal(got, err)
	}
	return got[0].ID
}

// A job holds its key while it is alive, through every move, and gives it up at its end, however it ends.
func TestUniqueWhileAlive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := b.newUniqueJob(t, once())
	held := func() { t.Helper(); b.wantUnique(t, once(), engine.Enqueued{ID: id, Existing: true}) }
	held()
	b.claim(t, "q", 1)
	held()
	b.clock.advance(2 * time.Minute)
	if out, err := b.RescueStale(ctx, time.Minute, 10); err != nil || out.Requeued != 1 {
		t.Fatal(out, err)
	}
	held()
	b.complete(t, b.claim(t, "q", 1))
	again := b.newUniqueJob(t, once())
	if again == id {
		t.Fatal("the id was given twice")
	}
	failed := b.claim(t, "q", 1)
	if results, err := b.Fail(ctx, []engine.Failure{{Receipt: failed[0].Receipt, Message: "no"}}); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	later := b.newUniqueJob(t, once(func(j *engine.JobParams) { j.RunAt = b.clock.now().Add(time.Hour) }))
	b.wantUnique(t, once(), engine.Enqueued{ID: later, Existing: true})
	b.clock.advance(2 * time.Hour)
	if n, err := b.Promote(ctx, 10); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	b.wantUnique(t, once(), engine.Enqueued{ID: later, Existing: true})
	b.wantAudit(t)
}

// A key that is held in a terminal state is held until the history is pruned.
func TestUniqueInTerminalStates(t *testing.T) {
	t.Parallel()
	for _, state := range []engine.JobState{engine.JobCompleted, engine.JobFailed} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			j := once(func(j *engine.JobParams) { j.Unique.HeldIn = []engine.JobState{state} })
			id := b.newUniqueJob(t, j)
			attempts := b.claim(t, "q", 1)
			if state == engine.JobCompleted {
				b.complete(t, attempts)
			} else if results, err := b.Fail(t.Context(), []engine.Failure{{Receipt: attempts[0].Receipt, Message: "no"}}); err != nil || results[0].Err != nil {
				t.Fatal(results, err)
			}
			b.wantUnique(t, j, engine.Enqueued{ID: id, Existing: true})
			b.turn(t)
			b.newUniqueJob(t, j)
		})
	}
}

// Jobs of one call keep their keys each in its own way.
func TestUniqueHeldInOneCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var batch []engine.JobParams
	for _, kind := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		j := once(func(j *engine.JobParams) { j.Kind = kind })
		if kind < "e" {
			j.Unique.HeldIn = []engine.JobState{engine.JobCompleted}
		}
		batch = append(batch, j)
	}
	if _, err := b.EnqueueUnique(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	b.complete(t, b.claim(t, "q", len(batch)))
	got, err := b.EnqueueUnique(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range batch {
		if got[i].Existing != (j.Kind < "e") {
			t.Errorf("kind %s: %+v", j.Kind, got[i])
		}
	}
}

// What is part of the key, and what isn't.
func TestUniqueKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	with := func(queue, kind, args string, u engine.Unique) engine.JobParams {
		return engine.JobParams{Queue: queue, Kind: kind, Args: json.RawMessage(args), Unique: &u}
	}
	first := b.newUniqueJob(t, with("q", "k", `{"a": 1, "b": 2}`, engine.Unique{}))
	b.wantUnique(t, with("other", "k", `{"a": 2}`, engine.Unique{}), engine.Enqueued{ID: first, Existing: true})
	b.newUniqueJob(t, with("q", "other", `{}`, engine.Unique{}))

	queue := b.newUniqueJob(t, with("q", "k", `{}`, engine.Unique{Queue: true}))
	b.newUniqueJob(t, with("r", "k", `{}`, engine.Unique{Queue: true}))
	b.wantUnique(t, with("q", "k", `{"a": 3}`, engine.Unique{Queue: true}), engine.Enqueued{ID: queue, Existing: true})

	args := b.newUniqueJob(t, with("q", "k", `{"a": 1, "b": [2, {"x": 9007199254740993, "y": 0}]}`, engine.Unique{Args: true}))
	b.wantUnique(t, with("q", "k", `{"b":[2,{"y":0,"x":9007199254740993}],"a":1}`, engine.Unique{Args: true}), engine.Enqueued{ID: args, Existing: true})
	b.newUniqueJob(t, with("q", "k", `{"a": 1, "b": [2, {"x": 9007199254740992, "y": 0}]}`, engine.Unique{Args: true}))

	hour := b.newUniqueJob(t, with("q", "k", `{}`, engine.Unique{Period: time.Hour}))
	b.clock.advance(59 * time.Minute)
	b.wantUnique(t, with("q", "k", `{}`, engine.Unique{Period: time.Hour}), engine.Enqueued{ID: hour, Existing: true})
	b.newUniqueJob(t, with("q", "k", `{}`, engine.Unique{Period: 2 * time.Hour}))
	b.clock.advance(time.Minute)
	b.newUniqueJob(t, with("q", "k", `{}`, engine.Unique{Period: time.Hour}))

	for _, wrong := range []engine.Unique{
		{Period: -time.Second}, {Period: time.Millisecond}, {MaxWait: -1}, {HeldIn: []engine.JobState{engine.JobRunning}}, {HeldIn: []engine.JobState{""}},
	} {
		if _, err := b.Enqueue(t.Context(), with("q", "k", `{}`, wrong)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// Each way of enqueueing, with jobs that have no key among those that have (hazard: an empty key is a key).
func TestUniqueInBatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	plain := engine.JobParams{Queue: "q", Kind: "k"}
	a, c := once(func(j *engine.JobParams) { j.Kind = "a" }), once(func(j *engine.JobParams) { j.Kind = "c"; j.RunAt = b.clock.now().Add(time.Hour) })
	batch := []engine.JobParams{plain, a, c, plain, a, c, plain}
	same := func(ids []int64) bool { return ids[1] == ids[4] && ids[2] == ids[5] }
	ids, err := b.EnqueueMany(ctx, batch)
	if err != nil || !same(ids) {
		t.Fatal(ids, err)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 4, Scheduled: 1})
	more, err := b.EnqueueMany(ctx, batch)
	if err != nil || more[1] != ids[1] || more[2] != ids[2] || slices.Contains(ids, more[0]) {
		t.Fatal(ids, more, err)
	}
	tx := begin(t, b.pool, pgx.ReadCommitted)
	got, err := b.EnqueueUniqueTx(ctx, tx, batch...)
	if err != nil || got[1] != (engine.Enqueued{ID: ids[1], Existing: true}) || got[0].Existing {
		t.Fatal(got, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if id, err := b.Enqueue(ctx, a); err != nil || id != ids[1] {
		t.Fatal(id, err)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 10, Scheduled: 1})
	if only, err := b.EnqueueMany(ctx, []engine.JobParams{a, c}); err != nil || only[0] != ids[1] || only[1] != ids[2] {
		t.Fatal(only, err)
	}
	b.wantAudit(t)
}

// The second waits for the first, and is told the truth: the first's job when it commits, its own when it rolls back
// (hazard 32).
func TestUniqueWaitsForTheWinner(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		b := setup(t)
		ctx := t.Context()
		tx := begin(t, b.pool, pgx.ReadCommitted)
		first, err := b.EnqueueUniqueTx(ctx, tx, once())
		if err != nil || first[0].Existing {
			t.Fatal(first, err)
		}
		// Own rows are known to the transaction that wrote them.
		if again, err := b.EnqueueUniqueTx(ctx, tx, once()); err != nil || again[0] != (engine.Enqueued{ID: first[0].ID, Existing: true}) {
			t.Fatal(again, err)
		}
		done := make(chan []engine.Enqueued)
		go func() {
			got, err := b.EnqueueUnique(ctx, []engine.JobParams{once()})
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
		b.waitFor(t, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%')`, b.schema)
		if commit {
			err = tx.Commit(ctx)
		} else {
			err = tx.Rollback(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := <-done
		if len(got) != 1 || got[0].Existing != commit || commit && got[0].ID != first[0].ID {
			t.Errorf("commit %v: %+v, the first was %+v", commit, got, first)
		}
		b.wantCounts(t, "q", engine.Counts{Available: 1})
	}
}

// Who doesn't want to wait is told so, and a caller's transaction lives on.
func TestUniqueBusy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	holder := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := b.EnqueueTx(ctx, holder, once()); err != nil {
		t.Fatal(err)
	}
	j := once(func(j *engine.JobParams) { j.Unique.MaxWait = time.Millisecond })
	if _, err := b.Enqueue(ctx, j); !errors.Is(err, engine.ErrUniqueBusy) || !engine.SafeToRetry(err) {
		t.Errorf("own transaction: %v", err)
	}
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '7s'`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.EnqueueTx(ctx, tx, j); !errors.Is(err, engine.ErrUniqueBusy) {
		t.Errorf("a caller's: %v", err)
	}
	other := once(func(j *engine.JobParams) { j.Kind = "free"; j.Unique.MaxWait = time.Millisecond })
	if _, err := b.EnqueueTx(ctx, tx, other); err != nil {
		t.Error(err)
	}
	var wait string
	if err := tx.QueryRow(ctx, `SHOW lock_timeout`).Scan(&wait); err != nil || wait != "7s" {
		t.Errorf("the setting is %q now: %v", wait, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 1})
}

// Many at once, over ends of the job and over batches in opposite orders: one job at a time, and no deadlock (hazard 21).
func TestUniqueConcurrently(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	kinds := []string{"a", "b", "c", "d"}
	for range 6 {
		var mu sync.Mutex
		fresh := map[string]int{}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				var batch []engine.JobParams
				for _, kind := range kinds {
					batch = append(batch, once(func(j *engine.JobParams) { j.Kind = kind }))
				}
				if i%2 == 0 {
					slices.Reverse(batch)
				}
				got, err := b.EnqueueUnique(ctx, batch)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				for k, g := range got {
					if !g.Existing {
						fresh[batch[k].Kind]++
					}
				}
			})
		}
		wg.Wait()
		for _, kind := range kinds {
			if fresh[kind] != 1 {
				t.Fatalf("%d jobs of kind %s", fresh[kind], kind)
			}
		}
		b.complete(t, b.claim(t, "q", len(kinds)))
	}
	b.wantAudit(t)
}

// With an old snapshot a key that was taken since is refused by the server, as any row would be, and can be repeated.
func TestUniqueInAnOldSnapshot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	old := begin(t, b.pool, pgx.RepeatableRead)
	if _, err := old.Exec(ctx, `SELECT 1`); err != nil {
		t.Fatal(err)
	}
	b.newUniqueJob(t, once(func(j *engine.JobParams) { j.Kind = "before" }))
	if _, err := old.Exec(ctx, `SELECT count(*) FROM pg_class`); err != nil {
		t.Fatal(err)
	}
	mine, err := b.EnqueueUniqueTx(ctx, old, once())
	if err != nil || mine[0].Existing {
		t.Fatal(mine, err)
	}
	if _, err := b.EnqueueUniqueTx(ctx, old, once(func(j *engine.JobParams) { j.Kind = "before" })); !engine.SafeToRetry(err) {
		t.Errorf("a key that was taken since: %v", err)
	}
	if err := old.Rollback(context.WithoutCancel(ctx)); err != nil {
		t.Fatal(err)
	}
	b.newUniqueJob(t, once())
}

// A caller's transaction that was told of a job that is there keeps no lock on the rings: prunes go on (P5, P7).
func TestUniqueHoldsNoPruneBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.newUniqueJob(t, once(func(j *engine.JobParams) { j.RunAt = b.clock.now().Add(time.Hour) }))
	b.enqueue(t, "q", 1)
	b.complete(t, b.claim(t, "q", 1))
	tx := begin(t, b.pool, pgx.ReadCommitted)
	got, err := b.EnqueueUniqueTx(t.Context(), tx, once())
	if err != nil || got[0] != (engine.Enqueued{ID: id, Existing: true}) {
		t.Fatal(got, err)
	}
	b.turn(t)
}

// A failed job whose key another has taken stays failed; one that kept its key is retried and holds it (B116).
func TestUniqueAndRetryFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	fail := func() int64 {
		t.Helper()
		id := b.newUniqueJob(t, once())
		attempts := b.claim(t, "q", 1)
		if results, err := b.Fail(ctx, []engine.Failure{{Receipt: attempts[0].Receipt, Message: "no"}}); err != nil || results[0].Err != nil {
			t.Fatal(results, err)
		}
		return id
	}
	lost, kept := fail(), fail()
	out, err := b.RetryFailed(ctx, engine.FailedJobs{Queue: "q"}, 10)
	if err != nil || out.Matched != 2 || !slices.Equal(out.Retried, []int64{kept}) {
		t.Fatalf("%+v, %v; job %d has lost its key, %d has it", out, err, lost, kept)
	}
	b.wantUnique(t, once(), engine.Enqueued{ID: kept, Existing: true})
	if out, err := b.RetryFailed(ctx, engine.FailedJobs{IDs: []int64{lost}}, 10); err != nil || out.Matched != 1 || len(out.Retried) > 0 {
		t.Errorf("%+v, %v", out, err)
	}
	b.wantAudit(t)
}

// The row of a key stays for as long as anything of its job does, since it may live again, and goes then. The key itself is
// free before. A row that somebody is taking over at this moment is left to him: trimming waits for nobody (P7).
func TestTrimKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	trim := func(want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // where it waits after all
		defer cancel()
		if n, err := b.TrimKeys(ctx); err != nil || n != want {
			t.Fatalf("%d keys trimmed, %v, want %d", n, err, want)
		}
	}
	keyed := func(kind string) func(*engine.JobParams) { return func(j *engine.JobParams) { j.Kind = kind } }
	trim(0)
	b.hold(t, "held", true)
	b.newUniqueJob(t, once(keyed("dlq"), func(j *engine.JobParams) { j.Queue = "held" }))
	b.failAll(t, b.claim(t, "held", 1))
	b.newUniqueJob(t, once(keyed("scheduled"), func(j *engine.JobParams) { j.RunAt = b.clock.now().Add(time.Hour) }))
	for _, kind := range []string{"completed", "failed", "carried"} {
		b.newUniqueJob(t, once(keyed(kind)))
	}
	attempts := b.claim(t, "q", 3)
	b.complete(t, attempts[:1])
	b.failAll(t, attempts[1:2])
	b.clock.advance(time.Minute)
	b.failAll(t, attempts[2:])
	trim(0)
	for _, r := range rings {
		b.wantRotate(t, r, engine.Rotated, 1)
	}
	if out, err := b.PruneQueue(t.Context(), 30*time.Second); err != nil || out.CarriedFailedRows != 1 {
		t.Fatal(out, err)
	}
	held := begin(t, b.pool, "read committed") // a producer who is about to take the first free key over
	if _, err := held.Exec(t.Context(), b.sql(`SELECT FROM %s.unique_claims WHERE job_id = $1 FOR UPDATE`), attempts[0].Receipt.JobID()); err != nil {
		t.Fatal(err)
	}
	trim(1)
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	trim(1)
	if n := one[int](t, b, `SELECT count(*) FROM %s.unique_claims`); n != 3 {
		t.Errorf("%d keys are left, want those of the DLQ, the scheduled and the carried job", n)
	}
	b.newUniqueJob(t, once(keyed("completed")))
	trim(0)
	b.wantAudit(t)
}
