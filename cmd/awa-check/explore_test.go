package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/model/explore"
)

func TestExploreOneConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	result, dot, graph := filepath.Join(dir, "r.json"), filepath.Join(dir, "g.dot"), filepath.Join(dir, "g.json")
	code, out, stderr := call(t, "explore", "--config", "claimring-small", "--json", result, "--dot", dot, "--graph", graph)
	if code != report.ExitOK || !strings.Contains(out, "claimring-small") {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}

	item := firstItem(t, result)
	for _, key := range []string{"config", "grain", "states", "transitions", "depth", "seconds", "graph_hash", "actions", "violations"} {
		if _, ok := item[key]; !ok {
			t.Errorf("no %q in the item", key)
		}
	}
	var back explore.Graph
	if err := json.Unmarshal(content(t, graph), &back); err != nil {
		t.Fatal(err)
	}
	if back.Hash() != item["graph_hash"] {
		t.Errorf("the graph that was written has the hash %s, the report says %v", back.Hash(), item["graph_hash"])
	}
	if text := string(content(t, dot)); strings.Count(text, " -> ") != len(back.Edges) {
		t.Errorf("%d edges for Graphviz, %d in JSON", strings.Count(text, " -> "), len(back.Edges))
	}
}

func TestExploreRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`no configuration "ring"`:        {"explore", "--config", "ring"},
		"name its configuration with":    {"explore", "--dot", filepath.Join(t.TempDir(), "all.dot")},
		`unknown command "lanes"`:        {"explore", "lanes"},
		`named "Ring" in the table`:      {"tla", "Ring"},
		`no checker is named "apalache"`: {"tla", "--checker", "apalache", "--offline"},
	} {
		if code, _, stderr := call(t, args...); code != report.ExitNotRun || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d; the message should hold %q:\n%s", args, code, want, stderr)
		}
	}
}

func TestExploredWell(t *testing.T) {
	t.Parallel()
	good := &explore.Report{Config: "good"}
	violated := &explore.Report{Config: "violated", Violations: []explore.Violation{{Name: "NoJobIsLost", Why: "job 1 is nowhere"}}}
	vacuous := &explore.Report{Config: "vacuous", Vacuous: []string{"RescueStale never fires"}}
	if err := exploredWell([]*explore.Report{good}); err != nil {
		t.Errorf("a good one: %v", err)
	}
	err := exploredWell([]*explore.Report{good, violated, vacuous})
	if report.ExitCode(err) != report.ExitFailed || !strings.Contains(err.Error(), "violated, vacuous") {
		t.Errorf("one violated and one vacuous: %v", err)
	}
	for r, want := range map[*explore.Report]string{violated: "job 1 is nowhere", vacuous: "RescueStale never fires"} {
		if all := problems(r); len(all) != 1 || !strings.Contains(all[0], want) {
			t.Errorf("%s: %q should tell %q", r.Config, all, want)
		}
	}
}

func firstItem(t *testing.T, file string) map[string]any {
	t.Helper()
	var r struct{ Items []map[string]any }
	if err := json.Unmarshal(content(t, file), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Items) == 0 {
		t.Fatal("a report without items")
	}
	return r.Items[0]
}

func content(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
