package mapping

import (
	"go/ast"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// model is what the model's folder says.
type model struct {
	folder     *folder
	actions    []action
	invariants []claim             // of every state
	properties []claim             // of every step
	state      []string            // the parts that a rule can write
	views      map[string][]string // by spec: the variables that its view prints
}

// action is one operation of the model.
type action struct {
	name, typ string
	file      string // with its rule
}

// claim is an invariant or a property.
type claim struct{ name, promise string }

func readModel(tree fs.FS) (*model, error) {
	f, err := parseFolder(tree, "model")
	if err != nil {
		return nil, err
	}
	m := &model{folder: f, views: map[string][]string{}}
	functions := functionsOf(f.files)
	rules := map[string]string{} // by type: the file with its rule
	for file, decls := range functions {
		for _, fn := range decls {
			if fn.Name.Name == "apply" {
				rules[receiver(fn)] = file
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(functions)) {
		for _, fn := range functions[file] {
			switch name := fn.Name.Name; {
			case name == "Name" && rules[receiver(fn)] != "":
				m.actions = append(m.actions, action{returned(fn), receiver(fn), rules[receiver(fn)]})
			case name == "Invariants" && fn.Recv == nil:
				m.invariants = claimsIn(fn)
			case name == "Properties" && fn.Recv == nil:
				m.properties = claimsIn(fn)
			case strings.HasSuffix(name, "View") && fn.Recv == nil:
				m.views[strings.TrimSuffix(name, "View")] = printed(fn)
			}
		}
	}
	m.readState()
	return m, nil
}

// returned is the text that a function returns.
func returned(fn *ast.FuncDecl) string {
	found := ""
	ast.Inspect(fn, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			found, _ = text(r.Results[0])
		}
		return true
	})
	return found
}

// claimsIn reads a list of literals that begin with a name and a promise.
func claimsIn(fn *ast.FuncDecl) []claim {
	var all []claim
	ast.Inspect(fn, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) < 3 {
			return true
		}
		var values []ast.Expr
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			values = append(values, e)
		}
		name, ok1 := text(values[0])
		promise, ok2 := text(values[1])
		if !ok1 || !ok2 {
			return true
		}
		all = append(all, claim{name, promise})
		return false
	})
	return all
}

var printedVariable = regexp.MustCompile(`(\w+)=%`)

// printed lists the variables of the longest format of a function: name=%s;name=%d.
func printed(fn *ast.FuncDecl) []string {
	longest := ""
	ast.Inspect(fn, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if s, ok := text(e); ok && strings.Contains(s, "=%") && len(s) > len(longest) {
				longest = s
			}
		}
		return true
	})
	var all []string
	for _, m := range printedVariable.FindAllStringSubmatch(longest, -1) {
		all = append(all, m[1])
	}
	return all
}

// readState lists what the writes of Store take: the fields of the rows that are put, added or set, those of structs in
// them too, and numbers that are set alone.
func (m *model) readState() {
	structs := map[string]*ast.StructType{}
	var writes []*ast.Field
	for _, name := range slices.Sorted(maps.Keys(m.folder.files)) {
		ast.Inspect(m.folder.files[name], func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			switch t := spec.Type.(type) {
			case *ast.StructType:
				structs[spec.Name.Name] = t
			case *ast.InterfaceType:
				if spec.Name.Name == "Store" {
					writes = t.Methods.List
				}
			}
			return true
		})
	}
	seen := map[string]bool{}
	var add func(typ string)
	add = func(typ string) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		for _, f := range structs[typ].Fields.List {
			for _, id := range f.Names {
				m.state = append(m.state, typ+"."+id.Name)
			}
			if inner := typeName(f.Type); structs[inner] != nil {
				add(inner)
			}
		}
	}
	for _, w := range writes {
		fn, ok := w.Type.(*ast.FuncType)
		if !ok || len(w.Names) == 0 || !writesState(w.Names[0].Name) {
			continue
		}
		rows := false
		for _, p := range fn.Params.List {
			if typ := typeName(p.Type); structs[typ] != nil {
				rows = true
				add(typ)
			}
		}
		if alone, ok := strings.CutPrefix(w.Names[0].Name, "Set"); ok && !rows {
			m.state = append(m.state, "Store."+alone)
		}
	}
}

func writesState(method string) bool {
	for _, prefix := range []string{"Set", "Put", "Add"} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}
