package mapping

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/awa-engine/awa/correctness/tla"
)

// File is where the mapping is kept, from the root of the tree.
const File = "correctness/MAPPING.md"

// Mapping is the table as the tree would have it.
type Mapping struct {
	Text string
	// Rows is how many rows each table has.
	Rows map[string]int
	// Problems are what no writing of the file mends: a side without a row, a row without a side and without a reason.
	Problems []string
}

// Tables are the keys of Mapping.Rows, in the order of the file.
func Tables() []string {
	return []string{"operations", "statements", "variables", "fields", "tables", "invariants", "witnesses"}
}

// Make reads a tree, which begins at the root of the module, and makes its mapping.
func Make(tree fs.FS) (*Mapping, error) {
	b, err := read(tree)
	if err != nil {
		return nil, err
	}
	b.problems = append(b.problems, b.engine.problems...)
	b.problems = append(b.problems, b.notes.problems...)
	text := b.document()
	b.problems = append(b.problems, b.notes.unused()...)
	b.problems = append(b.problems, b.notes.unknown(b.known())...)
	slices.Sort(b.problems)
	return &Mapping{Text: text, Rows: b.rows, Problems: b.problems}, nil
}

// builder holds what the tree says while the tables are made.
type builder struct {
	engine    *engine
	schema    schema
	model     *model
	specs     []tla.Outline
	notes     *notes
	tests     []testFunction
	wrong     []wrongRule
	scenarios []story
	seeds     []story
	lockstep  []string
	chaos     []string

	rows     map[string]int
	problems []string
}

func read(tree fs.FS) (*builder, error) {
	b := &builder{rows: map[string]int{}}
	var errs [10]error
	b.engine, errs[0] = readEngine(tree)
	b.schema, errs[1] = readSchema(tree)
	b.model, errs[2] = readModel(tree)
	b.notes, errs[3] = readNotes(tree)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	specs, err := fs.Sub(tree, "correctness/tla")
	if err != nil {
		return nil, err
	}
	operations := b.operationNames()
	b.specs, errs[4] = tla.Outlines(specs)
	b.wrong, errs[5] = readWrongRules(tree, b.model.actions)
	b.scenarios, errs[6] = readStories(tree, "model/testdata/scenarios/*.txt", operations)
	b.seeds, errs[7] = readStories(tree, "fuzz/seeds/*.txt", operations)
	b.lockstep, errs[8] = readDriven(tree, "fuzz", operations, b.model.actions)
	b.chaos, errs[9] = readDriven(tree, "chaos", operations, nil)
	b.tests = readTests(b.engine.folder, operations)
	return b, errors.Join(errs[:]...)
}

func (b *builder) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// cell is a side of a row that is derived where it can be: if there is nothing, the notes must say why, and only then.
func (b *builder) cell(row, side, derived string, cells map[string]string) string {
	note := cells[side]
	switch {
	case derived != "" && note != "":
		b.problem("%s: notes.txt has something for the side %q, which is derived: %s", row, side, derived)
	case derived == "" && note == "":
		b.problem("%s: nothing on the side %q, and notes.txt doesn't say why", row, side)
		return "?"
	case derived == "":
		return note
	}
	return derived
}

// known is every name that a note may have in backticks.
func (b *builder) known() map[string]bool {
	known := map[string]bool{}
	add := func(names ...string) {
		for _, name := range names {
			known[name] = true
		}
	}
	add(b.engine.folder.names()...)
	add(b.model.folder.names()...)
	add(b.schema.sequences...)
	for name := range b.engine.statements {
		add(name)
	}
	for _, t := range b.schema.tables {
		add(t.name)
		for _, c := range t.columns {
			add(t.name + "." + c)
		}
	}
	for _, spec := range b.specs {
		add(spec.Spec)
		add(spec.Definitions...)
		add(spec.Variables...)
	}
	for _, c := range slices.Concat(b.model.invariants, b.model.properties) {
		add(c.name)
	}
	add(b.operationNames()...)
	for _, t := range b.tests {
		add(t.name)
	}
	return known
}

// operationNames are the names of the engine's operations and of the model's actions, each once.
func (b *builder) operationNames() []string {
	var all []string
	for _, op := range b.engine.operations {
		all = append(all, op.short)
	}
	for _, a := range b.model.actions {
		if !slices.Contains(all, a.name) {
			all = append(all, a.name)
		}
	}
	return all
}

// Drift compares a committed file with the mapping, and tells the first lines that only one of both has. It is empty
// when they are equal.
func (m *Mapping) Drift(committed string) []string {
	switch committed {
	case m.Text:
		return nil
	case "":
		return []string{"the file is missing or empty"}
	}
	count := map[string]int{"": math.MaxInt} // blank lines tell nothing
	for _, line := range strings.Split(committed, "\n") {
		if line != "" {
			count[line]++
		}
	}
	var drift []string
	for i, line := range strings.Split(m.Text, "\n") {
		if count[line] == 0 {
			drift = append(drift, fmt.Sprintf("line %d is missing: %s", i+1, line))
		} else {
			count[line]--
		}
	}
	delete(count, "")
	for _, line := range slices.Sorted(maps.Keys(count)) {
		if count[line] > 0 {
			drift = append(drift, "out of date: "+line)
		}
	}
	if len(drift) == 0 {
		drift = []string{"the lines are the same, in another order"}
	}
	if len(drift) > mostDrift {
		drift = append(drift[:mostDrift:mostDrift], fmt.Sprintf("and %d lines more", len(drift)-mostDrift))
	}
	return drift
}

const mostDrift = 20 // lines told
