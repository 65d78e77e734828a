package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// waitsQuery asks the server which of its processes $1 wait for a lock, and for whom. The first function is what
// PostgreSQL's own isolation tests use; it looks at blockers among $2 alone, so that a process that waits for somebody
// else is told by the second.
const waitsQuery = `SELECT p, %s, pg_blocking_pids(p) FROM unnest($1::integer[]) AS p`

// isBlocked is internal to the server and may go one day.
const isBlocked = `pg_isolation_test_session_is_blocked(p, $2::integer[])`

const isBlockedOtherwise = `pg_blocking_pids(p) && $2::integer[]`

// A wait is what the server says of one process.
type wait struct {
	pid      int32
	blocked  bool
	blockers []int32
}

func (st *stage) waits(ctx context.Context, pids []int32) ([]wait, error) {
	ask := func(expression string) ([]wait, error) {
		rows, err := st.control.Query(ctx, fmt.Sprintf(waitsQuery, expression), pids, st.pids)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w wait, err error) {
			return w, row.Scan(&w.pid, &w.blocked, &w.blockers)
		})
	}
	all, err := ask(isBlocked)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42883" { // undefined_function
		all, err = ask(isBlockedOtherwise)
	}
	return all, err
}

// lookAtWaits asks about the sessions in a phase: those that run and turn out to wait are blocked, those that were
// blocked and don't wait any more run. It reports whether a blocked one goes on.
func (r *run) lookAtWaits(ctx context.Context, in phase) (resumed bool, err error) {
	var pids []int32
	for _, s := range r.state {
		if s.phase == in && s.at != nil {
			pids = append(pids, s.at.gate.pid.Load())
		}
	}
	if len(pids) == 0 {
		return false, nil
	}
	all, err := r.stage.waits(ctx, pids)
	if err != nil {
		return false, fmt.Errorf("ask who waits: %w", err)
	}
	found := false
	for _, w := range all {
		i := r.stage.owners[w.pid]
		s := &r.state[i]
		ours := r.sessionsOf(w.blockers)
		w.blocked = w.blocked || len(ours) > 0 // the two functions look one after the other
		if len(w.blockers) > 0 && len(ours) == 0 {
			return false, fmt.Errorf("session %s waits for processes %v, which are none of the scenario's", r.stage.scenario.Sessions[i].Name, w.blockers)
		}
		switch {
		case in == waiting && !w.blocked:
			s.phase, s.waitsOn, resumed = running, nil, true
			r.resume(i)
		case in == waiting:
			s.waitsOn = ours
		case w.blocked && !r.endsByItself(s.at.gate):
			s.phase, s.waitsOn, found = waiting, ours, true
			r.noteWait(i)
		}
	}
	if found || in == waiting {
		r.lookForCycle()
	}
	return resumed, nil
}

// endsByItself says that a wait is bounded and this is the branch in which it gives up.
func (r *run) endsByItself(g *gate) bool { return g.tx.wait > 0 && g.tx.wait < time.Second }

func (r *run) sessionsOf(pids []int32) []int {
	var sessions []int
	for _, pid := range pids {
		if i, ours := r.stage.owners[pid]; ours {
			sessions = append(sessions, i)
		}
	}
	slices.Sort(sessions)
	return slices.Compact(sessions)
}

// noteWait puts a wait into the story and the counts.
func (r *run) noteWait(i int) {
	n := len(r.outcome.Steps)
	if n == 0 {
		return
	}
	r.outcome.Waits++
	r.outcome.Steps[n-1].WaitsOn = append(r.outcome.Steps[n-1].WaitsOn, r.state[i].waitsOn...)
}

// resume notes that the step ended a wait. What the waiting statement touches, this step touches now.
func (r *run) resume(i int) {
	n := len(r.outcome.Steps)
	if n == 0 {
		return
	}
	step := &r.outcome.Steps[n-1]
	step.Resumed = append(step.Resumed, i)
	step.Footprint.join(r.state[i].at.footprint)
}

// lookForCycle looks for sessions that wait for each other. That is a failure whether the server notices or not: with a
// lock_timeout it would show as a stall (hazard 21).
func (r *run) lookForCycle() {
	for i := range r.state {
		if path := r.waitPath(i, i, []int{i}); path != nil {
			r.failCycle(path)
			return
		}
	}
}

// waitPath is a path of waits from one session to another, nil when there is none.
func (r *run) waitPath(from, to int, path []int) []int {
	if r.state[from].phase != waiting {
		return nil
	}
	for _, next := range r.state[from].waitsOn {
		if next == to {
			return path
		}
		if slices.Contains(path, next) {
			continue
		}
		if found := r.waitPath(next, to, append(slices.Clone(path), next)); found != nil {
			return found
		}
	}
	return nil
}

func (r *run) failCycle(path []int) {
	var parts []string
	for _, i := range path {
		parts = append(parts, fmt.Sprintf("%s waits with %s", r.stage.scenario.Sessions[i].Name, r.stage.catalog.label(r.state[i].at.unit)))
	}
	r.cycle = strings.Join(parts, "; ")
	if r.outcome.Failure == nil {
		r.outcome.Failure = &Failure{What: "sessions wait for each other", Detail: r.cycle}
	}
}

// reconnect replaces the sessions' connections after a schedule that was broken off.
func (st *stage) reconnect(ctx context.Context) error {
	st.pids = nil
	clear(st.owners)
	for _, s := range st.sessions {
		s.pool.Reset()
		s.mu.Lock()
		s.gates = slices.DeleteFunc(s.gates, func(g *gate) bool { return isClosed(g) })
		s.mu.Unlock()
		if err := s.connect(ctx); err != nil {
			return err
		}
		for _, pid := range s.pids() {
			st.pids = append(st.pids, pid)
			st.owners[pid] = s.index
		}
	}
	return nil
}

func isClosed(g *gate) bool {
	select {
	case <-g.closed:
		return true
	default:
		return false
	}
}
