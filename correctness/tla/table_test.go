package tla

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTableIsReadBack(t *testing.T) {
	t.Parallel()
	rows := shopRows(t)
	path := filepath.Join(t.TempDir(), TableName)
	if err := WriteTable(path, rows); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	specs := fstest.MapFS{TableName: {Data: text}}
	for _, row := range rows {
		cfg, err := os.ReadFile(filepath.Join("testdata", "shop", row.Config+".cfg"))
		if err != nil {
			t.Fatal(err)
		}
		specs[row.Config+".cfg"] = &fstest.MapFile{Data: cfg}
	}
	if got, err := ReadTable(specs); err != nil || !slices.Equal(got, rows) {
		t.Errorf("read back as %+v (%v)", got, err)
	}
	for old, bad := range map[string][2]string{
		"an unknown key":             {`"needs":""`, `"need":""`},
		"an unknown kind":            {`"kind":"safety"`, `"kind":"speed"`},
		"an unknown need":            {`"needs":"tlc"`, `"needs":"java"`},
		"two rows":                   {`"config":"ShopGrows"`, `"config":"Shop"`},
		"a graph of a broken row":    {`"expect":"deadlock","kind":"safety","graph":""`, `"expect":"deadlock","kind":"safety","graph":"g"`},
		"a property nothing breaks":  {`"expect":"NumbersGrow"`, `"expect":"NumbersShrink"`},
		"a spec that nothing breaks": {`{"spec":"Shop","module":"Shop","config":"ShopGrows"`, `{"spec":"Other","module":"Shop","config":"ShopGrows"`},
		"no module":                  {`"module":"Shop","config":"ShopGrows"`, `"module":"","config":"ShopGrows"`},
	} {
		changed := strings.Replace(string(text), bad[0], bad[1], 1)
		if changed == string(text) {
			t.Fatalf("%s: the table has no %s", old, bad[0])
		}
		specs[TableName] = &fstest.MapFile{Data: []byte(changed)}
		if _, err := ReadTable(specs); err == nil {
			t.Errorf("a table with %s is accepted", old)
		}
	}
}

// TestSpecsAreComplete reads the real table, and wants each module and configuration to be in it.
func TestSpecsAreComplete(t *testing.T) {
	t.Parallel()
	rows, err := ReadTable(Specs())
	if err != nil {
		t.Fatal(err)
	}
	configs, err := fs.Glob(Specs(), "*.cfg")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range configs {
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Config+".cfg" == name }) {
			t.Errorf("%s has no row in %s: it is never checked", name, TableName)
		}
	}
	for _, row := range rows {
		if _, err := fs.Stat(Specs(), row.Module+".tla"); err != nil {
			t.Error(err)
		}
	}
}
