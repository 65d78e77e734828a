package explore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/awa-engine/awa/model"
)

// worker is what one goroutine has for itself while it helps with a level; the only thing that workers share is the
// set of visited states. The stores are used again for each state, so that a search allocates little.
type worker struct {
	pre, post *model.Flat
	code      []byte
	edges     []looseEdge
	tally     tally
	found     []finding
}

// looseEdge leads to a state that may have no number yet.
type looseEdge struct {
	from   int32
	to     handle
	action uint8
}

// finding is a failed check: of the state, or of the step from it by one of the offered actions.
type finding struct {
	at    origin // action is afterState when the state itself is wrong
	check int    // in the search's invariants or properties
	err   error
}

const afterState = -1

// tally is what was counted.
type tally struct {
	transitions int
	fired       []int // by action in Bounds.Actions
	invariants  []int // antecedents that were true
	properties  []int
}

func newTally(s *search) tally {
	return tally{
		fired:      make([]int, len(s.config.Bounds.Actions)),
		invariants: make([]int, len(s.invariants)),
		properties: make([]int, len(s.properties)),
	}
}

func (t *tally) add(other tally) {
	t.transitions += other.transitions
	addAll(t.fired, other.fired)
	addAll(t.invariants, other.invariants)
	addAll(t.properties, other.properties)
}

func addAll(sums, others []int) {
	for i, n := range others {
		sums[i] += n
	}
}

// chunk is how many states a worker takes at a time: enough to be rarely in each other's way, few enough to share the
// end of a level.
const chunk = 64

// level lets all workers do the numbered states from..to, waits for them, and gathers what they counted and found.
// A worker that sees the end of ctx stops at its next chunk.
func (s *search) level(ctx context.Context, from, to int, do func(*worker, int)) error {
	var next atomic.Int64
	next.Store(int64(from))
	workers := make([]*worker, s.workers)
	var wait sync.WaitGroup
	for i := range workers {
		w := &worker{pre: s.empty(), post: s.empty(), tally: newTally(s)}
		workers[i] = w
		wait.Go(func() {
			for ctx.Err() == nil {
				begin := int(next.Add(chunk)) - chunk
				for number := begin; number < min(begin+chunk, to); number++ {
					do(w, number)
				}
				if begin >= to {
					return
				}
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	s.gather(workers)
	return nil
}

// gather adds up the workers' counts, in whatever order, and sorts what they found, so that no order shows.
func (s *search) gather(workers []*worker) {
	for _, w := range workers {
		s.tally.add(w.tally)
		s.found = append(s.found, w.found...)
		s.loose = append(s.loose, w.edges...)
	}
	slices.SortFunc(s.found, func(a, b finding) int {
		if c := a.at.compare(b.at); c != 0 {
			return c
		}
		return a.check - b.check
	})
}

// checkState asks the invariants of one state, once: states are checked when their level is complete, not by whoever
// happens to find them.
func (s *search) checkState(w *worker, number int) {
	w.pre.Decode(s.visited.state(number))
	for i, invariant := range s.invariants {
		if invariant.Antecedent(w.pre) {
			w.tally.invariants[i]++
		}
		if err := invariant.Check(w.pre); err != nil {
			w.found = append(w.found, finding{origin{int32(number), afterState}, i, err})
		}
	}
}

// expand applies every offered action to one state. A refusal here is a bug of Enabled's, not a finding.
func (s *search) expand(w *worker, number int) {
	code := s.visited.state(number)
	w.pre.Decode(code)
	for i, action := range model.Enabled(w.pre, &s.config.Bounds) {
		at := origin{int32(number), int32(i)}
		w.post.CopyFrom(w.pre)
		result, err := s.apply(w.post, action)
		if err != nil {
			panic(fmt.Sprintf("explore: %s was offered and refused: %v", action, err))
		}
		w.tally.transitions++
		s.checkStep(w, at, model.Step{Pre: w.pre, Action: action, Result: result, Post: w.post, Rules: s.apply})
		s.config.reduce(w.post)
		w.code = w.post.Encode(w.code[:0])
		name := slices.Index(s.config.Bounds.Actions, action.Name())
		if bytes.Equal(w.code, code) {
			if readsOnly(action) {
				w.tally.fired[name]++
			}
			continue
		}
		w.tally.fired[name]++
		to := s.visited.add(w.code, at)
		w.edges = append(w.edges, looseEdge{int32(number), to, uint8(name)})
	}
}

// checkStep asks the properties of one step, before its end is reduced to its normal form: times are still there.
func (s *search) checkStep(w *worker, at origin, step model.Step) {
	for i, property := range s.properties {
		if property.Antecedent(step) {
			w.tally.properties[i]++
		}
		if err := property.Check(step); err != nil {
			w.found = append(w.found, finding{at, i, err})
		}
	}
}

// readsOnly says of which actions it is enough that they were asked.
func readsOnly(a model.Action) bool {
	switch a.(type) {
	case model.CountsOf, model.JobOf, model.JobAttempts, model.ListJobs, model.Reopen, model.TrimLedger, model.FoldCounts:
		return true
	}
	return false
}
