package fuzz

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/awa-engine/awa/model"
)

// What is drawn must come to every outcome often, or a run of any length shows little: the model alone says so, in seconds.
func TestGeneratorReachesEveryOutcome(t *testing.T) {
	const runs, steps, enough = 2_000, 60, 100
	counts := map[string]int{}
	if check(runs, 1, func(t *rapid.T) { reach(t, steps, counts) }) {
		t.Fatal("the model doesn't take what is drawn")
	}
	var rare []string
	for _, outcome := range expectedOutcomes {
		if counts[outcome] < enough && outcome != "Audit" {
			rare = append(rare, fmt.Sprintf("%s: %d", outcome, counts[outcome]))
		}
	}
	if len(rare) > 0 {
		t.Errorf("fewer than %d in %d x %d operations:\n%s", enough, runs, steps, strings.Join(rare, "\n"))
	}
}

// reach draws a sequence and runs it on the model alone.
func reach(t *rapid.T, steps int, counts map[string]int) {
	w := drawWorld(t)
	r := &run{store: model.NewMutable(w.Config()), counts: counts}
	g := newGenerator(t, w)
	for range steps {
		a := g.draw(t, r.store)
		_, ok, err := r.tell(a)
		if err != nil {
			t.Fatalf("%s: %v", a, err)
		}
		if ok { // else it would wait for a caller's transaction
			g.learn(r.story)
		}
	}
}
