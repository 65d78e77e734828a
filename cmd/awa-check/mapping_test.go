package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/correctness/mapping"
)

// cloneSource copies what the mapping is made of, as it is in the work tree.
func cloneSource(t *testing.T) string {
	t.Helper()
	from, to := filepath.Join("..", ".."), t.TempDir()
	for _, dir := range []string{"engine", "model", "correctness", "fuzz", "chaos"} {
		if err := os.CopyFS(filepath.Join(to, dir), os.DirFS(filepath.Join(from, dir))); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "go.mod"), content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// The whole command: it finds the root from a folder below, writes, agrees with itself, and sees a change. The working
// folder is the process's, so this test has it alone.
func TestMapping(t *testing.T) {
	root := cloneSource(t)
	t.Chdir(filepath.Join(root, "engine", "schema"))
	file := filepath.Join(root, filepath.FromSlash(mapping.File))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want := func(code int, text string, args ...string) {
		t.Helper()
		got, out, stderr := call(t, append([]string{"mapping"}, args...)...)
		if got != code || !strings.Contains(out+stderr, text) {
			t.Errorf("mapping %v: exit code %d, want %d and %q:\n%s%s", args, got, code, text, out, stderr)
		}
	}
	want(report.ExitFailed, "missing")
	result := filepath.Join(t.TempDir(), "r.json")
	want(report.ExitOK, "operations", "--write", "--json", result)
	if item := firstItem(t, result); item["table"] != "operations" || item["rows"] == 0.0 {
		t.Errorf("first item %v", item)
	}
	want(report.ExitOK, "operations")

	seed := filepath.Join(root, "fuzz", "seeds", "another.txt")
	if err := os.WriteFile(seed, []byte("# awa seed, format 1\nReopen\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(report.ExitFailed, "out of date: see what differs")
	want(report.ExitOK, "operations", "--write")
	if err := os.WriteFile(seed, []byte("# Found with a line taken out: nothing held.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(report.ExitFailed, "seed another", "--write")

	t.Chdir(t.TempDir())
	want(report.ExitNotRun, "isn't a clone")
}
