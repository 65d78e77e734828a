package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// server is the package's PostgreSQL; schemas are small installations (4 queue slots, 2 claim slots) made ahead.
var (
	server  *pgtest.Server
	schemas *pgtest.Schemas
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(pgtest.Runner(m, pgtest.Options{}, func(s *pgtest.Server) (err error) {
		server = s
		schemas, err = s.NewSchemas(context.Background(), func(ctx context.Context, pool *pgxpool.Pool, schema string) error {
			return engine.Migrate(ctx, pool, smallRings(schema))
		}, 4)
		return err
	}))
}

func smallRings(schema string) engine.Config {
	return engine.Config{Schema: schema, QueueSlots: 4, ClaimSlots: 2}
}

// A bundle is what a test works with: an engine on a schema of its own, with a clock that the test moves.
type bundle struct {
	*engine.Engine
	pool   *pgxpool.Pool
	schema string
	clock  *clock
}

// A clock is virtual time.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{schema: schemas.Get(t), pool: server.TestPool(t, 8), clock: &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}}
	b.Engine = b.open(t, b.pool)
	return b
}

// open returns another engine on the same schema, as another process would have.
func (b *bundle) open(t *testing.T, pool *pgxpool.Pool) *engine.Engine {
	t.Helper()
	cfg := smallRings(b.schema)
	cfg.Now = b.clock.now
	e, err := engine.Open(t.Context(), pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// enqueue makes n jobs in the queue at the default priority.
func (b *bundle) enqueue(t *testing.T, queue string, n int) []int64 {
	t.Helper()
	ids, err := b.EnqueueMany(t.Context(), jobs(queue, n))
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func jobs(queue string, n int) []engine.JobParams {
	jobs := make([]engine.JobParams, n)
	for i := range jobs {
		jobs[i] = engine.JobParams{Queue: queue, Kind: "k", Args: fmt.Appendf(nil, `{"n": %d}`, i)}
	}
	return jobs
}

// claim hands out exactly n jobs.
func (b *bundle) claim(t *testing.T, queue string, n int) []engine.Attempt {
	t.Helper()
	attempts, err := b.Claim(t.Context(), queue, n)
	if err != nil {
		t.Fatal(err)
	}
	if len(attempts) != n {
		t.Fatalf("claimed %d jobs, want %d", len(attempts), n)
	}
	return attempts
}

// complete closes the attempts, all of which must be open.
func (b *bundle) complete(t *testing.T, attempts []engine.Attempt) {
	t.Helper()
	results, err := b.Complete(t.Context(), receipts(attempts))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("complete %s: %v", r.Receipt, r.Err)
		}
	}
}

func receipts(attempts []engine.Attempt) []engine.Receipt {
	rs := make([]engine.Receipt, len(attempts))
	for i, a := range attempts {
		rs[i] = a.Receipt
	}
	return rs
}

// wantCounts compares all counts of a queue.
func (b *bundle) wantCounts(t *testing.T, queue string, want engine.Counts) {
	t.Helper()
	got, err := b.Counts(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("counts of %q: got %+v, want %+v", queue, got, want)
	}
}
