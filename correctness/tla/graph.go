package tla

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Graph is a state graph. States are canonical texts, each once; the other fields are indices into them.
type Graph struct {
	Init   []int
	States []string
	Edges  []Edge
}

// Edge is a step: the action that makes it is named without its parameters.
type Edge struct {
	From   int
	Action string
	To     int
}

// Hash identifies a graph whatever the order of its states and edges: SHA-256 in hex over the sorted distinct lines
// `from TAB action TAB to`. Self loops are left out, since a checker may print them or not.
func (g Graph) Hash() string {
	sum := sha256.New()
	for _, line := range g.edgeLines() {
		sum.Write([]byte(line))
		sum.Write([]byte{'\n'})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (g Graph) edgeLines() []string {
	lines := make([]string, 0, len(g.Edges))
	for _, e := range g.Edges {
		if g.States[e.From] != g.States[e.To] {
			lines = append(lines, strings.Join([]string{g.States[e.From], e.Action, g.States[e.To]}, "\t"))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func (g Graph) initLines() []string {
	lines := make([]string, len(g.Init))
	for i, s := range g.Init {
		lines[i] = g.States[s]
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func (g Graph) stateLines() []string {
	lines := slices.Clone(g.States)
	slices.Sort(lines)
	return slices.Compact(lines)
}

// fired counts the edges of each action, self loops included.
func (g Graph) fired() map[string]int {
	times := map[string]int{}
	for _, e := range g.Edges {
		times[e.Action]++
	}
	return times
}

// depth is the number of levels of a breadth-first search, which is what TLC prints: 1 when there are only initial
// states.
func (g Graph) depth() int {
	next := make([][]int, len(g.States))
	for _, e := range g.Edges {
		next[e.From] = append(next[e.From], e.To)
	}
	seen := make([]bool, len(g.States))
	level := g.Init
	for _, s := range level {
		seen[s] = true
	}
	levels := 0
	for len(level) > 0 {
		levels++
		var below []int
		for _, s := range level {
			for _, to := range next[s] {
				if !seen[to] {
					seen[to] = true
					below = append(below, to)
				}
			}
		}
		level = below
	}
	return levels
}

// stuck finds a state without any outgoing edge, self loops counting as edges; "" when there is none.
func (g Graph) stuck() string {
	moves := make([]bool, len(g.States))
	for _, e := range g.Edges {
		moves[e.From] = true
	}
	if i := slices.Index(moves, false); i >= 0 {
		return g.States[i]
	}
	return ""
}
