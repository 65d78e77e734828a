package mutants

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func defects(t *testing.T) []Defect {
	t.Helper()
	all, err := Defects()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readTree(t *testing.T) func(string) (string, error) {
	t.Helper()
	tree, err := FindTree()
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) (string, error) {
		content, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(name)))
		return string(content), err
	}
}

// A defect whose text moved is planted nowhere, and nothing would show it.
func TestEveryDefectIsFresh(t *testing.T) {
	t.Parallel()
	read := readTree(t)
	for _, d := range defects(t) {
		t.Run(d.ID, func(t *testing.T) {
			t.Parallel()
			files, err := overlayFiles(&d, read)
			if err != nil {
				t.Fatal(err)
			}
			before, err := read(d.File)
			if err != nil {
				t.Fatal(err)
			}
			if files[d.File] == before {
				t.Error("planted, and the file is as before")
			}
		})
	}
}

func TestEachLayerHasADefectAndControls(t *testing.T) {
	t.Parallel()
	all := defects(t)
	for _, l := range Layers() {
		if !slices.ContainsFunc(all, func(d Defect) bool { return d.counts() && d.Named == l.ID }) {
			t.Errorf("no defect names %s", l.ID)
		}
		for _, c := range []Control{Identity, Canary} {
			if !slices.ContainsFunc(all, func(d Defect) bool { return d.Control == c && l.sees(&d) }) {
				t.Errorf("%s has no %s", l.ID, c)
			}
		}
	}
	for _, place := range []Place{InEngine, InSQL, InSchema, InModel, InSpec} {
		if !slices.ContainsFunc(all, func(d Defect) bool { return d.counts() && d.Place == place }) {
			t.Errorf("no defect is planted in %s", place)
		}
	}
}

// The quick profile wants an identity, a canary and three defects, that name layers which are quick.
func TestQuickDefects(t *testing.T) {
	t.Parallel()
	counted := map[Control]int{}
	for _, d := range defects(t) {
		if d.Quick {
			counted[d.Control]++
			if d.Named == "" {
				t.Errorf("%s is quick and names no layer to look", d.ID)
			}
		}
	}
	if counted[Identity] != 1 || counted[Canary] != 1 || counted[""] != 3 {
		t.Errorf("quick are %v", counted)
	}
}

func TestPlantingWantsTheTextOnce(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"gone": "b", "twice": "a a"} {
		d := Defect{Text: "a", Replacement: "c"}
		if _, err := d.Plant(content); err == nil {
			t.Errorf("%s: planted", name)
		}
	}
	d := Defect{Text: "a", Replacement: "c"}
	if got, err := d.Plant("b a b"); err != nil || got != "b c b" {
		t.Errorf("%q, %v", got, err)
	}
}

const sound = `area: claim
place: engine
file: engine/claim.go
models: a text
 on two lines
named: L3
run L3: --runs 5
--- text
a
 b
--- replacement
mutantReached()
`

func TestParseDefect(t *testing.T) {
	t.Parallel()
	d, err := parseDefect("x", sound)
	if err != nil {
		t.Fatal(err)
	}
	if d.Models != "a text on two lines" || d.Text != "a\n b" || d.Replacement != "mutantReached()" || !slices.Equal(d.Args["L3"], []string{"--runs", "5"}) {
		t.Errorf("%+v", d)
	}
	for name, change := range map[string][2]string{
		"an unknown area":            {"area: claim", "area: weather"},
		"an unknown place":           {"place: engine", "place: moon"},
		"a file of another place":    {"engine/claim.go", "model/claim.go"},
		"nothing modelled":           {"models: a text\n on two lines", "models:"},
		"no layer named":             {"named: L3\n", ""},
		"a layer that isn't":         {"named: L3", "named: L7"},
		"tests without a pattern":    {"named: L3", "named: tests"},
		"a key that isn't":           {"named:", "name:"},
		"no mark":                    {"mutantReached()", "c"},
		"two marks":                  {"mutantReached()", "mutantReached() mutantReached()"},
		"no replacement":             {"--- replacement\n", ""},
		"arguments for a blind one":  {"run L3", "run L1"},
		"a control that isn't":       {"named: L3", "control: twin"},
		"a line that is no key":      {"named: L3", "L3"},
		"the text as it was, no end": {"--- text\n", ""},
	} {
		if _, err := parseDefect("x", strings.Replace(sound, change[0], change[1], 1)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
