package schedule

import (
	"fmt"
	"math/bits"
	"slices"
)

// An explorer chooses the schedules of a scenario, depth first: each run follows the path of the one before up to a
// point where another session goes first.
//
// Reduced, it is dynamic: after each statement it looks for earlier ones of other sessions whose order with it matters
// and isn't fixed by anything between, and only there tries the other order (source sets); sleep sets keep it from
// running an order again that differs from an earlier one in statements that don't touch each other.
type explorer struct {
	mode  Mode
	nodes []*node
	depth int // of the run under way
	known int // nodes, when it began

	events []happening // of the run under way
	lost   error       // the path couldn't be followed: a statement was prepared, and waited, on the way
	cut    bool        // the run goes on along a path that was run before, in another order: nothing is to be learnt
}

// A node is a point of the path at which somebody had to be chosen.
type node struct {
	at       []candidate
	last     int               // who went before
	spent    int               // preemptions before
	chosen   int               // session
	todo     uint64            // sessions that are to be tried here
	asleep   map[int]Footprint // sessions whose turn here was run before, with what it touched
	executed Footprint         // of the chosen
}

// A happening is a step of the run under way, with what must come before it.
type happening struct {
	session   int
	also      []int // sessions that went on with it
	footprint Footprint
	before    bitset // steps that must come before it, itself included
}

// A bitset is a set of steps.
type bitset []uint64

func (b bitset) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) with(i int) bitset {
	for len(b) <= i/64 {
		b = append(b, 0)
	}
	b[i/64] |= 1 << (i % 64)
	return b
}

func (b bitset) union(c bitset) bitset {
	for len(b) < len(c) {
		b = append(b, 0)
	}
	for i := range c {
		b[i] |= c[i]
	}
	return b
}

func newExplorer(mode Mode) *explorer { return &explorer{mode: mode} }

// again takes back what the last run added to the path: it counts for nothing.
func (e *explorer) again() {
	e.nodes = e.nodes[:e.known]
	e.begin()
}

// begin starts the next run.
func (e *explorer) begin() {
	e.depth, e.known, e.events, e.lost, e.cut = 0, len(e.nodes), nil, nil, false
}

// choose follows the path, and makes it longer at its end.
func (e *explorer) choose(_ int, at []candidate, last int) (int, error) {
	if e.cut {
		return byDefault(at, last), nil
	}
	if e.depth < len(e.nodes) {
		n := e.nodes[e.depth]
		if !sameCandidates(n.at, at) {
			e.lost = fmt.Errorf("step %d: the same schedule met other statements than before: %s, then %s", e.depth, describe(n.at), describe(at))
			e.cut = true
			return byDefault(at, last), nil
		}
		return n.chosen, nil
	}
	n := &node{at: at, last: last, asleep: e.sleep(at)}
	if e.depth > 0 {
		n.spent = e.nodes[e.depth-1].cost()
	}
	n.chosen = e.first(n)
	if n.chosen < 0 { // everybody is asleep: an order that was run before
		e.cut = true
		return byDefault(at, last), nil
	}
	switch e.mode.Kind {
	case Reduced:
		n.todo = 1 << n.chosen
	default:
		for _, c := range at {
			n.todo |= 1 << c.session
		}
	}
	e.nodes = append(e.nodes, n)
	return n.chosen, nil
}

// byDefault goes on with who went before, else with the first.
func byDefault(at []candidate, last int) int {
	for _, c := range at {
		if c.session == last {
			return last
		}
	}
	return at[0].session
}

// first is the session to try first at a new node: the one that went before, else the first that is awake.
func (e *explorer) first(n *node) int {
	chosen := -1
	for _, c := range n.at {
		if _, asleep := n.asleep[c.session]; asleep {
			continue
		}
		if c.session == n.last {
			return c.session
		}
		if chosen < 0 {
			chosen = c.session
		}
	}
	return chosen
}

// sleep is who is asleep at the next node: who was at the one before, and isn't concerned by what was done there.
func (e *explorer) sleep(at []candidate) map[int]Footprint {
	asleep := map[int]Footprint{}
	if e.mode.Kind != Reduced || e.depth == 0 {
		return asleep
	}
	before := e.nodes[e.depth-1]
	for session, f := range before.asleep {
		if session != before.chosen && !f.meets(before.executed) && slices.ContainsFunc(at, func(c candidate) bool { return c.session == session }) {
			asleep[session] = f
		}
	}
	return asleep
}

// cost is how many preemptions the path has after this node.
func (n *node) cost() int {
	if n.preempts(n.chosen) {
		return n.spent + 1
	}
	return n.spent
}

// preempts says whether the choice takes the turn from a session that could have gone on.
func (n *node) preempts(session int) bool {
	return n.last >= 0 && session != n.last && slices.ContainsFunc(n.at, func(c candidate) bool { return c.session == n.last })
}

// took learns what the chosen step did.
func (e *explorer) took(s Step) {
	if e.cut {
		return
	}
	e.nodes[e.depth].executed = s.Footprint
	e.depth++
	if e.mode.Kind == Reduced {
		e.happened(s)
	}
}

// happened finds the earlier steps that the new one races with, and has them tried in the other order.
func (e *explorer) happened(s Step) {
	h := happening{session: s.Session, also: s.Resumed, footprint: s.Footprint}
	i := len(e.events)
	h.before = h.before.union(e.lastOf(s.Session, i))
	for k := i - 1; k >= 0; k-- {
		earlier := &e.events[k]
		if earlier.session == s.Session || h.before.has(k) || !earlier.footprint.meets(s.Footprint) {
			continue
		}
		e.race(k, i, s.Session, h.before)
		h.before = h.before.union(earlier.before)
	}
	for _, session := range s.Resumed {
		h.before = h.before.union(e.lastOf(session, i))
	}
	h.before = h.before.with(i)
	e.events = append(e.events, h)
}

// lastOf is what comes before the next step of a session in its own order.
func (e *explorer) lastOf(session, before int) bitset {
	var b bitset
	for k := before - 1; k >= 0; k-- {
		if e.events[k].session == session || slices.Contains(e.events[k].also, session) {
			return b.union(e.events[k].before)
		}
	}
	return b
}

// race has step i, or something that must come before it, tried before step k. The steps after k that don't depend on k,
// and then i, could run in its place; who can be the first of them must be tried there, one of them is enough.
func (e *explorer) race(k, i, session int, before bitset) {
	n := e.nodes[k]
	var initials uint64
	var kept []int
	for j := k + 1; j < i; j++ {
		h := &e.events[j]
		if h.before.has(k) {
			continue
		}
		if !slices.ContainsFunc(kept, h.before.has) {
			initials |= 1 << h.session
		}
		kept = append(kept, j)
	}
	if !slices.ContainsFunc(kept, before.has) {
		initials |= 1 << session
	}
	var enabled uint64
	for _, c := range n.at {
		enabled |= 1 << c.session
	}
	switch initials &= enabled; {
	case n.todo&initials != 0:
	case initials&(1<<session) != 0:
		n.todo |= 1 << session
	case initials != 0:
		n.todo |= 1 << bits.TrailingZeros64(initials)
	default:
		n.todo |= enabled
	}
}

// next turns to the next schedule; false when there is none.
func (e *explorer) next() bool {
	for len(e.nodes) > 0 {
		n := e.nodes[len(e.nodes)-1]
		n.asleep[n.chosen] = n.executed
		for _, c := range n.at {
			_, asleep := n.asleep[c.session]
			if asleep || n.todo&(1<<c.session) == 0 {
				continue
			}
			if e.mode.Kind == Bounded && n.preempts(c.session) && n.spent >= e.mode.Preemptions {
				continue
			}
			n.chosen = c.session
			return true
		}
		e.nodes = e.nodes[:len(e.nodes)-1]
	}
	return false
}

func sameCandidates(a, b []candidate) bool {
	return slices.EqualFunc(a, b, func(x, y candidate) bool { return x.session == y.session && x.label == y.label })
}

func describe(at []candidate) string {
	text := ""
	for _, c := range at {
		text += fmt.Sprintf("[%d %s]", c.session, c.label)
	}
	return text
}
