package mapping

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// statementTable has a row for each template.
func (b *builder) statementTable(d *document) {
	all := slices.SortedFunc(maps.Values(b.engine.statements), byFile)
	var rows, parts [][]string
	for _, s := range all {
		users := strings.Join(b.engine.usersOf(s), ", ")
		if s.isPart() {
			var of []string
			for _, other := range all {
				if slices.Contains(other.parts, s.name) {
					of = append(of, other.name)
				}
			}
			parts = append(parts, []string{"`" + s.name + "`", s.file, codes(of)})
			continue
		}
		rows = append(rows, []string{"`" + s.name + "`", s.file, users})
	}
	b.rows["statements"] = len(all)
	d.heading(2, "Statements")
	d.table([]string{"statement", "file", "operations"}, rows)
	d.WriteString("\nParts, which stand in several statements:\n\n")
	d.table([]string{"part", "file", "in"}, parts)
}

// variableTables are the state on its sides: a spec's variables, the model's fields, the engine's columns.
func (b *builder) variableTables(d *document) {
	d.heading(2, "State: variables of the specs")
	var rows [][]string
	for _, spec := range b.specs {
		view, ok := b.model.views[spec.Spec]
		switch why := b.notes.of("spec", spec.Spec)["model"]; {
		case !ok && why == "":
			b.problem("spec %s: the model has no view `%sView` of it, and notes.txt doesn't say why", spec.Spec, spec.Spec)
		case ok && why != "":
			b.problem("spec %s: notes.txt says why the model has no view of it, and it has one", spec.Spec)
		case !ok:
			d.WriteString(fmt.Sprintf("%s has no view in the model: %s.\n\n", spec.Spec, strings.TrimPrefix(why, reason)))
		}
		for _, v := range slices.Concat(spec.Variables, view) {
			switch {
			case ok && !slices.Contains(view, v):
				b.problem("spec %s: its variable `%s` isn't in the model's view", spec.Spec, v)
			case !slices.Contains(spec.Variables, v):
				b.problem("spec %s: the model's view prints `%s`, which is no variable", spec.Spec, v)
			}
		}
		for _, v := range spec.Variables {
			name := spec.Spec + "." + v
			cells := b.notes.of("variable", name)
			rows = append(rows, []string{
				"`" + v + "` of " + spec.Spec,
				b.cell("variable "+name, "model", "", cells), b.cell("variable "+name, "engine", "", cells),
			})
		}
	}
	b.rows["variables"] = len(rows)
	d.table([]string{"variable", "model", "engine"}, rows)

	d.heading(2, "State: fields of the model")
	named := map[string]string{} // column → field
	rows = nil
	for _, f := range b.model.state {
		cell := b.cell("field "+f, "engine", "", b.notes.of("field", f))
		rows = append(rows, []string{"`" + f + "`", cell})
		if !strings.HasPrefix(cell, reason) {
			for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
				named[m[1]] = f
			}
		}
	}
	b.rows["fields"] = len(rows)
	d.table([]string{"field", "engine"}, rows)
	b.tableOfTables(d, named)
}

// tableOfTables has a row for each table of the schema. Each column is named by a field of the model, or the notes say
// what it is there for.
func (b *builder) tableOfTables(d *document, named map[string]string) {
	var rows [][]string
	for _, t := range b.schema.tables {
		besides := b.notes.of("table", t.name)["besides"]
		listed, _, _ := strings.Cut(besides, reason)
		var modelled, rest []string
		for _, c := range t.columns {
			field := named[t.name+"."+c]
			inNotes := strings.Contains(listed, "`"+t.name+"."+c+"`")
			switch {
			case field != "" && inNotes:
				b.problem("table %s: notes.txt says that `%s` is in no field, but %s names it", t.name, c, field)
			case field != "":
				modelled = append(modelled, "`"+c+"`")
			case inNotes:
				rest = append(rest, "`"+c+"`")
			default:
				b.problem("table %s: no field of the model names its column `%s`, and notes.txt doesn't say why", t.name, c)
			}
		}
		cell := strings.Join(rest, ", ")
		if _, why, ok := strings.Cut(besides, reason); ok {
			cell += ": " + why
		} else if len(rest) > 0 {
			b.problem("table %s: notes.txt doesn't say why columns are in no field", t.name)
		}
		rows = append(rows, []string{"`" + t.name + "`", orDash(strings.Join(modelled, ", ")), orDash(cell)})
	}
	b.rows["tables"] = len(rows)
	d.heading(2, "State: tables of the engine")
	d.table([]string{"table", "columns in the model", "columns besides"}, rows)
}

// invariantTables are what must hold, on its sides.
func (b *builder) invariantTables(d *document) {
	d.heading(2, "What must hold")
	d.prose("An *invariant* is asked of every state, a *property* of every step, a *temporal* property of every behaviour. " +
		"The last column says which wrong rule of the model, or which variant or control of a spec, is found by it.")
	var rows [][]string
	add := func(kind string, c claim, spec string) {
		row := "invariant " + c.name
		cells := b.notes.of("invariant", c.name)
		specCell, modelCell, promise := "", "", c.promise
		if spec != "" {
			specCell = spec
			for _, o := range b.specs {
				switch p := o.Promises[c.name]; {
				case o.Spec != spec || p == "":
				case promise != "" && promise != p:
					b.problem("%s: it guards %s in the model and %s in the spec", row, promise, p)
				default:
					promise = p
				}
			}
		}
		if kind != "" {
			modelCell = kind
		}
		specSide := b.cell(row, "spec", specCell, cells)
		modelSide := b.cell(row, "model", modelCell, cells)
		rows = append(rows, []string{
			"`" + c.name + "`", orDash(promise), modelSide, specSide, b.cell(row, "engine", "", cells), orDash(b.shownBy(c.name)),
		})
	}
	inSpec := map[string]string{}
	for _, o := range b.specs {
		for _, name := range slices.Concat(o.Invariants, o.Properties) {
			inSpec[name] = o.Spec
		}
	}
	for _, c := range b.model.invariants {
		add("invariant", c, inSpec[c.name])
		delete(inSpec, c.name)
	}
	for _, c := range b.model.properties {
		add("property", c, inSpec[c.name])
		delete(inSpec, c.name)
	}
	for _, o := range b.specs {
		for _, name := range slices.Concat(o.Invariants, o.Properties) {
			if inSpec[name] != "" {
				add("", claim{name: name}, o.Spec)
				delete(inSpec, name)
			}
		}
	}
	b.rows["invariants"] = len(rows)
	d.table([]string{"name", "promise", "model", "spec", "engine", "shown to fail by"}, rows)
	b.witnessTable(d)
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// shownBy lists what was made wrong so that this fails.
func (b *builder) shownBy(name string) string {
	var by []string
	for _, w := range b.wrong {
		if slices.Contains(w.foundBy, name) {
			by = append(by, w.rule)
		}
	}
	for _, o := range b.specs {
		for _, f := range o.Failing {
			if f.Expect == name {
				by = append(by, f.Config)
			}
		}
	}
	return strings.Join(by, "; ")
}

// witnessTable has what a spec says never happens, so that a checker shows that it does.
func (b *builder) witnessTable(d *document) {
	var rows [][]string
	for _, o := range b.specs {
		held := slices.Concat(o.Invariants, o.Properties)
		for _, f := range o.Failing {
			if !slices.Contains(held, f.Expect) {
				rows = append(rows, []string{"`" + f.Expect + "`", f.Module, fmt.Sprintf("%s.cfg", f.Config)})
			}
		}
	}
	b.rows["witnesses"] = len(rows)
	d.heading(2, "Witnesses")
	d.prose("A checker has to find each of these wrong: they say that something never happens which the invariants are there for.")
	d.table([]string{"witness", "module", "configuration"}, rows)
}
