package pgtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

func oneTable(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	_, err := pool.Exec(ctx, "CREATE TABLE "+schema+".t (n int)")
	return err
}

const scratchSchemas = `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'awa\_t\_%'`

// remote gives a server reached by DSN: a database of the shared server.
func startRemote(t *testing.T, database string) *Server {
	t.Helper()
	dsn, drop, err := shared.NewDatabase(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	server, err := Start(t.Context(), Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func TestSchemasAreFreshAndEachTestsOwn(t *testing.T) {
	t.Parallel()
	supply, err := shared.NewSchemas(t.Context(), oneTable, 3)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	t.Run("users", func(t *testing.T) {
		for range 8 {
			t.Run("user", func(t *testing.T) {
				t.Parallel()
				schema := supply.Get(t)
				execute(t, shared.DSN(), "INSERT INTO "+schema+".t VALUES (1)")
				if n := query[int](t, shared.DSN(), "SELECT count(*) FROM "+schema+".t"); n != 1 {
					t.Errorf("%s.t has %d rows, want the one of this test", schema, n)
				}
				mu.Lock()
				defer mu.Unlock()
				if seen[schema] {
					t.Errorf("%s was given twice", schema)
				}
				seen[schema] = true
			})
		}
	})
	for range 2 {
		if err := supply.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := supply.Take(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Take after Close: %v, want ErrClosed", err)
	}
}

func TestSchemasFailure(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var down atomic.Bool
	down.Store(true)
	supply, err := shared.NewSchemas(t.Context(), func(context.Context, *pgxpool.Pool, string) error {
		if down.Load() {
			return boom
		}
		return nil
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = supply.Close() }() // on our own server it can't fail
	if _, _, err := supply.Take(t.Context()); !errors.Is(err, boom) {
		t.Errorf("got %v, want the failure of prepare", err)
	}
	down.Store(false)
	for range 4 { // failures of before are in the way
		if _, _, err := supply.Take(t.Context()); err != nil {
			t.Errorf("an old failure came up again: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 4 { // one of them finds nothing ready, or is told of its context
		if _, _, err := supply.Take(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	}
}

func TestSchemasAreDroppedOnAServerThatIsNotOurs(t *testing.T) {
	t.Parallel()
	server := startRemote(t, "schemas_dropped")
	supply, err := server.NewSchemas(t.Context(), oneTable, 3)
	if err != nil {
		t.Fatal(err)
	}
	var used string
	t.Run("user", func(t *testing.T) { used = supply.Get(t) })
	if query[bool](t, server.DSN(), "SELECT to_regnamespace('"+used+"') IS NOT NULL") {
		t.Errorf("%s is still there after its test", used)
	}
	if _, _, err := supply.Take(t.Context()); err != nil { // never dropped by its taker
		t.Fatal(err)
	}
	if query[int](t, server.DSN(), scratchSchemas) == 0 {
		t.Error("there is nothing to drop: the test shows nothing")
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if n := query[int](t, server.DSN(), scratchSchemas); n != 0 {
		t.Errorf("%d schemas are left", n)
	}
}

// A process that was killed couldn't drop its schemas: the next one does, and
// leaves those of a living one alone.
func TestSweep(t *testing.T) {
	t.Parallel()
	alive := startRemote(t, "schemas_swept")
	supply, err := alive.NewSchemas(t.Context(), oneTable, 1)
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := supply.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	execute(t, alive.DSN(), "CREATE SCHEMA awa_t_deadbeef_1", "CREATE TABLE awa_t_deadbeef_1.t (n int)",
		"CREATE SCHEMA awa_t_deadbeef_22", "CREATE SCHEMA awa_test_of_somebody", "CREATE SCHEMA awa_t_deadbeefx_1")
	next, err := Start(t.Context(), Options{DSN: alive.DSN()})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	for schema, want := range map[string]bool{
		kept: true, "awa_t_deadbeef_1": false, "awa_t_deadbeef_22": false,
		"awa_test_of_somebody": true, "awa_t_deadbeefx_1": true,
	} {
		if got := query[bool](t, alive.DSN(), "SELECT to_regnamespace('"+schema+"') IS NOT NULL"); got != want {
			t.Errorf("%s exists: %v, want %v", schema, got, want)
		}
	}
}

func TestRemoteHasNoProcess(t *testing.T) {
	t.Parallel()
	server := startRemote(t, "no_process")
	for name, act := range map[string]func() error{
		"Stop":    func() error { return server.Stop(t.Context()) },
		"Restart": func() error { return server.Restart(t.Context()) },
		"Kill":    server.Kill, "Pause": server.Pause, "Resume": server.Resume,
	} {
		if err := act(); !errors.Is(err, ErrNoProcess) {
			t.Errorf("%s: %v, want ErrNoProcess", name, err)
		}
	}
	if server.HasProcess() || !server.Running() || server.Version() != shared.Version() || server.DSN() != server.TCPDSN() {
		t.Errorf("%s: process %v, running %v, version %v", server.Describe(), server.HasProcess(), server.Running(), server.Version())
	}
}

func TestNewDatabase(t *testing.T) {
	t.Parallel()
	dsn, drop, err := shared.NewDatabase(t.Context(), "made_here")
	if err != nil {
		t.Fatal(err)
	}
	if got := query[string](t, dsn, "SELECT current_database()"); got != "made_here" {
		t.Errorf("the DSN reaches %s", got)
	}
	if _, _, err := shared.NewDatabase(t.Context(), "made_here"); err == nil {
		t.Error("a database was made twice")
	}
	for _, name := range []string{"", "Upper", "a b", "x;y", string(make([]byte, 64))} {
		var input *InputError
		if _, _, err := shared.NewDatabase(t.Context(), name); !errors.As(err, &input) || input.Value != name {
			t.Errorf("database %q: got %v, want an *InputError that names it", name, err)
		}
	}
	for range 2 {
		if err := drop(t.Context()); err != nil {
			t.Error(err)
		}
	}

	server := startRemote(t, "for_databases")
	if _, _, err := server.NewDatabase(t.Context(), "left_behind"); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if query[bool](t, shared.DSN(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = 'left_behind')") {
		t.Error("Close left the database on a server that isn't ours")
	}
}

func TestWithDatabase(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"postgres://u:p@h:1/old?sslmode=disable":        "postgres://u:p@h:1/new?sslmode=disable",
		"postgresql:///old?host=%2Ftmp%2Fx&dbname=more": "postgresql:///new?host=%2Ftmp%2Fx",
		"host=h dbname=old":                             "host=h dbname=old dbname=new",
	} {
		if got, err := withDatabase(in, "new"); got != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
}

// BenchmarkSchemaGet takes schemas that are ready, BenchmarkSchemaMake faster than they are made.
func BenchmarkSchemaGet(b *testing.B)  { benchmarkSchemas(b, true) }
func BenchmarkSchemaMake(b *testing.B) { benchmarkSchemas(b, false) }

func benchmarkSchemas(b *testing.B, ready bool) {
	supply, err := shared.NewSchemas(b.Context(), oneTable, 4)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = supply.Close() }() // on our own server it can't fail
	for b.Loop() {
		if ready {
			b.StopTimer()
			one := func() (bool, error) { return len(supply.ready) > 0, nil }
			if err := poll(b.Context(), time.Millisecond, one); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		supply.Get(b)
	}
}
