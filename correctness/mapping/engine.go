package mapping

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// engine is what the engine's folder says.
type engine struct {
	folder     *folder
	functions  map[string]*function // by long name
	operations []*function          // by file, then as they stand in it
	statements map[string]*statement
	asked      map[*function][]*statement // by operation
	problems   []string
}

// function is one function of the engine, with what its own body mentions.
type function struct {
	long, short, file string
	at                token.Pos
	calls             []string // functions of the package, by long name
	asks              []choice // for statements
	writesSQL         bool     // a statement stands in it as text, or in a constant that it uses
}

// choice is which statements one call may ask for: the names that it may pass, or the end of one where the beginning is
// only known when it runs.
type choice struct {
	names  []string
	ending string
}

func (c choice) has(name string) bool {
	return slices.Contains(c.names, name) || c.ending != "" && strings.HasSuffix(name, c.ending)
}

// sqlMark begins a statement: which operation, or which group of them, it is of.
const sqlMark = "/* awa:"

// readFunctions resolves who calls whom inside the package. Imports stay unknown, and so does the type of what comes
// from them: the engine's own types, which is all that is asked for, are known without.
func (e *engine) readFunctions() {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: nothing{}, Error: func(error) {}}
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(e.folder.files)) {
		files = append(files, e.folder.files[name])
	}
	_, _ = conf.Check("engine", e.folder.fset, files, info) // its errors are all about imports

	constants := e.sqlConstants()
	for file, decls := range functionsOf(e.folder.files) {
		for _, fn := range decls {
			f := &function{long: longName(fn), short: fn.Name.Name, file: file, at: fn.Pos()}
			e.functions[f.long] = f
			ast.Inspect(fn, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if called, ok := info.Uses[n].(*types.Func); ok && called.Pkg() != nil && called.Pkg().Name() == "engine" {
						f.calls = append(f.calls, longNameOf(called))
					}
					f.writesSQL = f.writesSQL || constants[n.Name]
				case *ast.CallExpr:
					e.ask(f, fn, n, info)
				}
				return true
			})
			f.writesSQL = f.writesSQL || holdsSQL(fn)
			if isOperation(fn) {
				e.operations = append(e.operations, f)
			}
		}
	}
	slices.SortFunc(e.operations, func(a, b *function) int { return int(a.at - b.at) })
}

// sqlConstants are the names of the package's constants and variables that hold a statement.
func (e *engine) sqlConstants() map[string]bool {
	all := map[string]bool{}
	for _, file := range e.folder.files {
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && holdsSQL(v) {
					for _, id := range v.Names {
						all[id.Name] = true
					}
				}
			}
		}
	}
	return all
}

// holdsSQL says whether a statement begins in a piece of Go.
func holdsSQL(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			s, ok := text(e)
			found = found || ok && strings.Contains(s, sqlMark)
		}
		return true
	})
	return found
}

// nothing is an importer that has no packages.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

func longNameOf(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name() + "." + f.Name()
	}
	return f.Name()
}

// isOperation: what people call and what then speaks to the server, so it takes a context.
func isOperation(fn *ast.FuncDecl) bool {
	if r := receiver(fn); !fn.Name.IsExported() || r != "" && r != "Engine" || len(fn.Type.Params.List) == 0 {
		return false
	}
	first, ok := fn.Type.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && first.Sel.Name == "Context"
}

// ask notes which statements a call asks for, when it is one of statements.get.
func (e *engine) ask(f *function, fn *ast.FuncDecl, call *ast.CallExpr, info *types.Info) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	get, ok := info.Uses[sel.Sel].(*types.Func)
	if !ok || longNameOf(get) != "statements.get" {
		return
	}
	var c choice
	switch name := call.Args[0].(type) {
	case *ast.BasicLit:
		s, _ := text(name)
		c.names = []string{s}
	case *ast.Ident:
		c.names = assigned(fn, name.Name)
	case *ast.BinaryExpr:
		c.ending, _ = text(name.Y)
	}
	if len(c.names) == 0 && c.ending == "" {
		e.problems = append(e.problems, "the name of the statement at "+e.folder.fset.Position(call.Pos()).String()+" can't be followed: write it as a literal")
	}
	f.asks = append(f.asks, c)
}

// assigned lists the texts that a function assigns to a variable.
func assigned(fn *ast.FuncDecl, variable string) []string {
	var all []string
	ast.Inspect(fn, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != len(a.Rhs) {
			return true
		}
		for i := range a.Lhs {
			if id, ok := a.Lhs[i].(*ast.Ident); ok && id.Name == variable {
				if s, ok := text(a.Rhs[i]); ok {
					all = append(all, s)
				}
			}
		}
		return true
	})
	return all
}

// reach lists the functions that a function comes to, itself first.
func (e *engine) reach(long string) []*function {
	var all []*function
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		f, ok := e.functions[name]
		if !ok || seen[name] {
			return
		}
		seen[name] = true
		all = append(all, f)
		for _, called := range f.calls {
			visit(called)
		}
	}
	visit(long)
	return all
}

// asksFor says whether a function, or one that it comes to, asks for the statement.
func (e *engine) asksFor(long, statement string) bool {
	return slices.ContainsFunc(e.reach(long), func(f *function) bool {
		return slices.ContainsFunc(f.asks, func(c choice) bool { return c.has(statement) })
	})
}
