package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// closeBy closes attempts in one of the two ways; the results are alike.
type closeBy struct {
	name  string
	close func(*engine.Engine, context.Context, []engine.Receipt) ([]engine.Result, error)
	count func(n int64) engine.Counts
}

var closers = []closeBy{
	{"complete", (*engine.Engine).Complete, func(n int64) engine.Counts { return engine.Counts{Completed: n} }},
	{
		"fail", func(e *engine.Engine, ctx context.Context, receipts []engine.Receipt) ([]engine.Result, error) {
			failures := make([]engine.Failure, len(receipts))
			for i, r := range receipts {
				failures[i] = engine.Failure{Receipt: r, Message: "it broke: " + r.String()}
			}
			return e.Fail(ctx, failures)
		}, func(n int64) engine.Counts { return engine.Counts{Failed: n} },
	},
}

func eachCloser(t *testing.T, test func(t *testing.T, b *bundle, c closeBy)) {
	t.Helper()
	t.Parallel()
	for _, c := range closers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t), c)
		})
	}
}

// wantClosed closes the receipts; stale lists the places that must be over already.
func (b *bundle) wantClosed(t *testing.T, c closeBy, receipts []engine.Receipt, stale ...int) {
	t.Helper()
	results, err := c.close(b.Engine, t.Context(), receipts)
	if err != nil || len(results) != len(receipts) {
		t.Fatal(results, err)
	}
	over := map[int]bool{}
	for _, i := range stale {
		over[i] = true
	}
	for i, r := range results {
		if r.Receipt != receipts[i] || engine.Stale(r.Err) != over[i] || (r.Err != nil) != over[i] {
			t.Errorf("receipt %d, %s: got %+v, stale wanted: %v", i, receipts[i], r, over[i])
		}
		if over[i] && r.Err != nil && (!strings.Contains(r.Err.Error(), receipts[i].String()) || !errors.Is(r.Err, engine.ErrStale) || engine.SafeToRetry(r.Err)) {
			t.Errorf("the error %v doesn't tell that attempt %s is over", r.Err, receipts[i])
		}
	}
}

// Results come by receipt, in the order of the call; of two mentions of one receipt the second finds the attempt over.
func TestCloseByReceipt(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		r := receipts(b.claimNew(t, "q", 5))
		b.wantClosed(t, c, []engine.Receipt{r[3], r[1], r[3], r[1], r[0]}, 2, 3)
		b.wantClosed(t, c, []engine.Receipt{r[0], r[2], r[4], r[1]}, 0, 3)
		b.wantClosed(t, c, r, 0, 1, 2, 3, 4)
		b.wantCounts(t, "q", c.count(5))
		for _, other := range closers {
			b.wantClosed(t, other, r, 0, 1, 2, 3, 4)
		}
		b.turn(t)
	})
}

// One call may bring attempts of many batches, slots and generations of both rings, in any order.
func TestCloseAcrossSlots(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		var r []engine.Receipt
		for i := range 3 {
			b.enqueue(t, "q", 6)
			b.enqueue(t, "other", 2)
			b.wantRotate(t, rings[0], engine.Rotated, int64(i+1))
			r = append(r, receipts(b.claim(t, "q", 4))...)
			r = append(r, receipts(b.claim(t, "other", 2))...)
			if i == 1 {
				b.wantRotate(t, rings[1], engine.Rotated, 1)
			}
		}
		r = append(r, receipts(b.claim(t, "q", 6))...) // over two queue generations in one claim
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(r), func(i, k int) { r[i], r[k] = r[k], r[i] })
		b.wantClosed(t, c, r[:11])
		b.wantClosed(t, c, r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
		b.wantCounts(t, "q", c.count(18))
		b.wantCounts(t, "other", c.count(6))
		for g := range int64(3) {
			if out, err := b.PruneQueue(t.Context(), 0); err != nil || out.Status != engine.Pruned || out.Generation != g {
				t.Fatal(out, err)
			}
		}
		b.wantPrune(t, rings[1], engine.Pruned, 0)
	})
}

// Once both rings have turned away, an old receipt is stale, also when its slots are in use again.
func TestCloseAfterPrune(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		old := receipts(b.claimNew(t, "q", 2))
		b.wantClosed(t, c, old)
		for range 4 {
			b.turn(t)
			b.wantClosed(t, c, old, 0, 1)
			r := receipts(b.claimNew(t, "q", 2))
			b.wantClosed(t, c, append(old[:2:2], r...), 0, 1)
		}
	})
}

// A receipt of a batch that never was, or of a place that the batch doesn't have, is stale.
func TestCloseOfWhatNeverWas(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		other := setup(t)
		other.claimNew(t, "q", 1)
		foreign := receipts(other.claimNew(t, "q", 3))
		b.wantClosed(t, c, foreign, 0, 1, 2)
		r := receipts(b.claimNew(t, "q", 1))
		b.wantClosed(t, c, foreign, 0, 1, 2)
		b.wantClosed(t, c, r)
	})
}

// Each failure has its own message, found by its receipt; of two messages for one receipt the first counts.
func TestFailureMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	attempts := b.claimNew(t, "q", 6)
	failures := []engine.Failure{
		{attempts[4].Receipt, "four"},
		{attempts[1].Receipt, "one"},
		{attempts[4].Receipt, "four again"},
		{attempts[3].Receipt, ""},
		{attempts[5].Receipt, strings.Repeat("é", 9000)},
	}
	if _, err := b.Fail(t.Context(), failures); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{1: "one", 3: "", 4: "four", 5: strings.Repeat("é", 4096)} {
		job, err := b.Job(t.Context(), attempts[i].Receipt.JobID())
		if err != nil || job.State != engine.JobFailed || len(job.Errors) != 1 || job.Errors[0].Error != want || job.Errors[0].Attempt != 1 {
			t.Errorf("job %d: %+v, %v, want the message %.10q", i, job, err, want)
		}
	}
}

// Whoever comes first closes an attempt; the others are told. Completions and failures of the same attempts at once, in
// opposite orders, in several processes.
func TestConcurrentClosers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.enqueue(t, "q", 200)
	var all []engine.Receipt
	for range 20 {
		all = append(all, receipts(b.claim(t, "q", 10))...)
	}
	var closed [2]atomic.Int64
	var work sync.WaitGroup
	for w := range 6 {
		c := closers[w%2]
		e := b.open(t, b.pool)
		order := rand.New(rand.NewPCG(uint64(w), 0)).Perm(len(all))
		work.Go(func() {
			for len(order) > 0 {
				n := min(len(order), 15)
				call := make([]engine.Receipt, n)
				for i, at := range order[:n] {
					call[i] = all[at]
				}
				order = order[n:]
				results, err := c.close(e, ctx, call)
				if err != nil {
					t.Error(err)
				}
				for _, r := range results {
					if r.Err == nil {
						closed[w%2].Add(1)
					}
				}
			}
		})
	}
	work.Wait()
	b.wantCounts(t, "q", engine.Counts{Completed: closed[0].Load(), Failed: closed[1].Load()})
	if sum := closed[0].Load() + closed[1].Load(); sum != 200 {
		t.Errorf("200 attempts were closed %d times", sum)
	}
	b.turn(t) // proves that none was closed twice
}

// A batch of 512 takes one entry of the server's table of shared locks, whose default room is some 6,400.
func TestCompletionTakesOneKeyPerBatch(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		ctx := t.Context()
		r := receipts(b.claimNew(t, "q", 512))
		var all, ours int
		pool := connect(t, 1, func(cfg *pgxpool.Config) {
			cfg.ConnConfig.Tracer = beforeCommit(func(conn *pgx.Conn) {
				all = one[int](t, b, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = $1`, conn.PgConn().PID())
				ours = one[int](t, b, `SELECT count(*) FROM pg_locks WHERE `+advisoryKey+` = $1`, b.BatchKey(r[0]))
			})
		})
		results, err := c.close(b.open(t, pool), ctx, r)
		if err != nil || results[511].Err != nil {
			t.Fatal(err)
		}
		if all != 1 || ours != 1 {
			t.Errorf("512 attempts of a claim took %d advisory keys, %d of them the batch's", all, ours)
		}
	})
}

// advisoryKey is the 64-bit key of an advisory lock as pg_locks shows it.
const advisoryKey = `locktype = 'advisory' AND objsubid = 1 AND (classid::bigint << 32) | objid::bigint`

// A completion in the middle of a long call of another one waits for it, and then tells the truth.
func TestCompletionWaitsForItsBatch(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		attempts := b.claimNew(t, "q", 2)
		release := b.holdBatch(t, attempts)
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.wantClosed(t, c, receipts(attempts))
		}()
		b.waitFor(t, `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND `+advisoryKey+` = $1`, b.BatchKey(attempts[0].Receipt))
		release()
		<-done
		b.wantCounts(t, "q", c.count(2))
	})
}

// The caller's context bounds the wait, and the pool's connections stay usable.
func TestCancelledWaitLeavesThePoolUsable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	attempts := b.claimNew(t, "q", 2)
	release := b.holdBatch(t, attempts)
	e := b.open(t, server.TestPool(t, 1))
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := e.Complete(ctx, receipts(attempts))
			done <- err
		}()
		b.waitFor(t, `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND `+advisoryKey+` = $1`, b.BatchKey(attempts[0].Receipt))
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled completion: %v", err)
		}
		if _, err := e.Counts(t.Context(), "q"); err != nil {
			t.Fatalf("the pool's connection after a cancelled wait: %v", err)
		}
	}
	release()
	b.complete(t, attempts)
}

// The same for a context that ends before any one of the statements of a call.
func TestCancelledStatementLeavesThePoolUsable(t *testing.T) {
	eachCloser(t, func(t *testing.T, b *bundle, c closeBy) {
		attempts := b.claimNew(t, "q", 1)
		for n := int64(1); ; n++ {
			trip := &cancelAt{n: n}
			e := b.open(t, connect(t, 1, func(cfg *pgxpool.Config) { cfg.ConnConfig.Tracer = trip }))
			ctx, cancel := context.WithCancel(t.Context())
			trip.begun.Store(0)
			trip.cancel = cancel
			_, err := c.close(e, ctx, receipts(attempts))
			cancel()
			if err == nil {
				break
			}
			if n > 20 || !errors.Is(err, context.Canceled) || engine.Ambiguous(err) {
				t.Fatalf("cancelled at statement %d: %v", n, err)
			}
			if counts, err := e.Counts(t.Context(), "q"); err != nil || counts.Running != 1 {
				t.Fatalf("cancelled at statement %d, and then: %+v, %v", n, counts, err)
			}
		}
		b.wantCounts(t, "q", c.count(1))
	})
}
