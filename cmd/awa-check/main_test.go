package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// call runs the command as main does, without a terminal and with no environment.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err, func(string) string { return "" })
	return code, out.String(), err.String()
}

func TestWhatCannotRunExits2(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "no", "such", "folder", "file")
	for name, c := range map[string]struct {
		args []string
		want string // in the message
	}{
		"an unknown command":       {[]string{"conjure"}, `unknown command "conjure"`},
		"an unknown flag":          {[]string{"verify", "--fast"}, "see: awa-check verify --help"},
		"an argument too many":     {[]string{"doctor", "now"}, `unknown command "now"`},
		"a profile that isn't one": {[]string{"verify", "--profile", "brisk"}, `"brisk": must be quick, standard or full`},
		"a JSON file nowhere":      {[]string{"verify", "--json", missing}, "--json: open"},
		"an HTML file nowhere":     {[]string{"verify", "--html", missing}, "--html: open"},
		"a JUnit file nowhere":     {[]string{"verify", "--junit", missing}, "--junit: open"},
		"a server that isn't":      {[]string{"doctor", "--dsn", "postgres://nobody@127.0.0.1:1/none"}, "without PostgreSQL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := call(t, c.args...)
			if code != 2 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, want 2; the message should hold %q:\n%s", code, c.want, stderr)
			}
		})
	}
}

func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	a := &app{}
	for _, cmd := range a.root().Commands() {
		if cmd.IsAvailableCommand() && (cmd.Example == "" || cmd.Long == "") {
			t.Errorf("%s --help has no example or no explanation", cmd.Name())
		}
	}
	if code, out, _ := call(t); code != 0 || !strings.Contains(out, "doctor") {
		t.Errorf("without arguments: exit code %d and\n%s", code, out)
	}
}

// The keys are promised: scripts read them.
func TestJSONShape(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "doctor.json")
	call(t, "doctor", "--json", file)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report map[string]any
	if err := json.Unmarshal(content, &report); err != nil {
		t.Fatal(err)
	}
	delete(report, "error") // there only when ok is false
	want := []string{"command", "environment", "items", "ok", "seconds", "version"}
	if got := slices.Sorted(maps.Keys(report)); !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	items, _ := report["items"].([]any)
	if report["command"] != "doctor" || len(items) == 0 {
		t.Errorf("command %v with %d items", report["command"], len(items))
	}
	for _, item := range items {
		for _, key := range []string{"name", "found", "use"} {
			if _, ok := item.(map[string]any)[key]; !ok {
				t.Errorf("an item lacks %q: %v", key, item)
			}
		}
	}
}
