package engine_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// benchServer is a durable server with settings that a small production server would have.
func benchServer(b *testing.B, maxConns int) (*engine.Engine, *pgxpool.Pool) {
	b.Helper()
	s, err := pgtest.Start(b.Context(), pgtest.Options{
		Local: true, Durable: true, SharedBuffers: "1GB",
		Settings: map[string]string{"max_wal_size": "8GB", "checkpoint_timeout": "30min", "autovacuum": "off"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	pool := s.TestPool(b, maxConns)
	if err := engine.Migrate(b.Context(), pool, engine.Config{}); err != nil {
		b.Fatal(err)
	}
	return reopened(b, pool), pool
}

// reopened is a new process on the same installation.
func reopened(b *testing.B, pool *pgxpool.Pool) *engine.Engine {
	b.Helper()
	e, err := engine.Open(b.Context(), pool, engine.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// meter reads what the server has written and committed.
type meter struct{ wal, commits int64 }

func readMeter(b *testing.B, pool *pgxpool.Pool) (m meter) {
	b.Helper()
	err := pool.QueryRow(b.Context(), `SELECT (pg_current_wal_lsn() - '0/0')::bigint,
		(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())
		FROM (SELECT pg_stat_force_next_flush()) f`).Scan(&m.wal, &m.commits)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// payload is 44 bytes of arguments.
var payload = []byte(`{"customer": 12345678, "order": 1234567890}`)

// life takes n jobs from enqueue to completion: COPY of 1,000, claim 500, complete 500.
func life(b *testing.B, e *engine.Engine, n int) {
	b.Helper()
	ctx := b.Context()
	batch := make([]engine.JobParams, 1000)
	for i := range batch {
		batch[i] = engine.JobParams{Queue: "bench", Kind: "noop", Args: payload}
	}
	for left := n; left > 0; left -= len(batch) {
		if _, err := e.EnqueueMany(ctx, batch); err != nil {
			b.Fatal(err)
		}
		for range 2 {
			attempts, err := e.Claim(ctx, "bench", 500)
			if err != nil || len(attempts) != 500 {
				b.Fatal(len(attempts), err)
			}
			if _, err := e.Complete(ctx, receipts(attempts)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkLife is a job's whole life on one connection with durable commits. One iteration is 10,000 jobs.
func BenchmarkLife(b *testing.B) {
	e, pool := benchServer(b, 1)
	life(b, e, 10_000) // plans and caches
	before := readMeter(b, pool)
	b.ResetTimer()
	for range b.N {
		life(b, e, 10_000)
	}
	b.StopTimer()
	after := readMeter(b, pool)
	jobs := float64(b.N) * 10_000
	b.ReportMetric(jobs/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(after.wal-before.wal)/jobs, "WAL-B/job")
	b.ReportMetric(float64(after.commits-before.commits)/jobs, "commits/job")
	b.ReportMetric(0, "ns/op")
}

// openJobs is how many jobs go by while a producer stays open. The full million takes a minute to prepare:
// AWA_BENCH_OPEN_JOBS=1000000.
func openJobs(b *testing.B) int {
	text := os.Getenv("AWA_BENCH_OPEN_JOBS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		b.Fatalf("AWA_BENCH_OPEN_JOBS=%q: want a number of at least 1000", text)
	}
	return n
}

// BenchmarkClaimWithOpenProducer compares the cost of claiming 500 jobs and of claiming one, with a producer open through
// all the jobs before and without, in turn on the same server. "ratio" is with divided by without.
func BenchmarkClaimWithOpenProducer(b *testing.B) {
	n := openJobs(b)
	e, pool := benchServer(b, 4)
	life(b, e, 1000)
	free := claimCost(b, e, 1)
	freeMany := claimCost(b, e, 500)

	tx, err := pool.Begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(b.Context())) }()
	if _, err := e.EnqueueTx(b.Context(), tx, engine.JobParams{Queue: "bench", Kind: "noop", Args: payload}); err != nil {
		b.Fatal(err)
	}
	life(b, e, n)
	b.ResetTimer()
	open, openMany := claimCost(b, e, 1), claimCost(b, e, 500)
	b.StopTimer()
	b.ReportMetric(open.Seconds()/free.Seconds(), "ratio/claim-1")
	b.ReportMetric(openMany.Seconds()/freeMany.Seconds(), "ratio/claim-500")
	b.ReportMetric(float64(openMany.Microseconds()), "µs/claim-500")
	b.ReportMetric(float64(open.Microseconds()), "µs/claim-1")
	b.ReportMetric(0, "ns/op")
}

// claimCost is the median time of a claim of this size.
func claimCost(b *testing.B, e *engine.Engine, size int) time.Duration {
	b.Helper()
	ctx := b.Context()
	const rounds = 41
	jobs := make([]engine.JobParams, rounds*size)
	for i := range jobs {
		jobs[i] = engine.JobParams{Queue: "bench", Kind: "noop", Args: payload}
	}
	if _, err := e.EnqueueMany(ctx, jobs); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for range rounds {
		began := time.Now()
		attempts, err := e.Claim(ctx, "bench", size)
		took = append(took, time.Since(began))
		if err != nil || len(attempts) != size {
			b.Fatal(len(attempts), err)
		}
		if _, err := e.Complete(ctx, receipts(attempts)); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	return took[rounds/2]
}
