package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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
	return engine.Config{Schema: schema, QueueSlots: 4, ClaimSlots: 2, LeaseSlots: 2}
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

func newClock() *clock { return &clock{at: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

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
	b := &bundle{schema: schemas.Get(t), pool: server.TestPool(t, 8), clock: newClock()}
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

// connect opens a pool on the server whose configuration the test changes first.
func connect(t *testing.T, maxConns int32, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = maxConns
	if change != nil {
		change(cfg)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// set returns a change of a pool's configuration: each session begins with the settings, given as name, value, …
func set(settings ...string) func(*pgxpool.Config) {
	return func(cfg *pgxpool.Config) {
		for i := 0; i < len(settings); i += 2 {
			cfg.ConnConfig.RuntimeParams[settings[i]] = settings[i+1]
		}
	}
}

// impatient is a pool on which nothing waits for a lock for more than a second: what shows that an operation doesn't
// wait, without looking at a clock.
func impatient(t *testing.T, maxConns int32) *pgxpool.Pool {
	t.Helper()
	return connect(t, maxConns, set("lock_timeout", "1s"))
}

// begin opens a transaction that is rolled back at the end of the test at the latest.
func begin(t *testing.T, pool *pgxpool.Pool, level pgx.TxIsoLevel) pgx.Tx {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // ErrTxClosed when the test ended it
	return tx
}

// exec runs a statement that must succeed; %s in it stands for the quoted schema.
func (b *bundle) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), b.sql(sql), args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (b *bundle) sql(sql string) string {
	return strings.ReplaceAll(sql, "%s", pgx.Identifier{b.schema}.Sanitize())
}

// one reads one value; %s in the query stands for the quoted schema.
func one[T any](t *testing.T, b *bundle, sql string, args ...any) (v T) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), b.sql(sql), args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// rowCounts counts the rows of every table of the schema, and what its sequences have handed out: what "nothing was
// written" compares.
func (b *bundle) rowCounts(t *testing.T) map[string]int64 {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `
		SELECT c.relname, (xpath('/row/n/text()', query_to_xml(format('SELECT %s AS n FROM %I.%I',
		       CASE c.relkind WHEN 'S' THEN 'last_value + is_called::integer' ELSE 'count(*)' END, $1::text, c.relname), false, true, '')))[1]::text::bigint
		  FROM pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relkind IN ('r', 'S')`, b.schema)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	var name string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error { counts[name] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	return counts
}

// wantUnchanged compares the schema's rows with those that were there before.
func (b *bundle) wantUnchanged(t *testing.T, before map[string]int64) {
	t.Helper()
	if after := b.rowCounts(t); !maps.Equal(before, after) {
		for name, n := range after {
			if before[name] != n {
				t.Errorf("%s had %d rows and has %d", name, before[name], n)
			}
		}
	}
}

// wantError wants an error of a family whose text names what was wrong.
func wantError(t *testing.T, err, family error, names ...string) {
	t.Helper()
	if !errors.Is(err, family) {
		t.Errorf("got %v, want %v", err, family)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error %q doesn't name %s", err, name)
		}
	}
}

// waitFor asks until the answer is true: for what other sessions do, which nothing here is told of. Each question is a
// round trip, and a minute is the bound.
func (b *bundle) waitFor(t *testing.T, question string, args ...any) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; {
		if one[bool](t, b, question, args...) {
			return
		}
	}
	t.Fatalf("never true: %s", question)
}

// waitForOthers waits until every transaction that has written by now has ended, those of other tests among them.
func (b *bundle) waitForOthers(t *testing.T) {
	t.Helper()
	now := one[int64](t, b, `SELECT pg_current_xact_id()::text::bigint`)
	b.waitFor(t, `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint > $1`, now)
}
