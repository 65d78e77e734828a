package model

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenarios give now into their files; look at the difference")

// A scenario is a file: prose, a configuration, operations; after ---- stand the answers and the state at the end.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, want, _ := strings.Cut(string(text), "----\n")
			got := play(t, head)
			if *rewrite {
				if err := os.WriteFile(file, []byte(strings.TrimRight(head, "\n")+"\n\n----\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// play runs a scenario on both stores, checks every invariant on the way, and gives story and end.
func play(t *testing.T, head string) string {
	t.Helper()
	before, script, ok := strings.Cut(head, "config ")
	if !ok || !strings.HasPrefix(before, "#") {
		t.Fatal("a scenario begins with prose and a line `config …`")
	}
	line, script, _ := strings.Cut(script, "\n")
	var config Config
	var queues string
	if _, err := fmt.Sscanf(line, "queue_slots=%d claim_slots=%d queues=%s", &config.QueueSlots, &config.ClaimSlots, &queues); err != nil {
		t.Fatalf("config %s: %v", line, err)
	}
	config.Queues = strings.Split(queues, ",")
	actions, err := ParseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	var story, again Story
	flat, mutable := NewFlat(&config), NewMutable(&config)
	for _, a := range actions {
		pre := Snapshot(flat)
		r, err := story.Tell(flat, a)
		_, _ = again.Tell(mutable, a)
		checkStep(t, Step{Pre: pre, Action: a, Result: r, Post: flat}, err)
	}
	if story.String() != again.String() || Canonical(flat) != Canonical(mutable) {
		t.Errorf("the stores tell two stories:\n%s\n%s", story, again)
	}
	return story.String() + "\n" + Canonical(flat)
}

func checkStep(t *testing.T, step Step, refused error) {
	t.Helper()
	for _, i := range Invariants() {
		if err := i.Check(step.Post); err != nil {
			t.Errorf("%s after %s: %v", i.Name, step.Action, err)
		}
	}
	if refused != nil {
		return
	}
	for _, p := range Properties() {
		if err := p.Check(step); err != nil {
			t.Errorf("%s by %s: %v", p.Name, step.Action, err)
		}
	}
}
