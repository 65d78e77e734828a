package schedule

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/awa-engine/awa/fuzz"
)

// A Scenario is a few sessions whose interleavings are run: a file of the folder scenarios.
type Scenario struct {
	Name  string // the file's
	Prose string // what could go wrong, which rule it shows
	World fuzz.World
	// LockTimeout are the branches of what a prune's bounded wait for a lock does: it waits until it gets the lock
	// (false), or gives up at once (true). Wall time decides nothing.
	LockTimeout []bool
	Mode        Mode
	bare        bool // the schema isn't installed yet
	Setup       []Operation
	Sessions    []Script
	Expect      []Expectation
}

// A Script is what one session does.
type Script struct {
	Name string
	Ops  []Operation
}

// An Expectation is what must be seen in at least one schedule, or in none.
type Expectation struct {
	Never   bool
	Waits   bool   // any lock wait
	Session string // else: this answer
	Op      int    // from 1
	Answer  string
}

// A Mode says which interleavings are run.
type Mode struct {
	Kind        ModeKind
	Preemptions int // Bounded: how many switches away from a session that could have gone on
	Depth, Runs int // Sampled: the bugs that need Depth ordered switches, Runs schedules
}

// ModeKind is how schedules are chosen.
type ModeKind string

// The modes.
const (
	Exhausted ModeKind = "exhausted" // every order of statements
	Reduced   ModeKind = "reduced"   // every order, up to statements that don't touch each other
	Bounded   ModeKind = "bounded"   // every order with few preemptions
	Sampled   ModeKind = "sampled"   // random priorities, changed at random points
)

// String is the mode as a scenario names it.
func (m Mode) String() string {
	if m.Kind == Bounded {
		return fmt.Sprintf("preemptions=%d", m.Preemptions)
	}
	return string(m.Kind)
}

func parseMode(text string) (Mode, error) {
	if n, ok := strings.CutPrefix(text, "preemptions="); ok {
		limit, err := strconv.Atoi(n)
		return Mode{Kind: Bounded, Preemptions: limit}, err
	}
	m := Mode{Kind: ModeKind(text)}
	if m.Kind != Exhausted && m.Kind != Reduced {
		return m, fmt.Errorf("explore: %q is not one of exhausted, reduced, preemptions=N", text)
	}
	return m, nil
}

var lockTimeouts = map[bool]string{false: "wait", true: "fire"}

// String is the scenario's file.
func (s *Scenario) String() string {
	var b strings.Builder
	for line := range strings.Lines(s.Prose) {
		fmt.Fprintf(&b, "# %s\n", strings.TrimRight(line, "\n"))
	}
	fmt.Fprintf(&b, "world: %s\n", s.World)
	var branches []string
	for _, fire := range s.LockTimeout {
		branches = append(branches, lockTimeouts[fire])
	}
	fmt.Fprintf(&b, "lock_timeout: %s\nexplore: %s\n", strings.Join(branches, ","), s.Mode)
	if s.bare {
		b.WriteString("schema: none\n")
	}
	if len(s.Setup) > 0 {
		b.WriteString("setup:\n")
	}
	for _, op := range s.Setup {
		fmt.Fprintf(&b, "  %s\n", op)
	}
	for _, script := range s.Sessions {
		fmt.Fprintf(&b, "session %s:\n", script.Name)
		for _, op := range script.Ops {
			fmt.Fprintf(&b, "  %s\n", op)
		}
	}
	if len(s.Expect) > 0 {
		b.WriteString("expect:\n")
	}
	for _, e := range s.Expect {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String()
}

// String is the expectation's line.
func (e Expectation) String() string {
	word := "sees"
	if e.Never {
		word = "never"
	}
	if e.Waits {
		return word + " waits"
	}
	return fmt.Sprintf("%s %s %d %s", word, e.Session, e.Op, e.Answer)
}

func parseExpectation(line string) (e Expectation, err error) {
	words := strings.SplitN(line, " ", 4)
	e.Never = words[0] == "never"
	switch {
	case words[0] != "sees" && words[0] != "never":
	case len(words) == 2 && words[1] == "waits":
		e.Waits = true
		return e, nil
	case len(words) == 4:
		e.Session, e.Answer = words[1], words[3]
		e.Op, err = strconv.Atoi(words[2])
		return e, err
	}
	return e, fmt.Errorf("expectation %q: not \"sees|never SESSION N ANSWER\" nor \"sees|never waits\"", line)
}

// ParseScenario reads a file that String wrote, or one written by hand in its form.
func ParseScenario(name, text string) (*Scenario, error) {
	s := &Scenario{Name: name}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		var err error
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			s.Prose += strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ") + "\n"
		case strings.HasPrefix(line, "  "):
			err = s.line(section, strings.TrimSpace(line))
		default:
			key, value, _ := strings.Cut(line, ":")
			section = key
			err = s.key(key, strings.TrimSpace(value))
		}
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
	}
	if s.World.Engines == 0 || len(s.Sessions) == 0 || s.Prose == "" {
		return nil, fmt.Errorf("scenario %s: a world, sessions and a sentence of prose are needed", name)
	}
	if len(s.LockTimeout) == 0 {
		s.LockTimeout = []bool{false}
	}
	if s.Mode.Kind == "" {
		s.Mode.Kind = Reduced
	}
	return s, nil
}

// key takes a line that begins a section or sets something.
func (s *Scenario) key(key, value string) (err error) {
	script, isSession := strings.CutPrefix(key, "session ")
	switch {
	case isSession:
		s.Sessions = append(s.Sessions, Script{Name: script})
	case key == "setup", key == "expect":
	case key == "world":
		s.World, err = fuzz.ParseWorld(value)
	case key == "explore":
		s.Mode, err = parseMode(value)
	case key == "schema" && value == "none":
		s.bare = true
	case key == "lock_timeout":
		for word := range strings.SplitSeq(value, ",") {
			if word != "wait" && word != "fire" {
				return fmt.Errorf("lock_timeout: %q is not wait or fire", word)
			}
			s.LockTimeout = append(s.LockTimeout, word == "fire")
		}
	default:
		return fmt.Errorf("unknown line %q", key+": "+value)
	}
	return err
}

// line takes an indented line of a section.
func (s *Scenario) line(section, line string) error {
	if section == "expect" {
		e, err := parseExpectation(line)
		s.Expect = append(s.Expect, e)
		return err
	}
	op, err := ParseOperation(line)
	if err != nil {
		return err
	}
	switch {
	case section == "setup":
		s.Setup = append(s.Setup, op)
	case strings.HasPrefix(section, "session "):
		last := &s.Sessions[len(s.Sessions)-1]
		last.Ops = append(last.Ops, op)
	default:
		return fmt.Errorf("%q stands outside of setup, sessions and expect", line)
	}
	return nil
}

// clone copies what a shrinker changes.
func (s *Scenario) clone() *Scenario {
	c := *s
	c.Setup = slices.Clone(s.Setup)
	c.Sessions = slices.Clone(s.Sessions)
	for i := range c.Sessions {
		c.Sessions[i].Ops = slices.Clone(c.Sessions[i].Ops)
	}
	return &c
}

//go:embed scenarios/*.txt
var scenarioFiles embed.FS

// Scenarios returns the scenarios of the project by name.
func Scenarios() ([]*Scenario, error) {
	files, err := fs.Glob(scenarioFiles, "scenarios/*.txt")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	for _, file := range files {
		text, err := scenarioFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s, err := ParseScenario(strings.TrimSuffix(path.Base(file), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
