package mapping

import (
	"fmt"
	"slices"
	"strings"
)

// operation is a row of the first table: one thing that can happen, on every side.
type operation struct {
	name   string
	action *action   // of the model
	spec   string    // with an action of this name; "" for none
	engine *function // of the engine
	cells  map[string]string
}

// operations lists the rows: what the engine has alone comes first, then the model's actions in their order. An
// operation of the engine that is another's action in the model stands after it.
func (b *builder) operations() []*operation {
	var alone, all []*operation
	for i := range b.model.actions {
		a := &b.model.actions[i]
		all = append(all, &operation{name: a.name, action: a})
	}
	for _, f := range b.engine.operations {
		at := slices.IndexFunc(all, func(o *operation) bool { return o.name == f.short })
		if at >= 0 {
			all[at].engine = f
			continue
		}
		o := &operation{name: f.short, engine: f}
		of := ""
		if s := b.notes.find("operation", f.short); s != nil {
			of = firstQuoted(s.cells["model"])
		}
		if at := slices.IndexFunc(all, func(o *operation) bool { return o.name == of }); at >= 0 {
			all = slices.Insert(all, at+1, o)
		} else {
			alone = append(alone, o)
		}
	}
	for _, spec := range b.specs {
		for _, name := range spec.Actions {
			at := slices.IndexFunc(all, func(o *operation) bool { return o.name == name })
			if at < 0 {
				all = append(all, &operation{name: name})
				at = len(all) - 1
			}
			if all[at].spec != "" {
				all[at].spec += ", "
			}
			all[at].spec += spec.Spec
		}
	}
	all = append(alone, all...)
	for _, o := range all {
		o.cells = b.notes.of("operation", o.name)
	}
	return all
}

// wrongOnPurpose is one planted defect as a row of an operation tells it.
type wrongOnPurpose struct{ where, text string }

// defects lists what was made wrong in an operation to see that it is found.
func (b *builder) defects(name string) []wrongOnPurpose {
	var all []wrongOnPurpose
	for _, s := range b.seeds {
		if slices.Contains(s.planted, name) {
			all = append(all, wrongOnPurpose{"engine", fmt.Sprintf("seed %s", s.name)})
		}
	}
	for _, w := range b.wrong {
		if slices.Contains(w.actions, name) {
			all = append(all, wrongOnPurpose{"model", fmt.Sprintf("%s: %s", w.rule, codes(w.foundBy))})
		}
	}
	for _, spec := range b.specs {
		for _, f := range spec.Failing {
			if slices.Contains(f.Replaced, name) {
				all = append(all, wrongOnPurpose{"spec", fmt.Sprintf("%s: `%s`", f.Config, f.Expect)})
			}
		}
	}
	return all
}

// operationTables writes the overview and then each operation with its names.
func (b *builder) operationTables(d *document) {
	all := b.operations()
	b.rows["operations"] = len(all)
	for _, s := range b.seeds {
		if s.nowhere {
			b.problem("seed %s: it was %q something that names no operation: say where before a colon", s.name, strings.TrimSpace(plantedMark))
		}
	}
	for _, w := range b.wrong {
		if len(w.actions) == 0 {
			b.problem("wrong rule %q: it is of no operation that can be seen", w.rule)
		}
	}
	if len(b.wrong) == 0 {
		b.problem("no table of wrong rules in the tests of model/explore")
	}
	var overview [][]string
	var details []func(*document)
	for _, o := range all {
		row, detail := b.operation(o)
		overview = append(overview, row)
		details = append(details, detail)
	}
	d.heading(2, "Operations")
	d.table([]string{"operation", "model", "TLA+", "engine", "statements", "tests", "scenarios", "seeds", "wrong on purpose"}, overview)
	d.heading(2, "Each operation")
	for _, write := range details {
		write(d)
	}
}

func (b *builder) operation(o *operation) ([]string, func(*document)) {
	row := "operation " + o.name
	var modelCell, tlaCell, engineCell string
	if o.action != nil {
		modelCell = fmt.Sprintf("`%s`, model/%s", o.action.typ, o.action.file)
	}
	if o.spec != "" {
		tlaCell = fmt.Sprintf("`%s` of %s", o.name, o.spec)
	}
	var statements []*statement
	var texts []*function
	var tests []testFunction
	if o.engine != nil {
		engineCell = fmt.Sprintf("`%s`, engine/%s", o.engine.long, o.engine.file)
		statements, texts, tests = b.engine.asked[o.engine], b.engine.textsOf(o.engine), testsOf(b.tests, o.engine)
	}
	seeds, scenarios := storiesWith(b.seeds, o.name), storiesWith(b.scenarios, o.name)
	defects := b.defects(o.name)
	modelSide := b.cell(row, "model", modelCell, o.cells)
	tlaSide := b.cell(row, "tla", tlaCell, o.cells)
	engineSide := b.cell(row, "engine", engineCell, o.cells)

	number := func(n int) string {
		if n == 0 {
			return "–"
		}
		return fmt.Sprint(n)
	}
	overview := []string{
		fmt.Sprintf("[%s](#%s)", o.name, strings.ToLower(o.name)), short(o.cells["model"], o.action != nil, o.name),
		short("", o.spec != "", o.name), short("", o.engine != nil, o.name),
		number(len(statements) + len(texts)), number(len(tests)), number(len(scenarios)), number(len(seeds)), number(len(defects)),
	}
	return overview, func(d *document) {
		d.heading(3, o.name)
		d.item("model", modelSide)
		d.item("TLA+", tlaSide)
		d.item("engine", engineSide)
		if o.engine != nil {
			d.item("statements", b.cell(row, "statements", statementList(statements, texts), o.cells))
			d.item("tests", b.cell(row, "tests", testList(tests), o.cells))
		}
		d.item("lockstep and chaos", b.cell(row, "lockstep", b.driven(o.name), o.cells))
		d.item("scenarios", strings.Join(scenarios, ", "))
		d.item("seeds", strings.Join(seeds, ", "))
		for _, defect := range defects {
			d.item("wrong in the "+defect.where, defect.text)
		}
		d.item("note", o.cells["note"])
	}
}

// short is a side in the overview: the name, a name that the notes give instead, or a dash.
func short(note string, there bool, name string) string {
	if other := firstQuoted(note); other != "" {
		return other
	}
	if there {
		return name
	}
	return "–"
}

// driven says which layers run an operation on the engine.
func (b *builder) driven(name string) string {
	var by []string
	if slices.Contains(b.lockstep, name) {
		by = append(by, "lockstep")
	}
	if slices.Contains(b.chaos, name) {
		by = append(by, "chaos")
	}
	return strings.Join(by, ", ")
}

func storiesWith(all []story, operation string) []string {
	var some []string
	for _, s := range all {
		if slices.Contains(s.operations, operation) {
			some = append(some, s.name)
		}
	}
	return some
}

// statementList groups statements by their file.
func statementList(statements []*statement, texts []*function) string {
	groups := grouped{}
	for _, s := range statements {
		groups.add(s.file, "`"+s.name+"`")
	}
	for _, f := range texts {
		groups.add("as text in "+f.file, "`"+f.long+"`")
	}
	return groups.String()
}

func testList(tests []testFunction) string {
	groups := grouped{}
	for _, t := range tests {
		groups.add(t.file, t.name)
	}
	return groups.String()
}

// grouped is a list under headings, in the order of their first items.
type grouped struct {
	heads []string
	items map[string][]string
}

func (g *grouped) add(head, item string) {
	if g.items == nil {
		g.items = map[string][]string{}
	}
	if g.items[head] == nil {
		g.heads = append(g.heads, head)
	}
	g.items[head] = append(g.items[head], item)
}

func (g *grouped) String() string {
	var parts []string
	for _, head := range g.heads {
		parts = append(parts, head+": "+strings.Join(g.items[head], ", "))
	}
	return strings.Join(parts, "; ")
}

func codes(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, "`"+name+"`")
	}
	return strings.Join(all, ", ")
}
