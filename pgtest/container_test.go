//go:build linux

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A container is a server like any other: it keeps what was committed through a kill, a pause and a restart, at the same
// address. The image is built of this machine's files, from a downloaded server, so that no registry is needed.
func TestContainer(t *testing.T) {
	opts := Options{Only: KindContainer, Durable: true, Settings: map[string]string{"work_mem": "5MB"}}
	if _, err := Find(t.Context(), opts); errors.Is(err, ErrNoServer) {
		t.Skip("no Docker daemon answers: " + err.Error())
	}
	opts.Image = localImage(t)
	t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true") // its own helper would be pulled
	s, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Log(s.Describe())
	if s.Kind() != KindContainer || !s.HasProcess() || s.Version().Major() != 18 || s.Version()%10000 == 0 {
		t.Errorf("kind %s, version %s", s.Kind(), s.Version())
	}
	if got := ask(t, s, "SHOW work_mem"); got != "5MB" {
		t.Errorf("work_mem is %s", got)
	}
	ask(t, s, "CREATE TABLE kept AS SELECT 'still here'::text AS what")
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if !s.Running() {
		t.Error("a paused server runs")
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func() error{
		"kill": s.Kill,
		"stop": func() error { return s.Stop(t.Context()) },
	} {
		if err := end(); err != nil || s.Running() {
			t.Fatalf("%s: %v, running %v", name, err, s.Running())
		}
		if err := s.Kill(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("a server that doesn't run was killed: %v", err)
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, s, "SELECT what FROM kept"); got != "still here" {
			t.Errorf("after %s: %q", name, got)
		}
	}
}

// An image that there isn't is an error that names it.
func TestContainerWithoutItsImage(t *testing.T) {
	opts := Options{Only: KindContainer, Image: "awa-test/there-is-no-such-image:1"}
	if _, err := Find(t.Context(), opts); errors.Is(err, ErrNoServer) {
		t.Skip("no Docker daemon answers: " + err.Error())
	}
	t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	s, err := Start(t.Context(), opts)
	if err == nil {
		t.Fatal(errors.Join(errors.New("it started"), s.Close()))
	}
	if !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "there-is-no-such-image") {
		t.Errorf("%v", err)
	}
}

// ask is one question, or one statement, on a connection of its own.
func ask(t *testing.T, s *Server, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (text string, err error) { return text, row.Scan(&text) })
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(texts, ",")
}

// entrypoint is what the official image does at its start, as far as we rely on it.
const entrypoint = `#!/bin/sh
set -e
if [ ! -s /srv/data/PG_VERSION ]; then
	echo "$POSTGRES_PASSWORD" >/srv/password
	/native/bin/initdb -D /srv/data -U "$POSTGRES_USER" --pwfile=/srv/password -A scram-sha-256 --no-sync
	echo 'host all all all scram-sha-256' >>/srv/data/pg_hba.conf
fi
shift
exec /native/bin/postgres -D /srv/data -c 'listen_addresses=*' -k /srv "$@"
`

const dockerfile = `FROM scratch
COPY root/ /
COPY --chown=999:999 srv /srv
USER 999
EXPOSE 5432
ENTRYPOINT ["/bin/sh", "/start"]
CMD ["postgres"]
`

// localImage builds an image of a downloaded server, the shell and the libraries that they need, and removes it again.
func localImage(t *testing.T) string {
	t.Helper()
	dir, err := downloadFolder(18)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("npm"); err != nil && !exists(dir) {
		t.Skip("no server in the cache to make an image of, and no npm to fetch one: " + err.Error())
	}
	if err := fetch(t.Context(), 18, dir); err != nil {
		t.Fatal(err)
	}
	build := t.TempDir()
	root := filepath.Join(build, "root")
	for _, folder := range []string{root, filepath.Join(build, "srv"), filepath.Join(root, "tmp"), filepath.Join(root, "etc")} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	native := filepath.Join(dir, "node_modules", serverPackage, "native")
	command(t, "cp", "-a", native, filepath.Join(root, "native"))
	for _, lib := range libraries(t, native) {
		command(t, "cp", "--parents", "-L", lib, root)
	}
	command(t, "cp", "-L", "/bin/sh", filepath.Join(root, "bin-sh"))
	for name, text := range map[string]string{
		"root/start": entrypoint, "Dockerfile": dockerfile,
		"root/etc/passwd": "postgres:x:999:999::/srv:/bin/sh\n",
	} {
		if err := os.WriteFile(filepath.Join(build, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "bin-sh"), filepath.Join(root, "bin", "sh")); err != nil {
		t.Fatal(err)
	}
	image := fmt.Sprintf("awa-pgtest-%d:local", os.Getpid())
	command(t, "docker", "build", "-q", "-t", image, build)
	t.Cleanup(func() {
		if out, err := exec.Command("docker", "image", "rm", "-f", image).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return image
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

var libraryPath = regexp.MustCompile(`(/\S+)\s+\(0x`)

// libraries are the files of the machine that the programs, the server's own libraries and the shell load.
func libraries(t *testing.T, native string) []string {
	t.Helper()
	seen := map[string]bool{}
	var all []string
	for _, program := range []string{filepath.Join(native, "bin", "postgres"), filepath.Join(native, "bin", "initdb"), "/bin/sh"} {
		for _, m := range libraryPath.FindAllStringSubmatch(command(t, "ldd", program), -1) {
			if lib := m[1]; !seen[lib] && !strings.HasPrefix(lib, native) {
				seen[lib] = true
				all = append(all, lib)
			}
		}
	}
	return all
}
