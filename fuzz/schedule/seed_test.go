package schedule

import (
	"slices"
	"strings"
	"testing"
)

func scenario(t *testing.T, name string) *Scenario {
	t.Helper()
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s *Scenario) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no scenario %s", name)
	}
	return all[i]
}

// A scenario, and a seed, is its text.
func TestScenariosPrintAsTheyAreRead(t *testing.T) {
	t.Parallel()
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		text, err := scenarioFiles.ReadFile("scenarios/" + s.Name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if s.String() != string(text) {
			t.Errorf("%s is read as\n%s", s.Name, s)
		}
		seed := &Seed{Scenario: s, Fire: true, Drawn: 7, Found: "something", Schedule: []Turn{{s.Sessions[0].Name, 3}}}
		again, err := ParseSeed(seed.String())
		if err != nil {
			t.Fatal(err)
		}
		if again.String() != seed.String() {
			t.Errorf("the seed\n%s\nis read as\n%s", seed, again)
		}
	}
}

func TestScenariosAreRefused(t *testing.T) {
	t.Parallel()
	good := scenario(t, "two-rotations").String()
	for name, text := range map[string]string{
		"no prose":            good[strings.Index(good, "world:"):],
		"no session":          good[:strings.Index(good, "session")],
		"unknown line":        good + "colour: green\n",
		"unknown operation":   strings.ReplaceAll(good, "RotateQueue", "TurnQueue"),
		"unknown expectation": good + "  hopes first 1 rotated\n",
		"unknown mode":        strings.ReplaceAll(good, "exhausted", "all of them"),
		"unknown branch":      strings.ReplaceAll(good, "lock_timeout: wait", "lock_timeout: long"),
	} {
		if s, err := ParseScenario(name, text); err == nil {
			t.Errorf("%s: read as\n%s", name, s)
		}
	}
}

// A session that names a job which nobody makes would fail for that alone, and a failure would shrink to it.
func TestUnknownJobsAreRefused(t *testing.T) {
	text := strings.ReplaceAll(scenario(t, "set-priority-rotate-prune").String(), "SetPriority jobs=1", "SetPriority jobs=2")
	sc, err := ParseScenario("unknown", text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Explore(t.Context(), server, "unknown", sc, Options{}); err == nil || !strings.Contains(err.Error(), "makes no job 2") {
		t.Errorf("%v, want an error that names the job", err)
	}
}

// What a saved schedule says is done: the same statements in the same order, three times out of three.
func TestReplayFollowsTheSeed(t *testing.T) {
	sc := scenario(t, "complete-rescue")
	seed := &Seed{Scenario: sc, Schedule: []Turn{{"leader", 9}, {"worker", 3}, {"leader", 2}}}
	var first string
	for i := range 3 {
		r, err := Replay(t.Context(), server, "replayed", seed)
		if err != nil {
			t.Fatal(err)
		}
		if r.Failure != nil {
			t.Fatalf("%v\n%s", r.Failure, r.Story)
		}
		if i == 0 {
			first = r.Story
		}
		if r.Story != first {
			t.Errorf("the same seed gave\n%s\nand then\n%s", first, r.Story)
		}
	}
	if !strings.Contains(first, "waits for leader") {
		t.Errorf("the worker didn't wait for the leader's key:\n%s", first)
	}
}

// Every seed that the project keeps must pass.
func TestKeptSeeds(t *testing.T) {
	kept, err := Kept()
	if err != nil || len(kept) == 0 {
		t.Fatalf("%d seeds, %v", len(kept), err)
	}
	for name, seed := range kept {
		r, err := Replay(t.Context(), server, "kept", seed)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if r.Failure != nil {
			t.Errorf("%s: %s\n%s\n%s", name, r.Failure.What, r.Failure.Detail, r.Story)
		}
	}
}
