package tla

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Outline is the names of a spec, for those who compare them with names elsewhere. It says what the spec has, not what
// any of it means.
type Outline struct {
	Spec      string
	Variables []string // in the order of their declaration
	Actions   []string // whose disjunction is the next-state relation, in the order of their definitions
	// Invariants and Properties are those of the rows that have to pass, in the order of their definitions.
	Invariants, Properties []string
	// Promises gives, for a definition whose comment begins with it, the promise that it guards, such as "P2".
	Promises map[string]string
	// Definitions are all operators, those of the modules that extend the spec included.
	Definitions []string
	Failing     []Failing
}

// Failing is a configuration that has to be violated.
type Failing struct {
	Module, Config, Expect string
	// Replaced are the actions of the spec that its next-state relation lacks: it has wrong ones instead. It is empty
	// where the relation is the spec's; then the fairness differs, or it is a witness.
	Replaced []string
}

// Outlines reads the specs that the table of expectations names, in its order.
func Outlines(specs fs.FS) ([]Outline, error) {
	rows, err := ReadTable(specs)
	if err != nil {
		return nil, err
	}
	var all []Outline
	for _, row := range rows {
		at := slices.IndexFunc(all, func(o Outline) bool { return o.Spec == row.Spec })
		if at < 0 {
			at = len(all)
			o, err := outlineOf(specs, row.Spec)
			if err != nil {
				return nil, err
			}
			all = append(all, o)
		}
		if err := all[at].add(specs, row); err != nil {
			return nil, err
		}
	}
	for i := range all {
		all[i].arrange()
	}
	return all, nil
}

var (
	variables = regexp.MustCompile(`(?m)^VARIABLES?\b((?:.*\n)(?:[ \t]+.*\n|[ \t]*\n)*)`)
	promised  = regexp.MustCompile(`(?m)^\\\* (P\d+): .*\n(?:\\\* .*\n)*(\w+)(?:\([^)]*\))? *==`)
)

func outlineOf(specs fs.FS, spec string) (Outline, error) {
	text, err := fs.ReadFile(specs, spec+".tla")
	if err != nil {
		return Outline{}, fmt.Errorf("spec %s: %w", spec, err)
	}
	o := Outline{Spec: spec, Promises: map[string]string{}}
	bare := withoutComments(string(text))
	for _, m := range variables.FindAllStringSubmatch(bare, -1) {
		o.Variables = append(o.Variables, word.FindAllString(m[1], -1)...)
	}
	for _, m := range promised.FindAllStringSubmatch(string(text), -1) {
		o.Promises[m[2]] = m[1]
	}
	for _, m := range definitionHead.FindAllStringSubmatch(bare, -1) {
		o.Definitions = append(o.Definitions, m[1])
	}
	return o, nil
}

// add takes in what one row of the table says. A row that passes with the spec's own next-state relation names its
// actions; every row names what has to hold, or fail.
func (o *Outline) add(specs fs.FS, row Row) error {
	text, err := flatten(specs, row.Module)
	if err != nil {
		return err
	}
	cfg, err := readConfig(specs, row.Config)
	if err != nil {
		return err
	}
	defs := definitionsOf(text)
	for name := range defs {
		if !slices.Contains(o.Definitions, name) {
			o.Definitions = append(o.Definitions, name)
		}
	}
	actions := defs.actions(defs.next(cfg))
	if row.Expect != Pass {
		f := Failing{Module: row.Module, Config: row.Config, Expect: row.Expect}
		f.Replaced = slices.DeleteFunc(defs.actions("Next"), func(name string) bool { return slices.Contains(actions, name) })
		o.Failing = append(o.Failing, f)
		return nil
	}
	o.Actions = append(o.Actions, actions...)
	o.Invariants = append(o.Invariants, cfg.invariants...)
	o.Properties = append(o.Properties, cfg.properties...)
	return nil
}

// arrange puts names into the order of the spec's text, each once. A definition of another module comes after.
func (o *Outline) arrange() {
	place := func(name string) int { return slices.Index(o.Definitions, name) }
	for _, names := range []*[]string{&o.Actions, &o.Invariants, &o.Properties} {
		slices.SortFunc(*names, func(a, b string) int { return place(a) - place(b) })
		*names = slices.Compact(*names)
	}
	slices.SortFunc(o.Definitions, strings.Compare)
}
