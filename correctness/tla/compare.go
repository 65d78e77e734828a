package tla

import (
	"fmt"
	"strings"
)

// Diff tells how two graphs differ: what only one of them has, in full. Edges are written `state TAB action TAB state`.
type Diff struct {
	OnlySpecInit, OnlyModelInit     []string
	OnlySpecStates, OnlyModelStates []string
	OnlySpecEdges, OnlyModelEdges   []string
}

// Compare looks for differences between the graph of a spec and that of the model. Self loops don't count.
func Compare(spec, model Graph) Diff {
	var d Diff
	d.OnlySpecInit, d.OnlyModelInit = onlyIn(spec.initLines(), model.initLines())
	d.OnlySpecStates, d.OnlyModelStates = onlyIn(spec.stateLines(), model.stateLines())
	d.OnlySpecEdges, d.OnlyModelEdges = onlyIn(spec.edgeLines(), model.edgeLines())
	return d
}

// onlyIn merges two sorted lists without repetitions.
func onlyIn(a, b []string) (onlyA, onlyB []string) {
	for len(a) > 0 && len(b) > 0 {
		switch strings.Compare(a[0], b[0]) {
		case -1:
			onlyA, a = append(onlyA, a[0]), a[1:]
		case 1:
			onlyB, b = append(onlyB, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return append(onlyA, a...), append(onlyB, b...)
}

// Empty says whether the graphs are equal.
func (d Diff) Empty() bool {
	return len(d.OnlySpecInit)+len(d.OnlyModelInit)+len(d.OnlySpecStates)+len(d.OnlyModelStates)+
		len(d.OnlySpecEdges)+len(d.OnlyModelEdges) == 0
}

// shownDifferences is how many of each kind String shows.
const shownDifferences = 3

// String counts the differences of each kind and shows the first few.
func (d Diff) String() string {
	if d.Empty() {
		return "the graphs are equal"
	}
	var b strings.Builder
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"initial states only in the spec", d.OnlySpecInit},
		{"initial states only in the model", d.OnlyModelInit},
		{"states only in the spec", d.OnlySpecStates},
		{"states only in the model", d.OnlyModelStates},
		{"edges only in the spec", d.OnlySpecEdges},
		{"edges only in the model", d.OnlyModelEdges},
	} {
		if len(part.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%d %s\n", len(part.lines), part.title)
		for _, line := range part.lines[:min(len(part.lines), shownDifferences)] {
			b.WriteString(showDifference(line))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// showDifference writes of an edge what it changes, since states are long and a step touches few variables.
func showDifference(line string) string {
	parts := strings.Split(line, "\t")
	if len(parts) != 3 {
		return "  " + line + "\n"
	}
	from, to := strings.Split(parts[0], ";"), strings.Split(parts[2], ";")
	b := "  " + parts[1] + " from " + parts[0] + "\n"
	for i := range min(len(from), len(to)) {
		if from[i] != to[i] {
			b += "    to " + to[i] + "\n"
		}
	}
	return b
}
