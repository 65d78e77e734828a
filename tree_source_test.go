package awa_test

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	fileLimit     = 800
	fileWanted    = 500
	functionLimit = 70
)

func checkFileSize(tr *tree, f *findings) {
	for _, name := range tr.paths(".go", ".sql", ".tla") {
		switch n := strings.Count(tr.text[name], "\n"); {
		case n > fileLimit:
			f.breach("%s has %d lines, and the limit is %d", name, n, fileLimit)
		case n > fileWanted:
			f.note("%s has %d lines, over the %d wanted", name, n, fileWanted)
		}
	}
}

var breachOfFileSize = &tree{text: map[string]string{"engine/all.sql": strings.Repeat("SELECT 1;\n", fileLimit+1)}}

func checkFunctionSize(tr *tree, f *findings) {
	for name, file := range tr.files {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := tr.fset.Position(fn.Pos()), tr.fset.Position(fn.End())
			if n := last.Line - first.Line + 1; n > functionLimit {
				f.breach("%s:%d: %s has %d lines, and the limit is %d", name, first.Line, fn.Name.Name, n, functionLimit)
			}
		}
	}
}

var breachOfFunctionSize = &tree{text: map[string]string{
	"engine/long.go": "package engine\n\nfunc long() {\n" + strings.Repeat("\tprintln()\n", functionLimit) + "}\n",
}}

func checkSleep(tr *tree, f *findings) {
	for name, file := range tr.files {
		local := importName(file, "time")
		if !strings.HasSuffix(name, "_test.go") || local == "" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
					f.breach("%s: wait for an event instead of sleeping", tr.fset.Position(sel.Pos()))
				}
			}
			return true
		})
	}
}

// importName is the name by which a file knows a package, "" when it doesn't import it.
func importName(file *ast.File, imported string) string {
	for _, spec := range file.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(imported)
	}
	return ""
}

var breachOfSleep = &tree{text: map[string]string{
	"engine/a_test.go": "package engine\n\nimport clock \"time\"\n\nfunc wait() { clock.Sleep(clock.Second) }\n",
}}

func checkPackageNames(tr *tree, f *findings) {
	bags := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}
	for name, file := range tr.files {
		pkg := strings.TrimSuffix(file.Name.Name, "_test")
		if slices.Contains(bags, pkg) || strings.HasSuffix(pkg, "util") || strings.HasSuffix(pkg, "utils") {
			f.breach("%s: package %s says nothing of what it does", name, pkg)
		}
	}
}

var breachOfPackageNames = &tree{text: map[string]string{"engine/sqlutil/a.go": "package sqlutil\n"}}

// checkSkips wants a text, or a value that holds one, in each call that skips a test.
func checkSkips(tr *tree, f *findings) {
	for _, file := range tr.files {
		if importName(file, "testing") == "" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch sel.Sel.Name {
			case "SkipNow":
				f.breach("%s: say why: Skip with a reason", tr.fset.Position(call.Pos()))
			case "Skip", "Skipf":
				if len(call.Args) == 0 || emptyText(call.Args[0]) {
					f.breach("%s: a skip without a reason", tr.fset.Position(call.Pos()))
				}
			}
			return true
		})
	}
}

func emptyText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING && len(lit.Value) <= len(`""`)
}

var breachOfSkips = &tree{text: map[string]string{
	"engine/a_test.go": "package engine\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Skip() }\n",
}}

// checkSilenced wants words after each directive that silences a linter.
func checkSilenced(tr *tree, f *findings) {
	directives := map[string]int{ // the words that the directive itself takes
		"//no" + "lint":           1,
		"//lint:" + "ignore":      2,
		"//lint:file-" + "ignore": 2,
	}
	for _, file := range tr.files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				for directive, own := range directives {
					words := strings.Fields(strings.Replace(c.Text, " // ", " ", 1))
					if strings.HasPrefix(c.Text, directive) && len(words) < own+2 {
						f.breach("%s: %s: say why on the same line", tr.fset.Position(c.Pos()), c.Text)
					}
				}
			}
		}
	}
}

var breachOfSilenced = &tree{text: map[string]string{
	"engine/a.go": "package engine\n\nvar a = 1 //no" + "lint:unused\n",
}}

// checkDocs asks for no comment on a method that an interface explains, be it the standard library's or an exported one
// of the same package.
func checkDocs(tr *tree, f *findings) {
	explained := map[string][]string{} // folder → methods
	for name, file := range tr.files {
		explained[path.Dir(name)] = append(explained[path.Dir(name)], interfaceMethods(file)...)
	}
	for name, file := range tr.files {
		if strings.HasSuffix(name, "_test.go") || file.Name.Name == "main" || strings.HasPrefix(name, "cmd/") {
			continue
		}
		for _, decl := range file.Decls {
			for _, id := range undocumented(decl, slices.Concat(wellKnown, explained[path.Dir(name)])) {
				f.breach("%s: %s is exported and has no doc comment", tr.fset.Position(id.Pos()), id.Name)
			}
		}
	}
}

// interfaceMethods lists the methods of the exported interfaces that a file declares.
func interfaceMethods(file *ast.File) []string {
	var methods []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		if i, ok := spec.Type.(*ast.InterfaceType); ok {
			for _, m := range i.Methods.List {
				for _, id := range m.Names {
					methods = append(methods, id.Name)
				}
			}
		}
		return true
	})
	return methods
}

// undocumented lists the exported identifiers of a declaration that no comment covers: its own, the one at the end of
// its line, or the one over its group. Methods that are explained elsewhere are left out.
func undocumented(decl ast.Decl, explained []string) []*ast.Ident {
	var bare []*ast.Ident
	switch d := decl.(type) {
	case *ast.FuncDecl:
		elsewhere := d.Recv != nil && slices.Contains(explained, d.Name.Name)
		if d.Doc == nil && !elsewhere && d.Name.IsExported() && exportedReceiver(d) {
			bare = append(bare, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if d.Doc != nil {
				break
			}
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && s.Comment == nil {
					bare = append(bare, s.Name)
				}
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if id.IsExported() && s.Doc == nil && s.Comment == nil {
						bare = append(bare, id)
					}
				}
			}
		}
	}
	return bare
}

// wellKnown are the methods that the standard library's interfaces explain.
var wellKnown = []string{"String", "Error", "Unwrap", "Is", "MarshalText", "UnmarshalText", "MarshalJSON", "UnmarshalJSON"}

func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		exported = exported || ok && id.IsExported()
		return !ok
	})
	return exported
}

var breachOfDocs = &tree{text: map[string]string{"engine/a.go": "package engine\n\nfunc Open() {}\n"}}

func checkPackageDocs(tr *tree, f *findings) {
	documented := map[string]bool{}
	for name, file := range tr.files {
		if !strings.HasSuffix(name, "_test.go") {
			documented[path.Dir(name)] = documented[path.Dir(name)] || file.Doc != nil
		}
	}
	for folder, ok := range documented {
		if !ok {
			f.breach("%s: no file has a comment over its package clause", folder)
		}
	}
}

var breachOfPackageDocs = &tree{text: map[string]string{"engine/a.go": "package engine\n"}}
