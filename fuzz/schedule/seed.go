package schedule

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/awa-engine/awa/fuzz"
)

// A Seed is a failing schedule as a file: the scenario, the branch of lock_timeout, and who went when. It outlives the
// numbers of the run that found it.
type Seed struct {
	Scenario *Scenario
	Fire     bool
	Schedule []Turn
	Drawn    uint64 // the seed of the sample that found it; 0 for an exploration
	Found    string // the violated property, of the last run; empty when it passed or has not run
}

// A Turn is how many statements of a session are let go one after the other.
type Turn struct {
	Session    string
	Statements int
}

// Property is what a seed file of a schedule says it is of.
const Property = "schedule"

const seedHeader = "# awa seed, format 1"

func newSeed(sc *Scenario, fire bool, o *Outcome, drawn uint64, why *Failure) *Seed {
	s := &Seed{Scenario: sc, Fire: fire, Drawn: drawn, Found: why.What}
	for _, i := range o.schedule {
		s.add(sc.Sessions[i].Name, 1)
	}
	return s
}

// add appends statements of a session.
func (s *Seed) add(session string, n int) {
	if last := len(s.Schedule) - 1; last >= 0 && s.Schedule[last].Session == session {
		s.Schedule[last].Statements += n
		return
	}
	s.Schedule = append(s.Schedule, Turn{session, n})
}

// String is the file.
func (s *Seed) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# property: %s\n# scenario: %s\n# seed: %d\n", seedHeader, Property, s.Scenario.Name, s.Drawn)
	if s.Found != "" {
		fmt.Fprintf(&b, "# found: %s\n", s.Found)
	}
	sc := s.Scenario.clone()
	sc.LockTimeout, sc.Expect = []bool{s.Fire}, nil
	b.WriteString(sc.String())
	b.WriteString("schedule:\n")
	for _, t := range s.Schedule {
		fmt.Fprintf(&b, "  %s %d\n", t.Session, t.Statements)
	}
	return b.String()
}

// IsSeed says whether a text is a seed file of this package's.
func IsSeed(text string) bool {
	return strings.HasPrefix(text, seedHeader) && strings.Contains(text, "\n# property: "+Property+"\n")
}

// ParseSeed reads a file that String wrote.
func ParseSeed(text string) (*Seed, error) {
	if !IsSeed(text) {
		return nil, fmt.Errorf("not a seed file of a schedule: the first lines should be %q and %q", seedHeader, "# property: "+Property)
	}
	s := &Seed{}
	name := "seed"
	scenario, turns, _ := strings.Cut(text, "\nschedule:\n")
	var rest strings.Builder
	for line := range strings.Lines(scenario) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var err error
		switch key {
		case seedHeader, "# property":
		case "# scenario":
			name = value
		case "# seed":
			s.Drawn, err = strconv.ParseUint(value, 10, 64)
		case "# found":
			s.Found = value
		default:
			rest.WriteString(line)
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	if s.Scenario, err = ParseScenario(name, rest.String()+"\n"); err != nil {
		return nil, err
	}
	s.Fire = s.Scenario.LockTimeout[0]
	for line := range strings.Lines(turns) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var t Turn
		if _, err := fmt.Sscanf(line, "%s %d", &t.Session, &t.Statements); err != nil {
			return nil, fmt.Errorf("schedule: %q is not \"SESSION STATEMENTS\": %w", strings.TrimSpace(line), err)
		}
		s.Schedule = append(s.Schedule, t)
	}
	return s, nil
}

// Save writes the seed into a folder, which it makes, and returns the file's path.
func (s *Seed) Save(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("schedule-%s.txt", s.Scenario.Name))
	return path, os.WriteFile(path, []byte(s.String()), 0o644)
}

// Load reads a seed file.
func Load(path string) (*Seed, error) { return fuzz.LoadAs(path, ParseSeed) }

// Steps is how many turns the schedule has.
func (s *Seed) Steps() int { return len(s.Schedule) }

//go:embed seeds/*.txt
var keptSeeds embed.FS

// Kept returns the seeds that the project keeps, by name: schedules that failed once, with a planted defect or without,
// and pass now.
func Kept() (map[string]*Seed, error) { return fuzz.KeptAs(keptSeeds, ParseSeed) }
