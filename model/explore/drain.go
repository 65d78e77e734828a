package explore

import "github.com/awa-engine/awa/model"

// canDrain is the name of the property that from every state the system can still get rid of everything.
const canDrain = "CanDrain"

// drained says whether nothing is left to do: each job has ended, no transaction is open, each sealed generation is
// pruned. The current generations keep their rows: what is not sealed can't be pruned, and a world's bounds may not
// let its rings turn once more.
func drained(s model.Store) bool {
	for lane := range s.Config().Lanes() {
		for range s.Waiting(lane) {
			return false
		}
	}
	for range s.OpenClaims() {
		return false
	}
	v := s.Vars()
	return len(s.DeferredRows()) == 0 && len(s.Txs()) == 0 &&
		v.Queue.Pruned == v.Queue.Generation && v.Claims.Pruned == v.Claims.Generation
}

// findStuck goes the steps backwards from every drained state and gives the first state that no way leads from. An
// invariant can't say this: a claim that no rescue would ever close is in order, state by state, and its slot
// stands for ever.
func (s *search) findStuck() (number int, ok bool) {
	before := s.backwards()
	reached := make([]bool, s.visited.len())
	var todo []int32
	state := s.empty()
	for n := range reached {
		state.Decode(s.visited.state(n))
		if drained(state) {
			reached[n] = true
			todo = append(todo, int32(n))
		}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range before.of(n) {
			if !reached[from] {
				reached[from] = true
				todo = append(todo, from)
			}
		}
	}
	for n, can := range reached {
		if !can {
			return n, true
		}
	}
	return 0, false
}

// stuckViolation tells how the system gets to where it can't get on.
func (s *search) stuckViolation(number int) Violation {
	v := Violation{Name: canDrain, Promise: "P2", Why: "nothing that may happen from here on gets the last job done and the rings empty"}
	v.tell(s.story(number))
	return v
}

// sources lists for each state the states that a step leads from: those of n are from[start[n]:start[n+1]].
type sources struct{ start, from []int32 }

func (b sources) of(n int32) []int32 { return b.from[b.start[n]:b.start[n+1]] }

// backwards sorts the edges by where they lead, by counting: how many lead to each state, then where each state's
// begin, then the sources in their places.
func (s *search) backwards() sources {
	b := sources{start: make([]int32, s.visited.len()+2), from: make([]int32, len(s.edges))}
	for _, e := range s.edges {
		b.start[e.to+2]++
	}
	for n := 2; n < len(b.start); n++ {
		b.start[n] += b.start[n-1]
	}
	for _, e := range s.edges {
		b.from[b.start[e.to+1]] = e.from
		b.start[e.to+1]++
	}
	return b
}
