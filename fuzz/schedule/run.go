package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A run is one schedule: the sessions' goroutines, and the scheduler that lets their statements go.
type run struct {
	stage  *stage
	fire   bool // the branch of lock_timeout
	events chan event
	freed  chan struct{} // closed: nothing is held any more

	prepared atomic.Bool // a statement was prepared under way
	wg       sync.WaitGroup

	state   []sessionState
	outcome *Outcome
	cycle   string
}

// An event is what a session tells the scheduler.
type event struct {
	session int
	arrival *arrival // a statement wants to go
	done    *Done    // an operation has ended
	last    bool     // and there is none left
}

// An arrival is a statement at the gate.
type arrival struct {
	gate      *gate
	unit      unit
	footprint Footprint
	permit    chan struct{}
}

type sessionState struct {
	phase   phase
	at      *arrival // waits at the gate, or is the statement in flight
	waitsOn []int    // sessions, while blocked
	began   int      // step at which the operation under way began; -1 before its first statement
	op      int
}

type phase int

const (
	running phase = iota // between the gate and the next arrival
	ready                // at the gate
	waiting              // waits for a lock, the server says
	over
)

// A Done is an operation that has ended.
type Done struct {
	Session, Op int
	Operation   Operation
	Answer      Answer
	Err         error
	Begin, End  int // steps
	skipped     bool
}

// A Step is a statement that was let go, and what came of it before anything else was.
type Step struct {
	Session   int
	Label     string
	Footprint Footprint
	WaitsOn   []int  // it was found waiting for these sessions
	Resumed   []int  // sessions that waited and went on
	Commits   bool   // it made rows visible
	Sees      int    // the newest commit that its snapshot shows, as a step; -1 for the setup's
	Ended     []Done // operations that ended with it
	silent    []string
}

// An Outcome is what a schedule came to.
type Outcome struct {
	Steps    []Step
	Done     []Done
	Waits    int
	Failure  *Failure
	schedule []int
	prepared bool // statements were prepared under way: the run counts for nothing
}

// A Failure is what a schedule has violated.
type Failure struct {
	What   string
	Detail string
}

// A chooser decides who goes next among the sessions whose statements are at the gate.
type chooser interface {
	choose(step int, at []candidate, last int) (int, error)
	took(s Step)
}

// A candidate is a session at the gate.
type candidate struct {
	session   int
	label     string
	footprint Footprint
}

// patience bounds a schedule: a statement that is neither answered nor waits for a lock for so long is a fault of the
// harness.
const patience = 20 * time.Second

// grace is how long a statement may take before the server is asked whether it waits.
const grace = 400 * time.Microsecond

// lockWaits are the two branches: longer than any schedule, and the shortest that there is.
var lockWaits = map[bool]time.Duration{false: time.Hour, true: time.Millisecond}

// perform runs one schedule from the setup's rows to the end of all sessions. A failure is in the outcome; an error
// means that it could not run.
func (st *stage) perform(ctx context.Context, fire bool, c chooser) (_ *Outcome, err error) {
	if err := st.reset(ctx); err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := &run{stage: st, fire: fire, events: make(chan event), freed: make(chan struct{}), outcome: &Outcome{}}
	r.state = make([]sessionState, len(st.sessions))
	for i, s := range st.sessions {
		if err := s.open(ctx, lockWaits[fire]); err != nil {
			return nil, err
		}
		r.state[i].began = -1
	}
	for _, s := range st.sessions {
		for _, g := range s.gates {
			g.tx = transaction{}
		}
		s.run.Store(r)
	}
	work, stop := context.WithCancel(ctx)
	for i, s := range st.sessions {
		r.wg.Go(func() { r.live(work, s, st.scenario.Sessions[i].Ops) })
	}
	err = r.schedule(ctx, c)
	close(r.freed)
	if err != nil || r.cycle != "" {
		stop() // whatever still waits ends here
	}
	r.drain()
	stop()
	for _, s := range st.sessions {
		s.run.Store(nil)
		s.end(context.WithoutCancel(ctx))
	}
	if err != nil || r.cycle != "" {
		err = errors.Join(err, st.reconnect(context.WithoutCancel(ctx)))
	}
	r.outcome.prepared = r.prepared.Load()
	return r.outcome, err
}

// live is a session's life.
func (r *run) live(ctx context.Context, s *session, ops []Operation) {
	for i, op := range ops {
		a, err := s.apply(ctx, op)
		d := &Done{Session: s.index, Op: i, Operation: op, Answer: a, Err: err}
		if errors.Is(err, errPassedOver) {
			d.Err, d.skipped = nil, true
		}
		select {
		case r.events <- event{session: s.index, done: d, last: i == len(ops)-1}:
		case <-r.freed:
		}
	}
}

// drain waits for the sessions' goroutines.
func (r *run) drain() {
	ended := make(chan struct{})
	go func() { defer close(ended); r.wg.Wait() }()
	for {
		select {
		case <-r.events:
		case <-ended:
			return
		}
	}
}

// schedule lets statements go until all sessions are over.
func (r *run) schedule(ctx context.Context, c chooser) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	last, shown := -1, -1
	for {
		at := r.candidates()
		if len(at) == 0 {
			return r.stuck()
		}
		chosen, err := c.choose(len(r.outcome.Steps), at, last)
		if err != nil {
			return err
		}
		a := r.state[chosen].at
		step := Step{Session: chosen, Label: r.stage.catalog.label(a.unit), Footprint: a.footprint.clone(), Sees: shown}
		if tx := &a.gate.tx; tx.snapshot && tx.taken {
			step.Sees = tx.sees
		} else {
			tx.sees = shown
		}
		step.Commits = len(a.gate.tx.written) > 0 && r.stage.catalog.parse(a.unit.sql).kind == commits
		r.outcome.Steps = append(r.outcome.Steps, step)
		r.outcome.schedule = append(r.outcome.schedule, chosen)
		r.let(chosen)
		if err := r.settle(ctx); err != nil {
			return err
		}
		now := &r.outcome.Steps[len(r.outcome.Steps)-1]
		if now.Commits {
			shown = len(r.outcome.Steps) - 1
		}
		if len(now.Ended) > 0 {
			now.Footprint.add(precedence, holds)
		}
		c.took(*now)
		if r.outcome.Failure != nil {
			return nil
		}
		last = chosen
	}
}

func (r *run) candidates() []candidate {
	var at []candidate
	for i, s := range r.state {
		if s.phase == ready {
			at = append(at, candidate{i, r.stage.catalog.label(s.at.unit), s.at.footprint})
		}
	}
	return at
}

// stuck is the end, or a wait that nobody can end.
func (r *run) stuck() error {
	for i, s := range r.state {
		if s.phase == waiting {
			return fmt.Errorf("session %s waits for %v, and nobody can go on", r.stage.scenario.Sessions[i].Name, s.waitsOn)
		}
	}
	return nil
}

// let opens the gate for one statement.
func (r *run) let(i int) {
	s := &r.state[i]
	if s.began < 0 {
		s.began = len(r.outcome.Steps) - 1
		r.outcome.Steps[s.began].Footprint.add(precedence, watches)
	}
	a := s.at
	a.gate.tx.let(r.stage.catalog, a.unit, a.footprint)
	r.stage.touch(a.unit, a.footprint)
	s.phase = running
	close(a.permit)
}

// settle waits until each session is at the gate, over, or waits for a lock.
func (r *run) settle(ctx context.Context) error {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for {
		if !r.anyIn(running) {
			if !r.anyIn(waiting) {
				return nil
			}
			resumed, err := r.lookAtWaits(ctx, waiting)
			if err != nil || !resumed {
				return err
			}
			continue
		}
		timer.Reset(grace)
		select {
		case e := <-r.events:
			r.take(e)
		case <-timer.C:
			if _, err := r.lookAtWaits(ctx, running); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("step %d: %w: %s", len(r.outcome.Steps), ctx.Err(), r.describe())
		}
	}
}

func (r *run) anyIn(p phase) bool {
	return slices.ContainsFunc(r.state, func(s sessionState) bool { return s.phase == p })
}

// take notes what a session tells. A statement that touches nothing is no scheduling point: it goes at once.
func (r *run) take(e event) {
	s := &r.state[e.session]
	if s.phase == waiting { // it went on before anybody asked
		s.waitsOn = nil
		r.resume(e.session)
	}
	if e.arrival != nil {
		a := e.arrival
		a.footprint = r.stage.catalog.footprint(a.unit, &a.gate.tx)
		s.at, s.phase = a, ready
		if a.footprint.empty() {
			a.gate.tx.let(r.stage.catalog, a.unit, a.footprint)
			if n := len(r.outcome.Steps); n > 0 {
				step := &r.outcome.Steps[n-1]
				step.silent = append(step.silent, r.stage.catalog.label(a.unit))
			}
			s.phase = running
			close(a.permit)
		}
		return
	}
	d := e.done
	d.End = len(r.outcome.Steps) - 1
	d.Begin = s.began
	if s.began < 0 {
		d.Begin = d.End
	}
	s.began = -1
	s.op++
	s.phase = running
	if e.last {
		s.phase = over
	}
	r.outcome.Done = append(r.outcome.Done, *d)
	if n := len(r.outcome.Steps); n > 0 {
		r.outcome.Steps[n-1].Ended = append(r.outcome.Steps[n-1].Ended, *d)
	}
	if d.Err != nil && r.outcome.Failure == nil {
		r.outcome.Failure = failureOf(r.stage.scenario, d)
	}
}

// failureOf tells of an error: none is expected of the engine here.
func failureOf(sc *Scenario, d *Done) *Failure {
	what := fmt.Sprintf("%s of session %s fails", d.Operation.name(), sc.Sessions[d.Session].Name)
	var pg *pgconn.PgError
	if errors.As(d.Err, &pg) && pg.Code == "40P01" {
		what = fmt.Sprintf("%s of session %s ends in a deadlock", d.Operation.name(), sc.Sessions[d.Session].Name)
	}
	return &Failure{What: what, Detail: d.Err.Error()}
}

func (r *run) describe() string {
	text := ""
	for i, s := range r.state {
		text += fmt.Sprintf(" %s is %s", r.stage.scenario.Sessions[i].Name, [...]string{"running", "at the gate", "blocked", "over"}[s.phase])
		if s.at != nil && s.phase != over {
			text += " with " + r.stage.catalog.label(s.at.unit)
		}
	}
	return text
}
