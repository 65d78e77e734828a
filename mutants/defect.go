package mutants

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed defects/*.txt
var embedded embed.FS

// A Place says what kind of source a defect is planted in, and so which layers can see it.
type Place string

// The places.
const (
	InEngine Place = "engine" // Go of the engine
	InSQL    Place = "sql"    // the engine's statements
	InSchema Place = "schema" // migrations and their installer
	InModel  Place = "model"
	InSpec   Place = "spec"
)

// A Control is a mutant whose fate is known beforehand.
type Control string

// The controls; an ordinary defect has none.
const (
	Identity Control = "identity" // changes no meaning: must survive everywhere
	Canary   Control = "canary"   // breaks what everybody looks at: must die in every layer that can see its place
)

// A Defect is one planted mistake.
type Defect struct {
	ID     string // the file's name
	Area   string // claim, complete, …
	Place  Place
	File   string // of the tree
	Models string // which way to get this wrong it stands for
	Named  string // the layer that should find it
	// Note says why another layer may find it instead.
	Note string
	// Invisible says why the defect changes nothing that could be seen: then it must survive.
	Invisible string
	Control   Control
	// Quick defects are run by verify's quick profile.
	Quick bool
	// Args are the arguments of a layer's command, by layer, where its own take too long or look elsewhere.
	Args map[string][]string

	Text, Replacement string
}

// areas are what a defect may be about.
var areas = []string{"claim", "complete", "rescue", "rotate", "prune", "counts", "retry", "enqueue", "hints", "leases", "schema", "outcome", "model", "spec"}

// One of these stands in each replacement, where the changed place is passed.
const (
	goMark  = "mutantReached()" // returns true
	sqlMark = "/* reached */"   // taken out before the statement is sent
)

// Defects reads the planted defects that are built in, in order of their names.
func Defects() ([]Defect, error) {
	folder, err := fs.Sub(embedded, "defects")
	if err != nil {
		return nil, err
	}
	return readDefects(folder)
}

func readDefects(folder fs.FS) ([]Defect, error) {
	names, err := fs.Glob(folder, "*.txt")
	if err != nil {
		return nil, err
	}
	var all []Defect
	var problems []error
	for _, name := range names {
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		d, err := parseDefect(strings.TrimSuffix(name, ".txt"), string(content))
		if err != nil {
			problems = append(problems, fmt.Errorf("defect %s: %w", name, err))
		}
		all = append(all, d)
	}
	return all, errors.Join(problems...)
}

const (
	textLine        = "--- text\n"
	replacementLine = "--- replacement\n"
)

// parseDefect reads a file: lines of `key: value`, which a line that begins with a space goes on with, then the text and
// its replacement as they stand, without their last line break.
func parseDefect(id, content string) (Defect, error) {
	d := Defect{ID: id, Args: map[string][]string{}}
	head, rest, ok := strings.Cut(content, "\n"+textLine)
	text, replacement, ok2 := strings.Cut(rest, "\n"+replacementLine)
	if !ok || !ok2 {
		return d, errors.New(`it needs a line "--- text" and a line "--- replacement", each with lines after it`)
	}
	d.Text, d.Replacement = text, strings.TrimSuffix(replacement, "\n")
	for _, line := range strings.Split(strings.ReplaceAll(head, "\n ", " "), "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return d, fmt.Errorf("%q is no key: value", line)
		}
		if err := d.set(key, strings.Join(strings.Fields(value), " ")); err != nil {
			return d, err
		}
	}
	return d, d.check()
}

func (d *Defect) set(key, value string) error {
	if layer, ok := strings.CutPrefix(key, "run "); ok {
		d.Args[layer] = strings.Fields(value)
		return nil
	}
	switch key {
	case "area":
		d.Area = value
	case "place":
		d.Place = Place(value)
	case "file":
		d.File = value
	case "models":
		d.Models = value
	case "named":
		d.Named = value
	case "note":
		d.Note = value
	case "invisible":
		d.Invisible = value
	case "control":
		d.Control = Control(value)
	case "quick":
		d.Quick = value == "yes"
	default:
		return fmt.Errorf("there is no key %q", key)
	}
	return nil
}

func (d *Defect) check() error {
	_, known := findLayer(d.Named)
	named := d.Named != "" || d.Control != "" || d.Invisible != ""
	switch {
	case !slices.Contains(areas, d.Area):
		return fmt.Errorf("area %q is none of %s", d.Area, strings.Join(areas, ", "))
	case folders[d.Place] == nil:
		return fmt.Errorf("place %q is none of engine, sql, schema, model, spec", d.Place)
	case !slices.Contains(folders[d.Place], path.Dir(d.File)+"/*"+path.Ext(d.File)):
		return fmt.Errorf("file %q is not of the place %s", d.File, d.Place)
	case d.Models == "":
		return errors.New("it doesn't say what it models")
	case !named:
		return errors.New("it names no layer that should find it")
	case d.Named != "" && !known:
		return fmt.Errorf("there is no layer %q", d.Named)
	case d.Control != "" && d.Control != Identity && d.Control != Canary:
		return fmt.Errorf("control %q is neither identity nor canary", d.Control)
	case d.Named == Tests && d.Args[Tests] == nil:
		return errors.New(`it names tests, so it needs "run tests: PACKAGE PATTERN"`)
	case d.Text == d.Replacement:
		return errors.New("the replacement is the text")
	case d.mark() != "" && strings.Count(d.Replacement, d.mark()) != 1:
		return fmt.Errorf("the replacement must hold the mark %s once", d.mark())
	}
	for layer := range d.Args {
		if l, ok := findLayer(layer); !ok || !slices.Contains(l.Sees, d.Place) {
			return fmt.Errorf("run %s: no such layer, or it can't see %s", layer, d.Place)
		}
	}
	return nil
}

// folders say where the files of each place are.
var folders = map[Place][]string{
	InEngine: {"engine/*.go"},
	InSQL:    {"engine/*.sql"},
	InSchema: {"engine/schema/*.go", "engine/schema/*.sql"},
	InModel:  {"model/*.go", "model/explore/*.go"},
	InSpec:   {"correctness/tla/*.tla"},
}

// mark is what the replacement carries. A spec needs none: that each action of it happens, and each of its invariants is
// looked at in every state, is part of the verdict of whoever judges it.
func (d *Defect) mark() string {
	switch path.Ext(d.File) {
	case ".go":
		return goMark
	case ".sql":
		return sqlMark
	}
	return ""
}

// Plant returns the file with the defect in it. It fails when the text isn't there exactly once: then the source moved
// on, and the defect must follow.
func (d *Defect) Plant(content string) (string, error) {
	return replaceOnce(content, d.Text, d.Replacement)
}

func replaceOnce(content, text, replacement string) (string, error) {
	if n := strings.Count(content, text); n != 1 {
		return "", fmt.Errorf("the text stands there %d times, must be once:\n%s", n, text)
	}
	return strings.Replace(content, text, replacement, 1), nil
}
