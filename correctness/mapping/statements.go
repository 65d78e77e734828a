package mapping

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// statement is one named template of the engine's SQL: a statement, or a part of statements.
type statement struct {
	name, file string
	of         string   // the operation or group that its first comment names; "" for a part
	parts      []string // templates that stand in it
}

func (s *statement) isPart() bool { return s.of == "" }

// readEngine reads the engine's Go and SQL.
func readEngine(tree fs.FS) (*engine, error) {
	f, err := parseFolder(tree, "engine")
	if err != nil {
		return nil, err
	}
	e := &engine{
		folder: f, functions: map[string]*function{}, statements: map[string]*statement{}, asked: map[*function][]*statement{},
	}
	e.readFunctions()
	names, err := fs.Glob(tree, "engine/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := e.readStatements(tree, name); err != nil {
			return nil, err
		}
	}
	for _, op := range e.operations {
		e.asked[op] = e.statementsOf(op)
	}
	e.checkStatements()
	return e, nil
}

var mark = regexp.MustCompile(regexp.QuoteMeta(sqlMark) + `(\w+)`)

func (e *engine) readStatements(tree fs.FS, name string) error {
	content, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	parsed, err := template.New("").Parse(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, t := range parsed.Templates() {
		if t.Name() == "" {
			continue
		}
		if twin, ok := e.statements[t.Name()]; ok {
			e.problems = append(e.problems, fmt.Sprintf("statement `%s` stands in %s and in %s", t.Name(), twin.file, path.Base(name)))
		}
		s := &statement{name: t.Name(), file: path.Base(name)}
		if m := mark.FindStringSubmatch(t.Root.String()); m != nil {
			s.of = m[1]
		}
		s.parts = templatesIn(t.Root)
		e.statements[t.Name()] = s
	}
	return nil
}

// templatesIn lists the templates that a piece of template uses, each once.
func templatesIn(n parse.Node) []string {
	var all []string
	var visit func(parse.Node)
	branch := func(b *parse.BranchNode) {
		visit(b.List)
		if b.ElseList != nil {
			visit(b.ElseList)
		}
	}
	visit = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			for _, child := range n.Nodes {
				visit(child)
			}
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
		case *parse.WithNode:
			branch(&n.BranchNode)
		case *parse.TemplateNode:
			if !slices.Contains(all, n.Name) {
				all = append(all, n.Name)
			}
		}
	}
	visit(n)
	return all
}

// statementsOf lists the statements of an operation, by file and name.
//
// Two operations that begin with the same function share what it asks for, save the statements whose comment names the
// other: which of them run depends on a value, and the comment tells.
func (e *engine) statementsOf(operation *function) []*statement {
	var all []*statement
	for _, s := range e.statements {
		if e.asksFor(operation.long, s.name) && !e.others(s, operation) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, byFile)
	return all
}

func byFile(a, b *statement) int {
	if a.file != b.file {
		return strings.Compare(a.file, b.file)
	}
	return strings.Compare(a.name, b.name)
}

// others says whether a statement is that of another operation which comes to it by the same way.
func (e *engine) others(s *statement, operation *function) bool {
	return slices.ContainsFunc(e.operations, func(other *function) bool {
		return other != operation && s.of == other.short && slices.ContainsFunc(other.calls, func(begin string) bool {
			return slices.Contains(operation.calls, begin) && e.asksFor(begin, s.name)
		})
	})
}

// textsOf lists the functions of an operation in which SQL stands as text.
func (e *engine) textsOf(operation *function) []*function {
	return slices.DeleteFunc(e.reach(operation.long), func(f *function) bool { return !f.writesSQL })
}

// usersOf lists the operations of a statement, in their order. Those of a part are those of the statements that it
// stands in.
func (e *engine) usersOf(s *statement) []string {
	var users []string
	for _, op := range e.operations {
		if slices.ContainsFunc(e.asked[op], func(own *statement) bool { return e.contains(own.name, s.name) }) {
			users = append(users, op.short)
		}
	}
	return users
}

// contains says whether a template is another, or has it as a part at any depth. Templates can't contain themselves.
func (e *engine) contains(whole, part string) bool {
	s, ok := e.statements[whole]
	return whole == part || ok && slices.ContainsFunc(s.parts, func(p string) bool { return e.contains(p, part) })
}

func (e *engine) checkStatements() {
	problem := func(format string, args ...any) { e.problems = append(e.problems, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(e.statements)) {
		s := e.statements[name]
		if users := e.usersOf(s); len(users) == 0 {
			problem("statement `%s` of %s is used by no operation", name, s.file)
		}
		for _, part := range s.parts {
			if _, ok := e.statements[part]; !ok {
				problem("statement `%s` of %s contains `%s`, which isn't there", name, s.file, part)
			}
		}
	}
	for _, long := range slices.Sorted(maps.Keys(e.functions)) {
		f := e.functions[long]
		for _, c := range f.asks {
			for _, name := range c.names {
				if _, ok := e.statements[name]; !ok {
					problem("`%s` of %s asks for the statement `%s`, which isn't there", f.long, f.file, name)
				}
			}
		}
	}
}
