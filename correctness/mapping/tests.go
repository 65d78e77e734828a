package mapping

import (
	"go/ast"
	"go/types"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// testFunction is one test or example.
type testFunction struct {
	file, name string
	calls      []string // operations that it calls itself
	reaches    []string // those, and what the functions call that it uses
}

var runnable = regexp.MustCompile(`^(Test|Fuzz|Example)(\P{Ll}|$)`) // a benchmark judges nothing

// readTests finds out which operations each test of a folder comes to. It goes by names alone: a test calls an
// operation where it calls something of that name with a context, and uses what its body mentions.
func readTests(f *folder, operations []string) []testFunction {
	uses := usesOf(f.tests, operations)
	var reach func(name string, seen map[string]bool) []string
	reach = func(name string, seen map[string]bool) []string {
		u := uses[name]
		if u == nil || seen[name] {
			return nil
		}
		seen[name] = true
		found := slices.Clone(u.calls)
		for _, mentioned := range u.mentions {
			found = append(found, reach(mentioned, seen)...)
		}
		return found
	}
	var all []testFunction
	functions := functionsOf(f.tests)
	for _, file := range slices.Sorted(maps.Keys(functions)) {
		for _, fn := range functions[file] {
			if name := fn.Name.Name; fn.Recv == nil && runnable.MatchString(name) && name != "TestMain" {
				all = append(all, testFunction{file, name, callsOf(fn, operations), reach(name, map[string]bool{})})
			}
		}
	}
	return all
}

// use is what stands in everything of one name: functions, methods, variables.
type use struct{ calls, mentions []string }

func usesOf(files map[string]*ast.File, operations []string) map[string]*use {
	uses := map[string]*use{}
	add := func(name string, n ast.Node) {
		if uses[name] == nil {
			uses[name] = &use{}
		}
		u := uses[name]
		u.calls = append(u.calls, callsOf(n, operations)...)
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name != name {
				u.mentions = append(u.mentions, id.Name)
			}
			return true
		})
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					add(d.Name.Name, d.Body)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for _, id := range v.Names {
							add(id.Name, v)
						}
					}
				}
			}
		}
	}
	return uses
}

// testsOf picks an operation's tests: those in test files named after it, or after its own Go file, that come to it.
// Where there are none, those that call it themselves, wherever they are; else all that come to it.
func testsOf(all []testFunction, operation *function) []testFunction {
	stems := []string{strings.TrimSuffix(operation.file, ".go"), strings.ToLower(operation.short)}
	for _, is := range []func(testFunction) bool{
		func(t testFunction) bool {
			return slices.Contains(t.reaches, operation.short) && slices.ContainsFunc(stems, func(stem string) bool {
				return strings.HasPrefix(t.file, stem+"_") // claim_test.go, claim_order_test.go
			})
		},
		func(t testFunction) bool { return slices.Contains(t.calls, operation.short) },
		func(t testFunction) bool { return slices.Contains(t.reaches, operation.short) },
	} {
		var some []testFunction
		for _, t := range all {
			if is(t) {
				some = append(some, t)
			}
		}
		if len(some) > 0 {
			return some
		}
	}
	return nil
}

// wrongRule is a rule of the model that is wrong on purpose, and who finds it.
type wrongRule struct {
	rule    string
	actions []string // whose rule it is
	foundBy []string
}

// readWrongRules finds the tables of wrong rules in the explorer's tests: rows that begin with a sentence and end with a
// list of names. The operations are those whose types stand in the row, or in a function that it names.
func readWrongRules(tree fs.FS, actions []action) ([]wrongRule, error) {
	f, err := parseFolder(tree, "model/explore")
	if err != nil {
		return nil, err
	}
	functions := map[string]*ast.FuncDecl{}
	for _, decls := range functionsOf(f.tests) {
		for _, fn := range decls {
			if fn.Type.TypeParams == nil { // those with parameters are about any operation
				functions[fn.Name.Name] = fn
			}
		}
	}
	var all []wrongRule
	for _, file := range slices.Sorted(maps.Keys(f.tests)) {
		ast.Inspect(f.tests[file], func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok || len(row.Elts) < 3 {
				return true
			}
			rule, ok := text(row.Elts[0])
			by := textsIn(row.Elts[len(row.Elts)-1])
			if !ok || len(by) == 0 {
				return true
			}
			w := wrongRule{rule: rule, foundBy: by}
			seen := map[string]bool{}
			for _, e := range row.Elts[1 : len(row.Elts)-1] {
				w.find(e, actions, functions, seen)
			}
			all = append(all, w)
			return false
		})
	}
	return all, nil
}

// textsIn is the value of a literal of type []string.
func textsIn(e ast.Expr) []string {
	list, ok := e.(*ast.CompositeLit)
	if !ok || list.Type == nil || types.ExprString(list.Type) != "[]string" {
		return nil
	}
	var all []string
	for _, item := range list.Elts {
		s, ok := text(item)
		if !ok {
			return nil
		}
		all = append(all, s)
	}
	return all
}

func (w *wrongRule) find(n ast.Node, actions []action, functions map[string]*ast.FuncDecl, seen map[string]bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			at := slices.IndexFunc(actions, func(a action) bool { return a.typ == n.Sel.Name })
			if ok && pkg.Name == "model" && at >= 0 && !slices.Contains(w.actions, actions[at].name) {
				w.actions = append(w.actions, actions[at].name)
			}
		case *ast.Ident:
			if fn := functions[n.Name]; fn != nil && !seen[n.Name] {
				seen[n.Name] = true
				w.find(fn, actions, functions, seen)
			}
		}
		return true
	})
}

// story is a text file with operations in it: a scenario of the model, or a seed.
type story struct {
	name, note string
	operations []string
	// planted are the operations in which a defect was planted that made this seed; the note says so.
	planted []string
	nowhere bool // the note tells of a defect and of no operation
}

// plantedMark begins the note of a seed that a planted defect gave; the place of the defect is told up to a colon.
const plantedMark = "Found with "

func readStories(tree fs.FS, pattern string, operations []string) ([]story, error) {
	files, err := fs.Glob(tree, pattern)
	if err != nil {
		return nil, err
	}
	var all []story
	for _, file := range files {
		content, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		s := story{name: strings.TrimSuffix(path.Base(file), path.Ext(file))}
		script, _, _ := strings.Cut(string(content), "\n----\n") // what follows is output
		for line := range strings.Lines(script) {
			if comment, ok := strings.CutPrefix(line, "# "); ok {
				s.note += " " + strings.TrimSpace(comment)
				continue
			}
			first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if slices.Contains(operations, first) && !slices.Contains(s.operations, first) {
				s.operations = append(s.operations, first)
			}
		}
		if _, defect, ok := strings.Cut(s.note, plantedMark); ok {
			place, _, _ := strings.Cut(defect, ":")
			for _, op := range operations {
				if regexp.MustCompile(`\b` + op + `\b`).MatchString(place) {
					s.planted = append(s.planted, op)
				}
			}
			s.nowhere = len(s.planted) == 0
		}
		all = append(all, s)
	}
	return all, nil
}

// readDriven lists the operations that a folder calls outside of its tests, and the actions of the model that it
// tells apart.
func readDriven(tree fs.FS, dir string, operations []string, actions []action) ([]string, error) {
	f, err := parseFolder(tree, dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		all = append(all, callsOf(f.files[name], operations)...)
		ast.Inspect(f.files[name], func(n ast.Node) bool {
			c, ok := n.(*ast.CaseClause)
			if !ok {
				return true
			}
			for _, e := range c.List {
				if sel, ok := e.(*ast.SelectorExpr); ok {
					at := slices.IndexFunc(actions, func(a action) bool { return a.typ == sel.Sel.Name })
					if at >= 0 {
						all = append(all, actions[at].name)
					}
				}
			}
			return true
		})
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
