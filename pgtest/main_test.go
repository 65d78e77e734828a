package pgtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Those who write tests hand one of these in.
var (
	_ TB         = (*testing.T)(nil)
	_ TB         = (*testing.B)(nil)
	_ TestRunner = (*testing.M)(nil)
)

// shared is the package's server: for what changes no process.
var shared *Server

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		runChild(mode)
	}
	goleak.VerifyTestMain(Runner(m, private(Options{}), func(s *Server) error {
		shared = s
		return nil
	}))
}

// private asks for a private cluster: of this machine's programs, or where none are of the version that is asked for, of
// downloaded ones. A container, which comes before a download where a daemon answers, has none of the files and processes that
// these tests look at.
func private(opts Options) Options {
	opts.Local, opts.Only = true, KindLocal
	if _, err := Find(context.Background(), opts); errors.Is(err, ErrNoServer) {
		opts.Only = KindDownload
	}
	return opts
}

type runs func() int

func (r runs) Run() int { return r() }

func TestMainGivesTheTestsExitCodeAndCloses(t *testing.T) {
	t.Parallel()
	var server *Server
	code := Main(runs(func() int {
		if !server.Running() {
			t.Error("the tests ran without a server")
		}
		return 7
	}), private(Options{}), func(s *Server) error { server = s; return nil })
	if code != 7 {
		t.Errorf("exit code %d, want the tests' own, 7", code)
	}
	if server.Running() {
		t.Error("the server runs on after the tests")
	}
	mustBeGone(t, server.back.(*cluster).dir)
}

func TestMainWithoutServerRunsNothing(t *testing.T) {
	t.Parallel()
	code := Main(runs(func() int { t.Error("tests ran"); return 0 }),
		Options{Local: true, BinDir: t.TempDir()}, func(*Server) error { return nil })
	if code != exitNoServer {
		t.Errorf("exit code %d, want %d", code, exitNoServer)
	}
}

// start starts a server of the test's own.
func start(t *testing.T, opts Options) (*Server, *cluster) {
	t.Helper()
	server, err := Start(t.Context(), private(opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, server.back.(*cluster)
}

// openPlace is a temporary folder that every user may enter; t.TempDir's is closed,
// and a server that we start as root runs as somebody else.
func openPlace(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgtest-place-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// eventually polls for at most 30 s.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := poll(ctx, 5*time.Millisecond, func() (bool, error) { return ask(), nil }); err != nil {
		t.Fatalf("%s: not within 30 s", what)
	}
}

func mustBeGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		left, _ := filepath.Glob(filepath.Join(path, "*"))
		t.Errorf("%s is still there (%v): %v", path, err, left)
	}
}

// query asks for one value, on a connection of its own.
func query[T any](t *testing.T, dsn, sql string) (value T) {
	t.Helper()
	conn, err := connectWithin(t.Context(), dsn, connectTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }() // the test's end doesn't depend on it
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// execute runs statements, on a connection of its own.
func execute(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := connectWithin(t.Context(), dsn, connectTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }() // the test's end doesn't depend on it
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}
