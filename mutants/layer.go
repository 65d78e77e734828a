package mutants

import (
	"slices"
	"time"
)

// A Layer is a command of awa-check, or a named Go test, and what it can see.
type Layer struct {
	ID, Name string
	Sees     []Place
	// Command and Args are what awa-check is called with; a defect may bring other arguments. {out} stands for a folder
	// that is thrown away. The named tests have no command.
	Command string
	Args    []string
	// Always are arguments that stay when a defect brings its own.
	Always []string
	Limit  time.Duration
	InTree bool // runs in the tree's folder, where the tools of its checkers are
}

// Tests is the layer of the named Go tests: it sees what a defect says it does.
const Tests = "tests"

var code = []Place{InEngine, InSQL, InSchema}

// Layers are the killers, those that take least time first. The seeds are fixed: a mutant's fate must not depend on the
// day. Lockstep stays short of the number of steps from which it asks that every outcome was seen, since a kill must
// come from a difference.
func Layers() []Layer {
	return []Layer{
		{ID: "L1", Name: "exploration", Sees: []Place{InModel}, Command: "explore", Limit: 2 * time.Minute},
		{
			ID: "L2", Name: "TLA+", Sees: []Place{InModel, InSpec}, Command: "tla", Limit: 3 * time.Minute, InTree: true,
			Args: []string{"MCClaimRingSmall", "BrokenClaimRing"}, Always: []string{"--compare", "--offline"},
		},
		{ID: Tests, Name: "named tests", Sees: slices.Concat(code, []Place{InModel}), Limit: 2 * time.Minute},
		{
			ID: "L3", Name: "lockstep", Sees: slices.Concat(code, []Place{InModel}), Command: "lockstep", Limit: 2 * time.Minute,
			Args: []string{"--runs", "99", "--steps", "40", "--seed", "1"}, Always: []string{"--as-drawn", "--out", "{out}"},
		},
		{
			ID: "L4", Name: "schedules", Sees: code, Command: "schedules", Limit: 5 * time.Minute,
			Args: []string{"--pct", "3", "--runs", "20", "--seed", "1"}, Always: []string{"--out", "{out}"},
		},
		{ID: "L5", Name: "histories", Sees: code, Command: "lin", Limit: 3 * time.Minute},
		{
			ID: "L6", Name: "chaos", Sees: code, Command: "chaos", Limit: 4 * time.Minute,
			Args: []string{"--seed", "1"}, Always: []string{"--evidence", "{out}/chaos"},
		},
	}
}

func findLayer(id string) (Layer, bool) {
	all := Layers()
	i := slices.IndexFunc(all, func(l Layer) bool { return l.ID == id })
	if i < 0 {
		return Layer{}, false
	}
	return all[i], true
}

// sees says whether the layer could find this defect at all.
func (l Layer) sees(d *Defect) bool {
	return slices.Contains(l.Sees, d.Place) && (l.ID != Tests || d.Args[Tests] != nil)
}
