package pgtest

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// family lists the postmaster and everything under it.
func family(t *testing.T, c *cluster) []processInfo {
	t.Helper()
	table, err := processTable()
	if err != nil {
		t.Fatal(err)
	}
	return append(descendants(table, c.proc.pid()), table[c.proc.pid()])
}

func mustBeDead(t *testing.T, list []processInfo) {
	t.Helper()
	table, err := processTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, was := range list {
		if is, there := table[was.pid]; there && is.born == was.born && is.state != 'Z' {
			t.Errorf("process %d is still there, in state %c", is.pid, is.state)
		}
	}
}

// segments counts the System V segments with one of these numbers; -1 where that can't be seen.
func hasSegment(t *testing.T, id int) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[1] == strconv.Itoa(id) {
			return true
		}
	}
	return false
}

func TestKillLosesNothingThatWasCommitted(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{Durable: true})
	execute(t, server.DSN(), "CREATE TABLE kept (n int)")
	for n := range 3 {
		execute(t, server.DSN(), "INSERT INTO kept VALUES (1)")
		all := family(t, c)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		mustBeDead(t, all)
		if server.Running() {
			t.Fatal("Running after Kill")
		}
		began := time.Now()
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("restart after SIGKILL: %v", time.Since(began))
		if got := query[int](t, server.TCPDSN(), "SELECT count(*) FROM kept"); got != n+1 {
			t.Fatalf("%d rows after kill %d, want %d", got, n+1, n+1)
		}
	}
}

// A backend in the middle of a computation doesn't look whether its postmaster lives.
func TestKillReachesBusyBackends(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{})
	conn, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT sum(a::numeric * b) FROM generate_series(1, 1000000000) a, generate_series(1, 100) b")
		answer <- err
	}()
	pid := int(conn.PgConn().PID())
	eventually(t, "the query runs", func() bool {
		return query[string](t, server.DSN(), "SELECT state FROM pg_stat_activity WHERE pid = "+strconv.Itoa(pid)) == "active"
	})
	all := family(t, c)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	mustBeDead(t, all)
	if err := <-answer; err == nil {
		t.Error("the query of a killed server was answered")
	}
	_ = conn.Close(t.Context()) // its server is gone
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestStopAndRestart(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{})
	dsn, tcp := server.DSN(), server.TCPDSN()
	all := family(t, c)
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustBeDead(t, all)
	if err := server.Stop(t.Context()); err != nil {
		t.Errorf("Stop of a stopped server: %v", err)
	}
	for name, act := range map[string]func() error{"Kill": server.Kill, "Pause": server.Pause, "Resume": server.Resume} {
		if err := act(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s of a stopped server: %v, want ErrNotRunning", name, err)
		}
	}
	for range 2 { // from stopped, and while it runs
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if server.DSN() != dsn || server.TCPDSN() != tcp {
			t.Error("a restart changed the DSN")
		}
		if query[int](t, dsn, "SELECT 1")+query[int](t, tcp, "SELECT 1") != 2 {
			t.Error("no answer after a restart")
		}
	}
	if log := server.LogTail(); !strings.Contains(log, "ready to accept connections") {
		t.Errorf("the log's end doesn't say that the server is ready:\n%s", log)
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{})
	pool := server.TestPool(t, 2)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	for _, p := range family(t, c) {
		// A process that had ended is a zombie until its parent, which is stopped, asks for it: it runs nothing.
		if p.state != 'T' && p.state != 'Z' {
			t.Errorf("process %d of a paused server is in state %c", p.pid, p.state)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := pool.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused server answered: %v", err)
	}
	if !server.Running() {
		t.Error("a paused server doesn't count as running")
	}
	for range 2 {
		if err := server.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	if err := pool.Ping(t.Context()); err != nil {
		t.Errorf("no answer after Resume: %v", err)
	}
}

// Each way to leave a pause, and each state to close in.
func TestPausedServerCanBeStoppedKilledRestartedClosed(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{})
	for name, act := range map[string]func() error{
		"Stop":    func() error { return server.Stop(t.Context()) },
		"Kill":    server.Kill,
		"Restart": func() error { return server.Restart(t.Context()) },
	} {
		if err := server.Pause(); err != nil {
			t.Fatal(err)
		}
		if err := act(); err != nil {
			t.Fatalf("%s of a paused server: %v", name, err)
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	all := family(t, c)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeDead(t, all)
	mustBeGone(t, c.dir)
}

func TestCloseAfterKillLeavesNoSharedMemory(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{})
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	segment := c.readLockFile().segment
	if segment == 0 {
		t.Fatal("the killed server's lock file names no segment")
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, c.dir)
	if hasSegment(t, segment) {
		t.Errorf("segment %d is still there", segment)
	}
}

// The server went down by itself, as by a crash of the postmaster alone.
func TestRestartAfterTheServerDied(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{})
	if err := send(c.proc.pid(), 9); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server is seen to be down", func() bool { return !server.Running() })
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if query[int](t, server.DSN(), "SELECT 1") != 1 {
		t.Error("no answer")
	}
}
