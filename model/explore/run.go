package explore

import (
	"context"
	"runtime"
	"time"

	"github.com/awa-engine/awa/model"
)

// Options of a [Run]; the zero value is the ordinary case.
type Options struct {
	// Workers expand a level together; 0 is one for each core.
	Workers int
	// KeepGraph asks for Report.Graph also without a view.
	KeepGraph bool
	// Apply are the rules to explore; nil is [model.Apply]. It is how a wrong rule is shown to be found.
	Apply func(model.Store, model.Action) (model.Result, error)
	// Progress is told after each level; nil is told nothing.
	Progress func(Progress)
}

// Progress is how far an exploration has come.
type Progress struct{ Depth, States, Transitions, Frontier int }

// Run explores a configuration. What it finds is in the report; an error means that there was nothing to explore, or
// that ctx ended first.
func Run(ctx context.Context, config Config, options Options) (*Report, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	start := time.Now()
	s := newSearch(config, options)
	if err := s.explore(ctx); err != nil {
		return nil, err
	}
	report := s.report()
	if len(report.Violations) == 0 {
		// A search that stopped early has not seen what could have happened.
		if stuck, ok := s.findStuck(); ok {
			report.Violations = append(report.Violations, s.stuckViolation(stuck))
		}
		report.Vacuous = vacuous(config, report)
	}
	if config.View != nil || options.KeepGraph {
		s.addGraph(report)
	}
	report.Seconds = time.Since(start).Seconds()
	return report, nil
}

// search is the state of an exploration. Workers write to visited only; all else is written between levels.
type search struct {
	config     Config
	workers    int
	apply      func(model.Store, model.Action) (model.Result, error)
	progress   func(Progress)
	invariants []model.Invariant
	properties []model.Property

	visited *visited
	loose   []looseEdge // of the level that is being expanded
	edges   []edge
	tally   tally
	depth   int       // levels begun
	found   []finding // of the level that was done last
}

// edge is a step between numbered states that changed something.
type edge struct {
	from, to int32
	action   uint8 // in Bounds.Actions
}

func newSearch(config Config, options Options) *search {
	s := &search{
		config:     config,
		workers:    options.Workers,
		apply:      options.Apply,
		progress:   options.Progress,
		invariants: model.Invariants(),
		properties: model.Properties(),
		visited:    newVisited(),
	}
	if s.workers <= 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	if s.apply == nil {
		s.apply = model.Apply
	}
	s.tally = newTally(s)
	return s
}

// explore goes level by level, until there is nothing new or something is wrong. Then the level is finished, so that
// what is reported doesn't depend on which worker was first; and the states after a wrong step are looked at too:
// often a step breaks a property and its end an invariant, and both names help.
func (s *search) explore(ctx context.Context) error {
	first := s.empty()
	s.config.reduce(first)
	s.visited.add(first.Encode(nil), origin{unnumbered, 0})
	from, to := s.visited.endLevel()
	for from < to {
		s.depth++
		err := s.level(ctx, from, to, s.checkState)
		if err != nil || len(s.found) > 0 {
			return err
		}
		if err := s.level(ctx, from, to, s.expand); err != nil {
			return err
		}
		from, to = s.visited.endLevel()
		s.tieEdges()
		if s.progress != nil {
			s.progress(Progress{s.depth, s.visited.len(), s.tally.transitions, to - from})
		}
	}
	return nil
}

// tieEdges gives the edges of a finished level the numbers of the states that they lead to.
func (s *search) tieEdges() {
	for _, e := range s.loose {
		s.edges = append(s.edges, edge{e.from, s.visited.numberOf(e.to), e.action})
	}
	s.loose = s.loose[:0]
}

// empty is the state of a fresh installation, where every world begins.
func (s *search) empty() *model.Flat { return model.NewFlat(&s.config.Model) }

// report is everything but the graph and what a complete search lets one ask.
func (s *search) report() *Report {
	r := &Report{
		Config: s.config.Name, Grain: "lifecycle",
		States: s.visited.len(), Transitions: s.tally.transitions, Depth: s.depth,
		Actions: map[string]int{}, Tested: map[string]int{},
		Violations: s.violations(), Vacuous: []string{},
	}
	for i, name := range s.config.Bounds.Actions {
		r.Actions[name] = s.tally.fired[i]
	}
	for i, invariant := range s.invariants {
		r.Tested[invariant.Name] = s.tally.invariants[i]
	}
	for i, property := range s.properties {
		r.Tested[property.Name] = s.tally.properties[i]
	}
	return r
}
