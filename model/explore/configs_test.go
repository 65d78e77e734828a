package explore_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/awa-engine/awa/model/explore"
)

func run(t *testing.T, config explore.Config, options explore.Options) *explore.Report {
	t.Helper()
	r, err := explore.Run(t.Context(), config, options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func find(t *testing.T, name string) explore.Config {
	t.Helper()
	c, err := explore.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// small are the worlds for a short run.
var small = []string{"claimring-small", "queue-ring"}

// Every world holds what it should, puts everything to the test, and can drain from each of its states.
func TestConfigsHold(t *testing.T) {
	t.Parallel()
	for _, c := range explore.Configs() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !slices.Contains(small, c.Name) {
				t.Skip("a large world takes minutes under the race detector, and shows no more of races than a small one")
			}
			r := run(t, c, explore.Options{})
			if !r.OK() {
				t.Error(r)
			}
			t.Log(r)
		})
	}
}

// The twin's graph is as large as TLC says of the spec ClaimRing: distinct states, depth, and one edge less than the
// states that it generates, which counts the first one.
func TestClaimRingIsAsLargeAsItsSpec(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a large world takes minutes under the race detector, and its size has nothing to do with races")
	}
	for name, want := range map[string][3]int{"claimring-small": {900, 1784, 15}, "claimring-wide": {21599, 52503, 21}} {
		r := run(t, find(t, name), explore.Options{})
		if got := [3]int{r.ViewStates, r.ViewEdges, r.ViewDepth}; got != want {
			t.Errorf("%s: states, edges and depth are %v, TLC's are %v", name, got, want)
		}
		if len(r.Graph.States) != r.ViewStates || r.GraphHash != r.Graph.Hash() {
			t.Errorf("%s: the report and its graph differ", name)
		}
	}
}

// Whatever is reported, it is the same for any number of workers: the counts, the graph, the stories.
func TestWorkersDontShow(t *testing.T) {
	t.Parallel()
	brokenPrune := explore.Options{Apply: pruneOpenClaims}
	for _, c := range []struct {
		config  string
		options explore.Options
	}{{"claimring-small", explore.Options{}}, {"batches", explore.Options{}}, {"claimring-wide", brokenPrune}} {
		if c.config == "batches" && testing.Short() {
			continue // a large world that is explored to its end, three times
		}
		var first *explore.Report
		for _, workers := range []int{1, 2, 7} {
			options := c.options
			options.Workers, options.KeepGraph = workers, true
			r := run(t, find(t, c.config), options)
			r.Seconds = 0
			if first == nil {
				first = r
			} else if !reflect.DeepEqual(first, r) {
				t.Errorf("%s: one worker reports\n%v\n%d workers\n%v", c.config, first, workers, r)
			}
		}
	}
}

func TestWhatNeverHappensIsSaid(t *testing.T) {
	t.Parallel()
	c := find(t, "claimring-small")
	c.Bounds.Jobs = 0
	c.Untested = map[string]string{"Begin": "it isn't even offered"}
	r := run(t, c, explore.Options{})
	says := strings.Join(r.Vacuous, "\n")
	for _, want := range []string{
		"Claim never fires, and the configuration gives no reason",
		"NoJobIsLost is never put to the test, and the configuration gives no reason",
		"Begin has a reason to be untested, but there is no such action, invariant or property here",
	} {
		if !strings.Contains(says, want) {
			t.Errorf("%q is missing in:\n%s", want, says)
		}
	}
	c = find(t, "claimring-small")
	c.Untested["Claim"] = "a wrong reason"
	if r := run(t, c, explore.Options{}); r.OK() || r.Vacuous[0] != "Claim should be untested (a wrong reason), and is not" {
		t.Errorf("a wrong reason is let pass: %q", r.Vacuous)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	if _, err := explore.Find("nowhere"); err == nil || !strings.Contains(err.Error(), "claimring-small") {
		t.Errorf("the error doesn't say what there is: %v", err)
	}
	c := find(t, "claimring-small")
	c.RenameJobs = true
	if _, err := explore.Run(t.Context(), c, explore.Options{}); err == nil || !strings.Contains(err.Error(), "symmetry") {
		t.Errorf("a reduced graph would be compared: %v", err)
	}
	c = find(t, "lanes")
	c.Bounds.Actions = []string{"Sneeze"}
	if _, err := explore.Run(t.Context(), c, explore.Options{}); err == nil || !strings.Contains(err.Error(), "Sneeze") {
		t.Errorf("an unknown action is let pass: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	progress := func(p explore.Progress) {
		if p.Depth == 3 {
			cancel(stop)
		}
	}
	if _, err := explore.Run(ctx, find(t, "lifecycle"), explore.Options{Progress: progress}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// With and without symmetry the same holds, of fewer states.
func TestSymmetryLosesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"producers", "lanes"} {
		reduced := find(t, name)
		reduced.Bounds.Jobs = 2
		whole := reduced
		whole.RenameJobs, whole.RenameQueues = false, false
		r, w := run(t, reduced, explore.Options{}), run(t, whole, explore.Options{})
		if r.States >= w.States || len(r.Violations)+len(w.Violations) > 0 {
			t.Errorf("reduced: %v\nwhole: %v", r, w)
		}
		for action, times := range w.Actions {
			if (times == 0) != (r.Actions[action] == 0) {
				t.Errorf("%s fires %d times in the whole, %d in the reduced", action, times, r.Actions[action])
			}
		}
		// A wrong rule is found at the same depth.
		options := explore.Options{Apply: completeClosed}
		r, w = run(t, reduced, options), run(t, whole, options)
		if len(r.Violations) == 0 || r.Depth != w.Depth {
			t.Errorf("wrong rule: reduced: %v\nwhole: %v", r, w)
		}
	}
}

func TestGraphAsDOT(t *testing.T) {
	t.Parallel()
	c := find(t, "claimring-small")
	c.Bounds.Actions, c.Bounds.Jobs = []string{"Enqueue"}, 1
	r := run(t, c, explore.Options{})
	var b strings.Builder
	if err := r.Graph.WriteDOT(&b); err != nil {
		t.Fatal(err)
	}
	want := `digraph states {
  node [shape=box, fontname=monospace];
  0 [label="claims=<<>>;ended=<<>>;gen=0;lane=<<>>;lease=<<>>;pruned=0\l", style=bold];
  1 [label="claims=<<>>;ended=<<\"no\">>;gen=0;lane=<<1>>;lease=<<0>>;pruned=0\l"];
  0 -> 1 [label="Enqueue"];
}
`
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}
