package mapping

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// folder is the Go of one folder, by file name.
type folder struct {
	dir   string
	fset  *token.FileSet
	files map[string]*ast.File
	tests map[string]*ast.File
}

func parseFolder(tree fs.FS, dir string) (*folder, error) {
	names, err := fs.Glob(tree, dir+"/*.go")
	if err != nil {
		return nil, err
	}
	f := &folder{dir: dir, fset: token.NewFileSet(), files: map[string]*ast.File{}, tests: map[string]*ast.File{}}
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(f.fset, name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, "_test.go") {
			f.tests[path.Base(name)] = file
		} else {
			f.files[path.Base(name)] = file
		}
	}
	if len(f.files) == 0 {
		return nil, fmt.Errorf("%s: no Go files", dir)
	}
	return f, nil
}

// functionsOf lists the functions with a body that some files declare, by file.
func functionsOf(files map[string]*ast.File) map[string][]*ast.FuncDecl {
	all := map[string][]*ast.FuncDecl{}
	for name, file := range files {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				all[name] = append(all[name], fn)
			}
		}
	}
	return all
}

// receiver is the name of a method's type, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	return typeName(fn.Recv.List[0].Type)
}

// typeName is the name of a type of the same package, be it a pointer to it; "" for any other.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// longName is how a function is written here: Engine.Claim, or Migrate.
func longName(fn *ast.FuncDecl) string {
	if r := receiver(fn); r != "" {
		return r + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// names lists what a folder declares, so that a note can be held to it: types with their fields and methods, functions,
// constants, variables.
func (f *folder) names() []string {
	var all []string
	for _, file := range f.files {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				all = append(all, longName(d))
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					all = append(all, specNames(spec)...)
				}
			}
		}
	}
	return all
}

func specNames(spec ast.Spec) []string {
	var all []string
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, id := range s.Names {
			all = append(all, id.Name)
		}
	case *ast.TypeSpec:
		all = append(all, s.Name.Name)
		var members *ast.FieldList
		switch t := s.Type.(type) {
		case *ast.StructType:
			members = t.Fields
		case *ast.InterfaceType:
			members = t.Methods
		default:
			return all
		}
		for _, field := range members.List {
			for _, id := range field.Names {
				all = append(all, s.Name.Name+"."+id.Name)
			}
		}
	}
	return all
}

// text is the value of a string literal.
func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// callsOf lists those of the names that a piece of syntax calls with a context, as operations are called: what else has
// the same name, such as a test's Fail, takes none. A method expression of Engine counts as a call.
func callsOf(n ast.Node, names []string) []string {
	var called []string
	add := func(name string) {
		if slices.Contains(names, name) && !slices.Contains(called, name) {
			called = append(called, name)
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if len(n.Args) == 0 || !isContext(n.Args[0]) {
				return true
			}
			switch fn := n.Fun.(type) {
			case *ast.Ident:
				add(fn.Name)
			case *ast.SelectorExpr:
				add(fn.Sel.Name)
			}
		case *ast.SelectorExpr:
			if paren, ok := n.X.(*ast.ParenExpr); ok && types.ExprString(paren.X) == "*engine.Engine" {
				add(n.Sel.Name)
			}
		}
		return true
	})
	return called
}

// isContext goes by the names that contexts have here: ctx, or what a method Context returns.
func isContext(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(e.Name), "ctx")
	case *ast.CallExpr:
		switch fn := e.Fun.(type) {
		case *ast.SelectorExpr:
			pkg, _ := fn.X.(*ast.Ident)
			return fn.Sel.Name == "Context" || pkg != nil && pkg.Name == "context"
		}
	}
	return false
}
