package schedule

import (
	"fmt"
	"testing"
)

// A toy is sessions whose statements are footprints; it is run without a server. Its result is the order of the
// statements that meet.
type toy [][]Footprint

func (y toy) run(t *testing.T, s strategy) string {
	t.Helper()
	s.begin()
	at := make([]int, len(y))
	last, result := -1, ""
	for step := 0; ; step++ {
		var c []candidate
		for i, session := range y {
			if at[i] < len(session) {
				c = append(c, candidate{i, fmt.Sprint(i, at[i]), session[at[i]]})
			}
		}
		if len(c) == 0 {
			return result
		}
		i, err := s.choose(step, c, last)
		if err != nil {
			t.Fatal(err)
		}
		f := y[i][at[i]]
		s.took(Step{Session: i, Footprint: f})
		for r := range f.uses {
			if r == "row:x" {
				result += fmt.Sprint(i)
			}
		}
		at[i]++
		last = i
	}
}

func (y toy) explore(t *testing.T, m Mode) (results map[string]int, runs int) {
	t.Helper()
	e := newExplorer(m)
	results = map[string]int{}
	for more := true; more; more = e.next() {
		result := y.run(t, e)
		if !e.cut {
			results[result]++
			runs++
		}
	}
	return results, runs
}

func row(name string) (f Footprint) {
	f.add("row:"+name, changes)
	return f
}

func TestExplorersMissNothing(t *testing.T) {
	t.Parallel()
	y := toy{
		{row("a"), row("x"), row("b"), row("x")},
		{row("c"), row("x"), row("x")},
		{row("x"), row("d")},
	}
	all, runs := y.explore(t, Mode{Kind: Exhausted})
	if runs != 1260 || len(all) != 30 { // 9!/(4!3!2!) orders, 5!/(2!2!1!) of the statements that meet
		t.Errorf("exhausted: %d runs, %d results", runs, len(all))
	}
	reduced, runs := y.explore(t, Mode{Kind: Reduced})
	if len(reduced) != len(all) || runs != len(all) {
		t.Errorf("reduced: %d runs, %d of %d results", runs, len(reduced), len(all))
	}
	none, runs := y.explore(t, Mode{Kind: Bounded})
	if runs != 6 || len(none) != 6 {
		t.Errorf("without preemptions: %d runs, %d results, not the 6 orders of the sessions", runs, len(none))
	}
	two, runs := y.explore(t, Mode{Kind: Bounded, Preemptions: 2})
	if runs <= 6 || runs >= 1260 || len(two) <= 6 {
		t.Errorf("with two preemptions: %d runs, %d results", runs, len(two))
	}
}

func TestSamplesAreReproducible(t *testing.T) {
	t.Parallel()
	y := toy{{row("x"), row("x"), row("x")}, {row("x"), row("x")}, {row("x")}}
	draw := func(seed uint64) string {
		s := newSampler(Mode{Kind: Sampled, Depth: 3, Runs: 20}, seed, len(y))
		text := ""
		for more := true; more; more = s.next() {
			text += y.run(t, s) + " "
		}
		return text
	}
	if once, again := draw(1), draw(1); once != again {
		t.Error("the same seed drew other schedules")
	}
	if draw(1) == draw(2) {
		t.Error("two seeds drew the same schedules")
	}
}

// Sessions that wait for each other are found, in whatever way the waits lie.
func TestCyclesAreFound(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		waits [][]int
		cycle bool
	}{
		{[][]int{{1}, {0}}, true},
		{[][]int{{1}, {}}, false},
		{[][]int{{1}, {2}, {0}}, true},
		{[][]int{{1, 2}, {}, {0}}, true},
		{[][]int{{1}, {2}, {}}, false},
		{[][]int{{2}, {2}, {}}, false},
		{[][]int{{0}}, true}, // a session that waits for its own transaction
	} {
		r := &run{state: make([]sessionState, len(x.waits))}
		for i, w := range x.waits {
			if len(w) > 0 {
				r.state[i] = sessionState{phase: waiting, waitsOn: w}
			}
		}
		found := false
		for i := range r.state {
			found = found || r.waitPath(i, i, []int{i}) != nil
		}
		if found != x.cycle {
			t.Errorf("waits %v: a cycle was found: %t", x.waits, found)
		}
	}
}
