package pgtest

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestLocalSettings(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{
		MaxConnections: 50, SharedBuffers: "64MB",
		Settings: map[string]string{"autovacuum": "off", "deadlock_timeout": "10ms", "application_name": "it's"},
	})
	for name, want := range map[string]string{
		"track_commit_timestamp": "on", "wal_level": "logical", "max_prepared_transactions": "8",
		"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off",
		"max_connections": "50", "shared_buffers": "64MB", "listen_addresses": "127.0.0.1",
		"autovacuum": "off", "deadlock_timeout": "10ms", "timezone": "UTC", "server_encoding": "UTF8",
	} {
		if got := query[string](t, server.DSN(), "SHOW "+name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, part := range []string{server.Version().String(), c.bin.dir, c.dir, "not durable"} {
		if !strings.Contains(server.Describe(), part) {
			t.Errorf("Describe doesn't say %q: %s", part, server.Describe())
		}
	}
	if got := query[string](t, server.DSN(), "SHOW server_version_num"); got != strconv.Itoa(int(server.Version())) {
		t.Errorf("the programs said version %d, the server says %s", server.Version(), got)
	}
}

func TestLocalDurable(t *testing.T) {
	t.Parallel()
	server, _ := start(t, Options{Durable: true})
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		if got := query[string](t, server.DSN(), "SHOW "+name); got != "on" {
			t.Errorf("%s is %s, want on", name, got)
		}
	}
}

func TestLocalIsClosedToOthers(t *testing.T) {
	t.Parallel()
	c := shared.back.(*cluster)
	info, err := os.Stat(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("the folder's mode is %o, want 700", mode)
	}
	if query[int](t, shared.TCPDSN(), "SELECT 1") != 1 {
		t.Error("no answer on 127.0.0.1")
	}
	wrong := strings.Replace(shared.TCPDSN(), c.password, "wrong", 1)
	if conn, err := connectWithin(t.Context(), wrong, connectTimeout); err == nil {
		_ = conn.Close(t.Context())
		t.Error("127.0.0.1 let somebody in without the password")
	}
}

func TestLocalCloseRemovesEverything(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{})
	pid := c.proc.pid()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeGone(t, c.dir)
	if err := send(pid, 0); err != nil || c.proc.running() {
		t.Errorf("process %d: running %v, %v", pid, c.proc.running(), err)
	}
	if err := server.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := server.Kill(); !errors.Is(err, ErrClosed) {
		t.Errorf("Kill after Close: %v, want ErrClosed", err)
	}
	if _, err := server.NewSchemas(t.Context(), nil, 1); err == nil {
		t.Error("NewSchemas after Close works")
	}
}

func TestLocalRefusedSettingShowsTheLog(t *testing.T) {
	t.Parallel()
	place := openPlace(t)
	_, err := Start(t.Context(), private(Options{TempDir: place, Settings: map[string]string{"no_such_setting": "1"}}))
	if !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("got %v, want ErrStart and the log's line about no_such_setting", err)
	}
	if left, _ := os.ReadDir(place); len(left) != 0 {
		t.Errorf("a failed start left %v", left)
	}
}

func TestLocalStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	place := openPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	source, err := Find(t.Context(), private(Options{TempDir: place, NoCache: true}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Start(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrStart) {
		t.Errorf("got %v, want ErrStart by a cancelled context", err)
	}
	if left, _ := os.ReadDir(place); len(left) != 0 {
		t.Errorf("a cancelled start left %v", left)
	}
}

func TestLocalFolderThatWillNotDo(t *testing.T) {
	t.Parallel()
	base := openPlace(t)
	long := filepath.Join(base, strings.Repeat("long", 25))
	odd := filepath.Join(base, "a b")
	for _, dir := range []string{long, odd} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{long, odd, filepath.Join(base, "missing")} {
		if _, err := Start(t.Context(), private(Options{TempDir: dir})); !errors.Is(err, ErrStart) {
			t.Errorf("TempDir %s: got %v, want ErrStart", dir, err)
		}
	}
	if who, err := serverAccount(); err == nil && who.switched {
		if err := os.Chmod(base, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), private(Options{TempDir: base}))
		if !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "can't enter "+base) {
			t.Errorf("got %v, want the folder that %s can't enter", err, who.name)
		}
	}
}

// Another program took the port while the server was down: a restart waits for it.
func TestRestartWaitsForItsPort(t *testing.T) {
	t.Parallel()
	server, c := start(t, Options{})
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)))
	if err != nil {
		t.Fatal(err)
	}
	refused := func() bool { return strings.Contains(server.LogTail(), "Address already in use") }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	restarted := make(chan error, 1)
	go func() { restarted <- server.Restart(ctx) }()
	eventually(t, "the server is refused its port", refused)
	cancel()
	if err := <-restarted; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("got %v, want the context's end and the reason", err)
	}

	if err := os.Truncate(c.logPath(), 0); err != nil {
		t.Fatal(err)
	}
	go func() { restarted <- server.Restart(t.Context()) }()
	eventually(t, "the server is refused its port", refused)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	if query[int](t, server.TCPDSN(), "SELECT 1") != 1 {
		t.Error("no answer at the old port")
	}
}

// Memory is for what may be lost, where nobody says otherwise.
func TestLocalPlaces(t *testing.T) {
	t.Setenv("TMPDIR", "")
	shm := inMemory()
	if got := (Options{}).places(); shm != "" && got[0] != shm {
		t.Errorf("%v: memory isn't the first", got)
	}
	if got := (Options{Durable: true}).places(); shm != "" && slices.Contains(got, shm) {
		t.Errorf("%v: a durable cluster in memory", got)
	}
	if got := (Options{TempDir: "/a"}).places(); !slices.Equal(got, []string{"/a"}) {
		t.Errorf("%v, want the folder that was asked for alone", got)
	}
	t.Setenv("TMPDIR", "/b")
	if got := (Options{}).places(); !slices.Equal(got, []string{"/b", "/tmp"}) {
		t.Errorf("%v, want TMPDIR before anything else", got)
	}
}
