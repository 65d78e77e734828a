package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awa-engine/awa/pgtest"
)

// Options say how a scenario is explored.
type Options struct {
	Mode     *Mode         // nil: the scenario's own
	Seed     uint64        // of a sample
	Budget   time.Duration // 0: until all is done; a scenario that isn't through by then is reported as bounded
	Progress func(schedules int)
}

// A Result says what was run of a scenario.
type Result struct {
	Scenario   string         `json:"scenario"`
	Sessions   int            `json:"sessions"`
	Statements int            `json:"statements"` // let go, over all schedules
	Mode       ModeKind       `json:"mode"`
	Limit      string         `json:"limit,omitempty"` // of a bounded mode
	Schedules  int            `json:"schedules"`
	Reduced    int            `json:"reduced"` // runs that turned out to be an order that was run before
	LockWaits  int            `json:"lock_waits"`
	Audits     int            `json:"audits"`   // schedules whose rows the engine's audit looked at, too
	Outcomes   map[string]int `json:"outcomes"` // answers of all sessions → schedules
	Seconds    float64        `json:"seconds"`
	OK         bool           `json:"ok"`
	Missing    []string       `json:"missing,omitempty"` // expectations that were not met

	Failure *Seed    `json:"-"`
	Story   string   `json:"-"` // of the failure
	Why     *Failure `json:"-"`
}

// Explore runs the schedules of a scenario until one fails or all were run. A failure is in the result; an error means
// that it could not run.
func Explore(ctx context.Context, server *pgtest.Server, database string, sc *Scenario, o Options) (_ *Result, err error) {
	mode := sc.Mode
	if o.Mode != nil {
		mode = *o.Mode
	}
	r := &Result{Scenario: sc.Name, Sessions: len(sc.Sessions), Mode: mode.Kind, Outcomes: map[string]int{}}
	if mode.Kind == Bounded {
		r.Limit = mode.String()
	}
	st, err := newStage(ctx, server, database, sc)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", sc.Name, err)
	}
	defer func() { err = errors.Join(err, st.close(context.WithoutCancel(ctx))) }()
	began := time.Now()
	x := &exploration{stage: st, mode: mode, options: o, result: r, seen: map[Expectation]bool{}, began: began}
	for _, fire := range sc.LockTimeout {
		if err := x.branch(ctx, fire); err != nil {
			return r, fmt.Errorf("scenario %s: %w", sc.Name, err)
		}
	}
	r.Seconds = time.Since(began).Seconds()
	if r.Failure == nil && !x.stopped {
		for _, e := range sc.Expect {
			if x.seen[e] == e.Never {
				r.Missing = append(r.Missing, e.String())
			}
		}
	}
	if x.stopped {
		r.Mode, r.Limit = Bounded, "time"
	}
	r.OK = r.Failure == nil && len(r.Missing) == 0
	return r, nil
}

// exploration is Explore under way.
type exploration struct {
	stage   *stage
	mode    Mode
	options Options
	result  *Result
	seen    map[Expectation]bool
	began   time.Time
	stopped bool // by the budget
}

// A strategy is a chooser for many runs.
type strategy interface {
	chooser
	begin()
	again() // the run that was begun
	next() bool
}

func (x *exploration) strategy() strategy {
	if x.mode.Kind == Sampled {
		return newSampler(x.mode, x.options.Seed, len(x.stage.sessions))
	}
	return newExplorer(x.mode)
}

// branch runs the schedules of one branch of lock_timeout.
func (x *exploration) branch(ctx context.Context, fire bool) error {
	s := x.strategy()
	for more := x.result.Failure == nil; more; more = s.next() {
		if x.options.Budget > 0 && time.Since(x.began) > x.options.Budget {
			x.stopped = true
			return nil
		}
		o, err := x.perform(ctx, fire, s)
		if err != nil {
			return fmt.Errorf("schedule %d: %w", x.result.Schedules+1, err)
		}
		if e, ok := s.(*explorer); ok && e.cut && o.Failure == nil {
			x.result.Reduced++
			continue
		}
		x.count(o)
		why := o.Failure
		if why == nil {
			if why, err = x.stage.judgeRun(ctx, o); err != nil {
				return err
			}
		}
		if why == nil && x.result.Schedules%auditEvery == 1 {
			x.result.Audits++
			if why, err = x.stage.audit(ctx); err != nil {
				return err
			}
		}
		if why != nil {
			x.result.Why = why
			x.result.Failure = newSeed(x.stage.scenario, fire, o, x.options.Seed, why)
			x.result.Story = x.stage.story(o)
			return nil
		}
		if x.options.Progress != nil {
			x.options.Progress(x.result.Schedules)
		}
	}
	return nil
}

// perform runs the next schedule. A run in which statements were prepared counts for nothing, and is repeated: preparing
// takes locks, and may wait, where no gate is.
func (x *exploration) perform(ctx context.Context, fire bool, s strategy) (*Outcome, error) {
	s.begin()
	for n := 0; ; n++ {
		o, err := x.stage.perform(ctx, fire, s)
		if err != nil {
			return nil, err
		}
		e, _ := s.(*explorer)
		lost := e != nil && e.lost != nil
		switch {
		case lost && n >= replays:
			return nil, e.lost
		case !lost && (!o.prepared || n >= replays):
			return o, nil
		}
		s.again()
	}
}

// count adds a schedule to the result, and notes what was expected of some.
func (x *exploration) count(o *Outcome) {
	r, sc := x.result, x.stage.scenario
	r.Schedules++
	r.Statements += len(o.Steps)
	r.LockWaits += o.Waits
	answers := map[string][]string{}
	for _, d := range o.Done {
		name := sc.Sessions[d.Session].Name
		text := d.Answer.tell(d.Operation, x.stage.names)
		if d.Err != nil {
			text = "error"
		}
		answers[name] = append(answers[name], text)
		x.seen[Expectation{Session: name, Op: d.Op + 1, Answer: text}] = true
		x.seen[Expectation{Never: true, Session: name, Op: d.Op + 1, Answer: text}] = true
	}
	if o.Waits > 0 {
		x.seen[Expectation{Waits: true}], x.seen[Expectation{Waits: true, Never: true}] = true, true
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		all = append(all, name+": "+strings.Join(answers[name], ", "))
	}
	r.Outcomes[strings.Join(all, " | ")]++
}
