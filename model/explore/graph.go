package explore

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/awa-engine/awa/model"
)

// Graph is a state graph: of the view's states in canonical TLA+ text, or without a view of the model's own in the
// text of [model.Canonical]. Each state and each edge is there once; steps that change nothing are left out.
type Graph struct {
	Init   []int    `json:"init"`
	States []string `json:"states"`
	Edges  []Edge   `json:"edges"`
}

// Edge is a step between states of a graph; the action is its name.
type Edge struct {
	From   int    `json:"from"`
	Action string `json:"action"`
	To     int    `json:"to"`
}

// addGraph makes the graph of a search, and what the report says of it. Several states may have one view: their
// edges are then the edges of that view's state, and what changes nothing that the view shows is a stutter.
func (s *search) addGraph(r *Report) {
	view := s.config.View
	if view == nil {
		view = func(s model.Store) string { return model.Canonical(s) }
	}
	g := &Graph{Init: []int{0}}
	known := map[string]int{}
	viewed := make([]int, s.visited.len()) // the graph's state of each of the search's
	state := s.empty()
	for n := range viewed {
		state.Decode(s.visited.state(n))
		text := view(state)
		at, ok := known[text]
		if !ok {
			at = len(g.States)
			known[text] = at
			g.States = append(g.States, text)
		}
		viewed[n] = at
	}
	seen := map[edge]bool{}
	for _, e := range s.edges {
		e.from, e.to = int32(viewed[e.from]), int32(viewed[e.to])
		if e.from != e.to && !seen[e] {
			seen[e] = true
			g.Edges = append(g.Edges, Edge{int(e.from), s.config.Bounds.Actions[e.action], int(e.to)})
		}
	}
	// Workers gather edges in any order.
	slices.SortFunc(g.Edges, func(a, b Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		if a.To != b.To {
			return a.To - b.To
		}
		return strings.Compare(a.Action, b.Action)
	})
	r.Graph = g
	if s.config.View != nil {
		r.GraphHash = g.Hash()
		r.ViewStates, r.ViewEdges, r.ViewDepth = len(g.States), len(g.Edges), g.Depth()
	}
}

// Hash identifies a graph whatever the order of its states: SHA-256, in hex, over the sorted lines `from TAB action
// TAB to`. A spec's graph that a checker dumped is hashed in the same way, so equal hashes are equal graphs.
func (g *Graph) Hash() string {
	lines := make([]string, len(g.Edges))
	for i, e := range g.Edges {
		lines[i] = g.States[e.From] + "\t" + e.Action + "\t" + g.States[e.To] + "\n"
	}
	slices.Sort(lines)
	sum := sha256.New()
	for _, line := range slices.Compact(lines) {
		sum.Write([]byte(line))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Depth is the number of states on the longest of the shortest ways to a state, as TLC counts it.
func (g *Graph) Depth() int {
	next := make([][]int, len(g.States))
	for _, e := range g.Edges {
		next[e.From] = append(next[e.From], e.To)
	}
	depth := make([]int, len(g.States))
	deepest := 0
	todo := slices.Clone(g.Init)
	for _, n := range todo {
		depth[n] = 1
	}
	for len(todo) > 0 {
		n := todo[0]
		todo = todo[1:]
		deepest = max(deepest, depth[n])
		for _, to := range next[n] {
			if depth[to] == 0 {
				depth[to] = depth[n] + 1
				todo = append(todo, to)
			}
		}
	}
	return deepest
}

// WriteDOT writes the graph for Graphviz. It is for graphs that people can look at; larger ones are for programs, which
// read the JSON.
func (g *Graph) WriteDOT(to io.Writer) error {
	w := bufio.NewWriter(to)
	fmt.Fprintln(w, "digraph states {\n  node [shape=box, fontname=monospace];")
	for n, text := range g.States {
		style := ""
		if slices.Contains(g.Init, n) {
			style = ", style=bold"
		}
		label := strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", `\l`)
		fmt.Fprintf(w, "  %d [label=\"%s\\l\"%s];\n", n, strings.ReplaceAll(label, `"`, `\"`), style)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(w, "  %d -> %d [label=%q];\n", e.From, e.To, e.Action)
	}
	fmt.Fprintln(w, "}")
	return w.Flush()
}
