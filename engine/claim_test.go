package engine_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// The best priority first, lane order within, and no more than was asked for.
func TestClaimOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	byPriority := map[int][]int64{}
	for i := range 12 {
		priority := 4 - i%4
		id, err := b.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", Priority: priority})
		if err != nil {
			t.Fatal(err)
		}
		byPriority[priority] = append(byPriority[priority], id)
	}
	want := slices.Concat(byPriority[1], byPriority[2], byPriority[3], byPriority[4])
	var got []int64
	for _, n := range []int{1, 4, 2, 5} {
		for _, a := range b.claim(t, "q", n) {
			got = append(got, a.Receipt.JobID())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v", got, want)
	}
	b.wantJobs(t, b.Engine, "q")
}

// Each process has hints of its own; what one hands out, the other doesn't.
func TestProcessesAlternate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	engines := []*engine.Engine{b.Engine, b.open(t, b.pool)}
	var next []int64
	for i := range 30 {
		next = append(next, b.enqueue(t, "q", 3)...)
		e := engines[i%2]
		if i%7 == 6 {
			e = b.open(t, b.pool) // a process that has just started
		}
		attempts, err := e.Claim(t.Context(), "q", 2)
		if err != nil || len(attempts) != 2 {
			t.Fatal(attempts, err)
		}
		for k, a := range attempts {
			if a.Receipt.JobID() != next[k] {
				t.Fatalf("claim %d handed out job %d, want %d", i, a.Receipt.JobID(), next[k])
			}
		}
		next = next[2:]
		if i%5 == 4 {
			if out, err := b.RotateQueue(t.Context()); err != nil {
				t.Fatal(out, err)
			}
		}
	}
	b.wantJobs(t, engines[0], "q", next...)
	b.wantJobs(t, engines[1], "q")
}

// Eight claimers in two processes, while producers go on and the rings turn: each job is handed out once.
func TestConcurrentClaimersHandOutEachJobOnce(t *testing.T) {
	t.Parallel()
	const total = 240
	b := setup(t)
	ctx := t.Context()
	pool := server.TestPool(t, 12)
	engines := []*engine.Engine{b.open(t, pool), b.open(t, pool)}
	var work sync.WaitGroup
	for p := range 3 {
		work.Go(func() {
			for i := range total / 30 {
				batch := make([]engine.JobParams, 10)
				for k := range batch {
					batch[k] = engine.JobParams{Queue: "q", Kind: "k", Priority: 1 + (p+i+k)%4}
				}
				if _, err := engines[p%2].EnqueueMany(ctx, batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var mu sync.Mutex
	seen := map[int64]string{}
	for w := range 8 {
		work.Go(func() {
			e := engines[w%2]
			for {
				attempts, err := e.Claim(ctx, "q", 1+w*3)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, a := range attempts {
					if other, twice := seen[a.Receipt.JobID()]; twice {
						t.Errorf("job %d was handed out as %s and as %s", a.Receipt.JobID(), other, a.Receipt)
					}
					seen[a.Receipt.JobID()] = a.Receipt.String()
				}
				done := len(seen) >= total || t.Failed()
				mu.Unlock()
				if _, err := e.Complete(ctx, receipts(attempts)); err != nil {
					t.Error(err)
				}
				if done {
					return
				}
			}
		})
	}
	work.Go(func() { // the rings turn, a bounded number of times
		for range 25 {
			b.maintain(t)
		}
	})
	work.Wait()
	c, err := b.Counts(ctx, "q")
	if err != nil || c.Completed+c.PrunedCompleted != total || c.Available+c.Running+c.Failed != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// maintain rotates and prunes both rings once, whatever they answer.
func (b *bundle) maintain(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	_, queue := b.RotateQueue(ctx)
	_, claims := b.RotateClaims(ctx)
	_, pruned := b.PruneClaims(ctx)
	_, spent := b.PruneQueue(ctx, 0)
	if err := errors.Join(queue, claims, pruned, spent); err != nil {
		t.Error(err)
	}
}

// What decides is the attempt evidence, never a claim table: claims go on while somebody has all sealed claim children
// to himself.
func TestClaimDoesNotWaitForSealedClaimSlots(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.claimNew(t, "q", 2)
	if out, err := b.RotateClaims(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatal(out, err)
	}
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(ctx, b.sql(`LOCK TABLE %s.lease_claim_batches_0, %s.lease_claim_closure_batches_0 IN ACCESS EXCLUSIVE MODE`)); err != nil {
		t.Fatal(err)
	}
	e := b.open(t, impatient(t, 2))
	ids, err := e.EnqueueMany(ctx, jobs("q", 3))
	if err != nil {
		t.Fatal(err)
	}
	attempts := b.wantJobs(t, e, "q", ids...)
	if results, err := e.Complete(ctx, receipts(attempts)); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
}

// A sealed queue slot in which nothing can appear any more is left alone: claims don't wait for whoever prunes it.
func TestClaimLeavesFinishedSlotsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	e := b.open(t, impatient(t, 2))
	b.wantJobs(t, e, "q", b.enqueue(t, "q", 2)...)
	if out, err := b.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatal(out, err)
	}
	// It counts as finished once all transactions that were open have ended; they are other tests' here.
	for range 20_000 {
		if b.wantJobs(t, e, "q"); e.Finished("q", 0) {
			break
		}
	}
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(ctx, b.sql(`LOCK TABLE %s.ready_entries_0, %s.ready_claim_attempt_batches_0 IN ACCESS EXCLUSIVE MODE`)); err != nil {
		t.Fatal(err)
	}
	b.wantJobs(t, e, "q", b.enqueue(t, "q", 1)...)
}

// A lane that another claim is at work on is passed over, so that a slow claimer stalls nobody; what was closed for this
// process stays handed out when another lane makes it look into the same slot again.
func TestClaimPassesOverBusyLanes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	e := b.open(t, impatient(t, 2))
	enqueue := func(priority, n int) (ids []int64) {
		t.Helper()
		for range n {
			id, err := b.Enqueue(ctx, engine.JobParams{Queue: "q", Kind: "k", Priority: priority})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		return ids
	}
	busy := func(claim func()) {
		t.Helper()
		tx := begin(t, b.pool, pgx.ReadCommitted)
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, b.LaneKey("q", 2)); err != nil {
			t.Fatal(err)
		}
		claim()
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(want ...int64) {
		t.Helper()
		attempts, err := e.Claim(ctx, "q", len(want))
		if err != nil || len(attempts) != len(want) {
			t.Fatalf("claimed %v, %v; want %v", attempts, err, want)
		}
		for i, a := range attempts {
			if a.Receipt.JobID() != want[i] {
				t.Fatalf("claimed job %d, want %d", a.Receipt.JobID(), want[i])
			}
		}
	}
	first, second := enqueue(1, 2), enqueue(2, 5)
	if out, err := b.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatal(out, err)
	}
	busy(func() { claim(first[0]) })
	b.waitForOthers(t)
	claim(first[1], second[0]) // finishes generation 0 for the first lane, not for the second
	later := enqueue(1, 3)
	busy(func() { claim(later[0]) }) // looks into generation 1 alone …
	busy(func() { claim(later[1]) }) // … and sees newer evidence there
	claim(later[2], second[1], second[2])
	claim(second[3], second[4])
	b.wantJobs(t, e, "q")
}

func TestClaimOfAnUnknownQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.wantJobs(t, b.Engine, "never enqueued")
	b.wantCounts(t, "never enqueued", engine.Counts{})
	b.wantCounts(t, "never mentioned", engine.Counts{})
}

// A claim takes up to 4,096 jobs; their receipts fill the room of a batch to its end.
func TestLargestClaim(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 5000)
	attempts := b.claim(t, "q", 4096)
	last := attempts[4095].Receipt
	if last.ID() != last.Batch()*4096+4095 {
		t.Errorf("the last receipt is %d of batch %d", last.ID(), last.Batch())
	}
	b.complete(t, attempts[4095:])
	next := b.claim(t, "q", 904)
	b.complete(t, attempts[:4095])
	b.wantCounts(t, "q", engine.Counts{Running: 904, Completed: 4096})
	b.complete(t, next)
	b.turn(t)
}
