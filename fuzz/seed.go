package fuzz

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/awa-engine/awa/model"
)

// A Seed is a failure as a file: the world and the operations as text, which outlive the commit that found it; a bare
// number would not. Lines beginning with # carry the header and prose, the others are operations.
type Seed struct {
	Property string // what was checked: "lockstep"
	Note     string // prose: what went wrong, which rule it shows
	World    World
	Seed     uint64 // of the run that found it; 0 for one written by hand
	Actions  []model.Action
	Finding  *Difference // of the last run; nil when it passed or has not run
}

const seedHeader = "# awa seed, format 1"

// String is the file.
func (s *Seed) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, seedHeader)
	fmt.Fprintf(&b, "# property: %s\n# world: %s\n# seed: %d\n", s.Property, s.World, s.Seed)
	for line := range strings.Lines(s.Note) {
		fmt.Fprintf(&b, "# %s\n", strings.TrimRight(line, "\n"))
	}
	if s.Finding != nil {
		fmt.Fprintf(&b, "# found: %s\n", s.Finding.What)
	}
	for _, a := range s.Actions {
		fmt.Fprintln(&b, a)
	}
	return b.String()
}

// ParseSeed reads a file that String wrote, or one written by hand in its form.
func ParseSeed(text string) (*Seed, error) {
	if !strings.HasPrefix(text, seedHeader) {
		return nil, fmt.Errorf("not a seed file: the first line should be %q", seedHeader)
	}
	s := &Seed{}
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			continue
		}
		key, value, _ := strings.Cut(comment, ": ")
		var err error
		switch key {
		case "property":
			s.Property = value
		case "world":
			s.World, err = ParseWorld(value)
		case "seed":
			s.Seed, err = strconv.ParseUint(value, 10, 64)
		case "found", strings.TrimPrefix(seedHeader, "# "):
		default:
			s.Note += comment + "\n"
		}
		if err != nil {
			return nil, err
		}
	}
	if s.Property != "lockstep" {
		return nil, fmt.Errorf("seed of property %q: only lockstep is known", s.Property)
	}
	if s.World.Engines == 0 {
		return nil, fmt.Errorf("a seed needs a line %q", "# world: …")
	}
	var err error
	s.Actions, err = model.ParseScript(text)
	return s, err
}

// Save writes the seed into a folder, which it makes, and returns the file's path. The name tells property and content.
func (s *Seed) Save(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.txt", s.Property, s.Seed))
	return path, os.WriteFile(path, []byte(s.String()), 0o644)
}

// Load reads a seed file.
func Load(path string) (*Seed, error) { return LoadAs(path, ParseSeed) }

// LoadAs reads a file as whatever the parser makes of it.
func LoadAs[S any](path string, parse func(text string) (S, error)) (seed S, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return seed, err
	}
	if seed, err = parse(string(text)); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return seed, err
}

//go:embed seeds/*.txt
var keptSeeds embed.FS

// Kept returns the seeds that the project keeps, by name: each a failure of the past, or a planted one, that the tests
// replay.
func Kept() (map[string]*Seed, error) { return KeptAs(keptSeeds, ParseSeed) }

// KeptAs reads the files seeds/*.txt as whatever the parser makes of them, by name.
func KeptAs[S any](files fs.FS, parse func(text string) (S, error)) (map[string]S, error) {
	kept := map[string]S{}
	names, err := fs.Glob(files, "seeds/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if kept[strings.TrimSuffix(filepath.Base(name), ".txt")], err = parse(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return kept, nil
}
