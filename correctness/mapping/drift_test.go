package mapping

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// readTree takes the part of the tree that the mapping reads into memory, so that a test can change it.
func readTree(t *testing.T) fstest.MapFS {
	t.Helper()
	root := os.DirFS("../..")
	tree := fstest.MapFS{}
	for _, pattern := range []string{
		"engine/*.go", "engine/*.sql", "engine/schema/*.sql", "model/*.go", "model/explore/*.go",
		"model/testdata/scenarios/*.txt", "correctness/tla/*.tla", "correctness/tla/*.cfg", "correctness/tla/*.json",
		"fuzz/*.go", "fuzz/seeds/*.txt", "chaos/*.go", notesFile,
	} {
		names, err := fs.Glob(root, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			content, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			tree[name] = &fstest.MapFile{Data: content}
		}
	}
	return tree
}

// An edit is a change in one file of the tree.
type edit struct {
	file     string
	old, new string // every old becomes new; with an empty old, new is put at the end
}

func (e edit) apply(t *testing.T, tree fstest.MapFS) fstest.MapFS {
	t.Helper()
	changed := maps.Clone(tree)
	content := ""
	if f := tree[e.file]; f != nil {
		content = string(f.Data)
	}
	if e.old == "" {
		content += e.new
	} else {
		if !strings.Contains(content, e.old) {
			t.Fatalf("%s doesn't hold %q any more", e.file, e.old)
		}
		content = strings.ReplaceAll(content, e.old, e.new)
	}
	changed[e.file] = &fstest.MapFile{Data: []byte(content)}
	return changed
}

// Every kind of drift has to be seen: each case changes one name in one place.
func TestDriftIsSeen(t *testing.T) {
	t.Parallel()
	tree := readTree(t)
	before, err := Make(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range driftCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, err := Make(c.apply(t, tree))
			if err != nil {
				t.Fatal(err)
			}
			added := slices.DeleteFunc(slices.Clone(after.Problems), func(p string) bool { return slices.Contains(before.Problems, p) })
			if !slices.ContainsFunc(added, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("not seen: %s\nseen:\n%s", c.want, strings.Join(added, "\n"))
			}
		})
	}
}

// A name that needs no reason changes the file alone.
func TestFileFollowsTheTree(t *testing.T) {
	t.Parallel()
	tree := readTree(t)
	before, err := Make(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		edit
		want string
	}{
		"a renamed test": {
			edit{"engine/migrate_test.go", "func TestConcurrentInstallers(", "func TestRivalInstallers("}, "TestRivalInstallers",
		},
		"a new scenario": {edit{"model/testdata/scenarios/new.txt", "", "Reopen\n\n----\nPromote limit=1 now=2\n"}, "**scenarios** new"},
		"a new seed":     {edit{"fuzz/seeds/new.txt", "", "# awa seed, format 1\nReopen\n"}, "**seeds** new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, err := Make(c.apply(t, tree))
			if err != nil {
				t.Fatal(err)
			}
			if drift := strings.Join(after.Drift(before.Text), "\n"); !strings.Contains(drift, c.want) {
				t.Errorf("the file doesn't follow: %s", drift)
			}
		})
	}
}

// What can't be read is an error, not a table with less in it.
func TestUnreadableSourceIsAnError(t *testing.T) {
	t.Parallel()
	tree := readTree(t)
	for name, c := range map[string]edit{
		"Go of the engine":     {"engine/broken.go", "", "package"},
		"Go of the model":      {"model/broken.go", "", "package"},
		"Go of the explorer":   {"model/explore/broken.go", "", "package"},
		"Go of lockstep":       {"fuzz/broken.go", "", "package"},
		"Go of chaos":          {"chaos/broken.go", "", "package"},
		"a template":           {"engine/broken.sql", "", `{{define "broken"}}`},
		"the specs' table":     {"correctness/tla/expectations.json", "[", "{"},
		"a spec":               {spec, "MODULE", "MODEL"},
		"a spec configuration": {"correctness/tla/MCClaimRingSmall.cfg", "SPECIFICATION", "SPECIFIED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if m, err := Make(c.apply(t, tree)); err == nil {
				t.Errorf("%d problems, and no error", len(m.Problems))
			}
		})
	}
}
