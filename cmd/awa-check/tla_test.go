package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/correctness/tla"
)

func TestTLAOneConfiguration(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("WebAssembly is slow under the race detector, and has one thread")
	}
	checker, err := tla.FindTLAChecker(t.Context(), tla.Options{Offline: true})
	if err != nil {
		t.Skipf("tla-checker isn't installed (make needs does that): %v", err)
	}
	if err := checker.Close(t.Context()); err != nil {
		t.Error(err)
	}

	file := filepath.Join(t.TempDir(), "r.json")
	code, out, stderr := call(t, "tla", "--offline", "--checker", "tla-checker", "--compare", "--json", file, "MCClaimRingSmall")
	if code != report.ExitOK || !strings.Contains(out, "equal") {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}
	item := firstItem(t, file)
	for _, key := range []string{"spec", "config", "checker", "expect", "got", "ok", "distinct", "generated", "depth", "graph_hash", "seconds"} {
		if _, ok := item[key]; !ok {
			t.Errorf("no %q in the item", key)
		}
	}
}

func TestJudgement(t *testing.T) {
	t.Parallel()
	good := tla.Item{Config: "Good", Expect: tla.Pass, Got: tla.Pass, Ran: true, OK: true, Compared: true, Distinct: 11720}
	bad := tla.Item{Config: "Bad", Expect: tla.Pass, Got: "NoJobIsLost", Ran: true, Why: "NoJobIsLost is violated", Trace: "State 1\n"}
	left := tla.Item{Config: "Left", Expect: tla.Pass, Why: "not run: needs TLC"}

	if err := (judgement{items: []tla.Item{good, left}}).verdict(); err != nil {
		t.Errorf("what did not run has not failed: %v", err)
	}
	j := judgement{checker: tla.TLAChecker, version: "tla-checker 0.9.0", noTLC: "no Java", items: []tla.Item{good, bad, left}}
	if err := j.verdict(); report.ExitCode(err) != report.ExitFailed {
		t.Errorf("one failed, and the verdict is %v", err)
	}
	var out bytes.Buffer
	(&app{term: &term.Terminal{Out: &out}}).printJudged(j)
	for _, want := range []string{"TLC: NOT RUN: no Java", "11,720", "equal", "FAILED", "State 1", "NOT RUN", "not run: needs TLC"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestRowsOf(t *testing.T) {
	t.Parallel()
	all := []tla.Row{{Spec: "Ring", Module: "MCRing", Config: "Small"}, {Spec: "Ring", Module: "BrokenRing", Config: "Bad"}, {Spec: "Lock", Module: "MCLock", Config: "L"}}
	for name, want := range map[string]int{"": 3, "Ring": 2, "MCRing": 1, "Bad Ring": 2, "L Small": 2} {
		some, err := rowsOf(all, strings.Fields(name))
		if err != nil || len(some) != want {
			t.Errorf("%q: %d rows, want %d; %v", name, len(some), want, err)
		}
	}
	if _, err := rowsOf(all, []string{"Nothing"}); err == nil {
		t.Error("a name that isn't there goes unnoticed")
	}
}
