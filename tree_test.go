package awa_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// rules is the table: what must hold for the tree, why, and the smallest tree that breaks it.
// A rule that can't fail holds nothing, so each is also run on its own breach.
var rules = []rule{
	{"imports point one way", "the engine stays small and the model stays pure", checkImports, breachOfImports},
	{"files have at most 800 lines", "a file is one idea", checkFileSize, breachOfFileSize},
	{"functions have at most 70 lines", "a function fits on a screen", checkFunctionSize, breachOfFunctionSize},
	{"tests don't sleep", "a sleep is slow when it holds and flaky when it doesn't", checkSleep, breachOfSleep},
	{"packages are named for what they do", "a bag of helpers has no owner", checkPackageNames, breachOfPackageNames},
	{"nothing is left open in source", "an open end belongs in an issue", checkOpenEnds, breachOfOpenEnds},
	{"skips have a reason on their line", "a skip without a reason is never taken out", checkSkips, breachOfSkips},
	{"silenced linters have a reason", "the next reader must know if it still holds", checkSilenced, breachOfSilenced},
	{"the core explains itself", "engine, model and specs are read by people who must trust them", checkDensity, breachOfDensity},
	{"promises are held", "a promise that nothing tests is a wish", checkRecords, breachOfRecords},
	{"no foreign words", "paths and hosts of one machine mean nothing elsewhere", checkWords, breachOfWords},
	{"exported identifiers have a doc comment", "what people may use tells its units and errors", checkDocs, breachOfDocs},
	{"packages have a doc comment", "a folder says what it is for", checkPackageDocs, breachOfPackageDocs},
	{"links in documents lead somewhere", "a map with dead roads is no map", checkLinks, breachOfLinks},
	{"decisions are listed", "a record that nobody finds wasn't written", checkDecisions, breachOfDecisions},
}

type rule struct {
	name, why string
	check     func(*tree, *findings)
	breach    *tree
}

// findings collects what a rule found: breaches fail the test, notes are only told.
type findings struct{ breaches, notes []string }

func (f *findings) breach(format string, args ...any) {
	f.breaches = append(f.breaches, fmt.Sprintf(format, args...))
}

func (f *findings) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func TestTree(t *testing.T) {
	t.Parallel()
	tr := readTree(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			var found findings
			r.check(tr, &found)
			for _, note := range found.notes {
				t.Log(note)
			}
			if len(found.breaches) > 0 {
				slices.Sort(found.breaches)
				t.Errorf("why there is this rule: %s\n%s", r.why, strings.Join(found.breaches, "\n"))
			}
		})
	}
}

func TestEachRuleCanFail(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.breach.parse()
			var found findings
			r.check(r.breach, &found)
			if len(found.breaches) == 0 {
				t.Error("the rule finds nothing wrong with its own breach")
			}
		})
	}
}

// tree is the part of the repository that rules look at.
type tree struct {
	text     map[string]string // path → content, of every text file
	packages []goPackage       // as the go command sees them

	fset  *token.FileSet
	files map[string]*ast.File // path → syntax, of every Go file
}

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func readTree(t *testing.T) *tree {
	t.Helper()
	tr := &tree{text: map[string]string{}}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" && !entry.IsDir(): // a linked work tree has a file there, with its machine's path
			return nil
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.Type().IsRegular() && name != ".git": // a worktree's, which names a place on this machine
			return tr.read(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if bad := tr.parse(); bad != nil {
		t.Fatal(bad)
	}
	tr.packages = listPackages(t)
	return tr
}

func (tr *tree) read(name string) error {
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another test's temporary file
	}
	if utf8.Valid(content) {
		tr.text[name] = string(content)
	}
	return err
}

func (tr *tree) parse() error {
	tr.fset, tr.files = token.NewFileSet(), map[string]*ast.File{}
	for _, name := range tr.paths(".go") {
		file, err := parser.ParseFile(tr.fset, name, tr.text[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tr.files[name] = file
	}
	return nil
}

// paths lists the files whose name ends in one of the suffixes, in order.
func (tr *tree) paths(suffixes ...string) []string {
	var some []string
	for _, name := range slices.Sorted(maps.Keys(tr.text)) {
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) }) {
			some = append(some, name)
		}
	}
	return some
}

// sources lists what people write as code: Go, SQL, specs, and scripts, which have no extension here.
func (tr *tree) sources() []string {
	some := tr.paths(".go", ".sql", ".tla", ".cfg", ".mjs", ".sh")
	for _, name := range tr.paths("") {
		if path.Ext(path.Base(name)) == "" && name != "LICENSE" || name == ".ci/run" {
			some = append(some, name)
		}
	}
	return some
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}
