package awa_test

import (
	"path"
	"slices"
	"strings"
)

const module = "github.com/awa-engine/awa"

// importTable says who may import what. A package is judged by the row with its own path, or by the longest row whose
// path ends in "/..." and covers it. Packages under one such row may import each other.
var importTable = []importRow{
	{path: ".", testOurs: nil},
	{
		path: "engine/...", modules: []string{"github.com/jackc/pgx/v5"},
		testOurs: []string{"pgtest"}, testModules: []string{"go.uber.org/goleak", "pgregory.net/rapid"},
	},
	{path: "model", testModules: []string{"pgregory.net/rapid"}},
	{path: "model/explore", ours: []string{"model"}, testModules: []string{"pgregory.net/rapid", "go.uber.org/goleak"}},
	{
		path: "pgtest/...", modules: []string{"github.com/jackc/pgx/v5", "golang.org/x/sys/unix", "github.com/moby/moby", "github.com/testcontainers/testcontainers-go"},
		testModules: []string{"go.uber.org/goleak"},
	},
	{
		path: "correctness/...", ours: []string{"model", "model/explore"}, modules: []string{"github.com/tetratelabs/wazero"},
		testOurs: []string{"engine", "fuzz"}, testModules: []string{"go.uber.org/goleak", "pgregory.net/rapid"},
	},
	{
		path: "fuzz/...", ours: []string{"engine", "engine/schema", "model", "pgtest"},
		modules: []string{"github.com/jackc/pgx/v5", "pgregory.net/rapid"}, testModules: []string{"go.uber.org/goleak"},
	},
	{
		path: "chaos/...", ours: []string{"engine", "engine/schema", "model", "fuzz", "pgtest"},
		modules: []string{"github.com/jackc/pgx/v5"}, testModules: []string{"go.uber.org/goleak"},
	},
	{
		path: "linearizability", ours: []string{"engine", "model", "pgtest"},
		modules: []string{"github.com/anishathalye/porcupine", "github.com/jackc/pgx/v5"}, testModules: []string{"go.uber.org/goleak"},
	},
	{
		path: "soak", ours: []string{"engine", "pgtest"},
		modules: []string{"github.com/jackc/pgx/v5"}, testModules: []string{"go.uber.org/goleak"},
	},
	{path: "mutants", testModules: []string{"go.uber.org/goleak"}},
	{
		path: "cmd/awa-check/...", ours: []string{"engine", "engine/schema", "model", "model/explore", "pgtest", "correctness/tla", "correctness/mapping", "fuzz", "fuzz/schedule", "linearizability", "chaos", "soak", "mutants"},
		modules:     []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/jackc/pgx/v5", "pgregory.net/rapid"},
		testModules: []string{"go.uber.org/goleak"},
	},
}

// importRow is one row; what tests may import comes on top of what the package may. The standard library is free to
// all. Paths of ours are below the module's.
type importRow struct {
	path                  string
	ours, modules         []string
	testOurs, testModules []string
}

func (r importRow) covers(pkg string) bool {
	below, whole := strings.CutSuffix(r.path, "/...")
	return pkg == below || whole && strings.HasPrefix(pkg, below+"/")
}

func (r importRow) allows(imported string, test bool) bool {
	if own, ok := strings.CutPrefix(imported, module); ok {
		own = path.Clean("." + own)
		return r.covers(own) || slices.Contains(r.ours, own) || test && slices.Contains(r.testOurs, own)
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	within := func(m string) bool { return imported == m || strings.HasPrefix(imported, m+"/") }
	return slices.ContainsFunc(r.modules, within) || test && slices.ContainsFunc(r.testModules, within)
}

func rowOf(pkg string) (importRow, bool) {
	var best importRow
	found := false
	for _, r := range importTable {
		if r.covers(pkg) && len(r.path) >= len(best.path) {
			best, found = r, true
		}
	}
	return best, found
}

func checkImports(tr *tree, f *findings) {
	for _, p := range tr.packages {
		pkg := path.Clean("." + strings.TrimPrefix(p.ImportPath, module))
		row, ok := rowOf(pkg)
		if !ok {
			f.breach("%s: no row of importTable says what it may import", pkg)
			continue
		}
		for _, imported := range p.Imports {
			if !row.allows(imported, false) {
				f.breach("%s imports %s, which its row of importTable doesn't allow", pkg, imported)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if !row.allows(imported, true) {
				f.breach("a test of %s imports %s, which its row of importTable doesn't allow", pkg, imported)
			}
		}
	}
}

var breachOfImports = &tree{packages: []goPackage{
	{ImportPath: module + "/engine", Imports: []string{"fmt", module + "/model"}},
}}
