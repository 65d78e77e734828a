package engine

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The hints are right if and only if, whatever the interleaving of producers, claims, rotations and prunes, a hint never
// leaves out a position that may still be handed out. The world below is a dumb model of what the server guarantees:
// transaction ids, snapshots, sequences, ledgers and the lanes' locks, one step at a time.

func TestHintsNeverLoseAPosition(t *testing.T) {
	t.Parallel()
	for i := range 6 { // of rapid's number of checks each: what goes wrong here is rare and silent
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := newHintWorld(t, rapid.IntRange(4, 6).Draw(t, "slots"))
				for range rapid.IntRange(1, 200).Draw(t, "steps") {
					w.step()
					w.checkHints()
				}
				w.settle()
			})
		})
	}
}

const hintLanes = 2

// hintRow is a position of a lane. It exists from nextval on; it is visible once its transaction committed.
type hintRow struct {
	lane      int32
	seq, gen  int64
	producer  *hintProducer
	handedOut bool // evidence committed
}

// hintProducer is a transaction that enqueues: its id first, then for each call the check of the cursor, the position.
type hintProducer struct {
	xid      uint64
	checked  int64          // generation found current, its child locked; -1 before the first check
	locked   map[int64]bool // generations whose child it holds until it ends
	ended    bool
	commited bool
}

type hintEvidence struct {
	lane       int32
	gen, batch int64
	seqs       []int64
}

type hintProcess struct{ hints hints }

type hintWorld struct {
	t               *rapid.T
	slots           int64
	nextXid         uint64
	latestCompleted uint64
	running         map[uint64]bool
	nextSeq         [hintLanes]int64
	nextBatch       int64
	current, pruned int64
	rotating        uint64 // xid of a rotation under way
	locked          [hintLanes]*hintClaim
	rows            []*hintRow
	evidence        []hintEvidence
	producers       []*hintProducer
	processes       [2]*hintProcess
	claims          []*hintClaim
	settling        bool // nobody dies any more
}

func newHintWorld(t *rapid.T, slots int) *hintWorld {
	w := &hintWorld{t: t, slots: int64(slots), nextXid: 100, latestCompleted: 99, running: map[uint64]bool{}, nextBatch: 1}
	for i := range w.nextSeq {
		w.nextSeq[i] = 1
	}
	for i := range w.processes {
		w.processes[i] = &hintProcess{}
	}
	return w
}

func (w *hintWorld) takeXid() uint64 {
	xid := w.nextXid
	w.nextXid++
	w.running[xid] = true
	return xid
}

func (w *hintWorld) endXid(xid uint64) {
	delete(w.running, xid)
	w.latestCompleted = max(w.latestCompleted, xid)
}

// snapshot returns xmin and xmax as the server does: xmax is one past the newest id that has *ended*, so that an id in
// progress may be xmax or above it.
func (w *hintWorld) snapshot() (xmin, xmax uint64) {
	xmax = w.latestCompleted + 1
	xmin = xmax
	for xid := range w.running {
		xmin = min(xmin, xid)
	}
	return xmin, xmax
}

func (w *hintWorld) window() window {
	var gens window
	for g := w.pruned; g <= w.current; g++ {
		gens = append(gens, g)
	}
	return gens
}

// step lets one of those who can act take its next step; the weights keep claims going while producers come and go.
func (w *hintWorld) step() {
	var names []string
	actions := map[string]func(){"rotate": w.rotate, "prune": w.prune}
	can := func(name string, weight int, f func()) {
		names = append(names, slices.Repeat([]string{name}, weight)...)
		actions[name] = f
	}
	can("rotate", 2, w.rotate)
	can("prune", 1, w.prune)
	can("enqueue", 2, func() {
		p := w.begin()
		w.produce(p)
		w.produce(p)
		w.endProducer(p, w.draw("fate", 4) > 0)
	})
	open := w.openProducers()
	if len(open) < 4 {
		can("begin", 2, func() { w.begin() })
	}
	if len(open) > 0 {
		can("produce", 4, func() { w.produce(pick(w.t, open, "producer")) })
		can("end", 2, func() { w.endProducer(pick(w.t, open, "producer"), w.draw("fate", 4) > 0) })
	}
	if len(w.claims) < 3 {
		can("start", 2, func() { w.start() })
		can("claim", 3, func() {
			for c := w.start(); slices.Contains(w.claims, c); {
				w.stepClaim(c)
			}
		})
	}
	if len(w.claims) > 0 {
		can("go on", 10, func() { w.stepClaim(pick(w.t, w.claims, "claim")) })
	}
	if w.draw("restart", 40) == 39 {
		can("restart", 10, func() { w.processes[w.draw("process", 2)] = &hintProcess{} })
	}
	actions[rapid.SampledFrom(names).Draw(w.t, "what")]()
}

func (w *hintWorld) begin() *hintProducer {
	p := &hintProducer{xid: w.takeXid(), checked: -1, locked: map[int64]bool{}}
	w.producers = append(w.producers, p)
	return p
}

func (w *hintWorld) start() *hintClaim {
	c := &hintClaim{w: w, process: pick(w.t, w.processes[:], "process"), limit: 1 + w.draw("limit", 4)}
	w.claims = append(w.claims, c)
	return c
}

func (w *hintWorld) draw(what string, n int) int { return rapid.IntRange(0, n-1).Draw(w.t, what) }

func pick[T any](t *rapid.T, from []T, what string) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, what)]
}

func (w *hintWorld) openProducers() []*hintProducer {
	return slices.DeleteFunc(slices.Clone(w.producers), func(p *hintProducer) bool { return p.ended })
}

// produce is one half of an insert: the check of the cursor in the statement's snapshot, then the positions and rows.
func (w *hintWorld) produce(p *hintProducer) {
	if p.checked < 0 {
		p.checked = w.current
		p.locked[w.current] = true
		return
	}
	for range 1 + w.draw("rows", 3) {
		lane := w.draw("lane", hintLanes)
		r := &hintRow{lane: int32(lane), seq: w.nextSeq[lane], gen: p.checked, producer: p}
		w.nextSeq[lane]++
		w.rows = append(w.rows, r)
		for i, process := range w.processes {
			if h := process.hints.get(r.lane, life); h.closed[r.gen] {
				w.t.Fatalf("process %d closed generation %d of lane %d, and position %d was written into it", i, r.gen, lane, r.seq)
			}
		}
	}
	p.checked = -1
}

func (w *hintWorld) endProducer(p *hintProducer, commit bool) {
	p.ended, p.commited = true, commit
	w.endXid(p.xid)
}

// rotate takes two steps: its id, then the commit that shows it.
func (w *hintWorld) rotate() {
	if w.rotating == 0 {
		w.rotating = w.takeXid()
		return
	}
	if w.current+1-w.slots < w.pruned {
		w.current++
	}
	w.endXid(w.rotating)
	w.rotating = 0
}

func (w *hintWorld) prune() {
	if w.pruned == w.current {
		return
	}
	for _, r := range w.rows {
		if r.gen == w.pruned && (!r.producer.ended || r.producer.commited && !r.handedOut) {
			return
		}
	}
	for _, p := range w.openProducers() {
		if p.locked[w.pruned] {
			return
		}
	}
	for _, c := range w.claims {
		if c.at > 4 && slices.Contains(c.gens, w.pruned) {
			return // its child lock is held
		}
	}
	w.endXid(w.takeXid())
	w.pruned++
}

// checkHints is the invariant: what may still be handed out is in every hint.
func (w *hintWorld) checkHints() {
	for i, process := range w.processes {
		for lane := range int32(hintLanes) {
			h := process.hints.get(lane, life)
			if last := h.open[len(h.open)-1]; last.hi != endless || last.lo > w.nextSeq[lane] {
				w.t.Fatalf("process %d: open %s of lane %d leaves out positions that nobody has taken (next is %d)", i, h.open, lane, w.nextSeq[lane])
			}
			for _, r := range w.rows {
				lost := r.lane == lane && !r.handedOut && (!r.producer.ended || r.producer.commited)
				if lost && (h.closed[r.gen] || !h.open.contains(r.seq)) {
					w.t.Fatalf("process %d lost position %d of lane %d, generation %d: open %s, closed %v", i, r.seq, lane, r.gen, h.open, h.closed)
				}
			}
		}
	}
}

// settle ends everything and claims until nothing is left: then every committed position was handed out, and the hints
// have forgotten the holes and the sealed generations.
func (w *hintWorld) settle() {
	w.settling = true
	for _, p := range w.openProducers() {
		w.endProducer(p, true)
	}
	for len(w.claims) > 0 {
		w.stepClaim(w.claims[0])
		w.checkHints()
	}
	if w.rotating != 0 {
		w.rotate()
	}
	for range len(w.rows) + 4 {
		for _, process := range w.processes {
			w.claims = append(w.claims, &hintClaim{w: w, process: process, limit: 3})
			for len(w.claims) > 0 {
				w.stepClaim(w.claims[0])
				w.checkHints()
			}
		}
	}
	for _, r := range w.rows {
		if r.producer.commited && !r.handedOut {
			w.t.Fatalf("position %d of lane %d was never handed out", r.seq, r.lane)
		}
	}
	for i, process := range w.processes {
		for lane := range int32(hintLanes) {
			h := process.hints.get(lane, life)
			if len(h.open) != 1 {
				w.t.Fatalf("process %d keeps the holes %s of lane %d for ever", i, h.open, lane)
			}
			if gens := h.generations(w.window()); len(gens) != 1 {
				w.t.Fatalf("process %d still looks into generations %v of lane %d, of which only %d is current", i, gens, lane, w.current)
			}
		}
	}
}

// hintClaim is a claim under way; its steps are the statements of claim.go, in their order.
type hintClaim struct {
	w       *hintWorld
	process *hintProcess
	limit   int
	at      int

	lanes  []int32
	known  []hint
	sights []sight
	win    window
	xmin   uint64
	xid    uint64 // its own, once it has written
	gens   []int64
	picked []*hintRow
}

func (w *hintWorld) stepClaim(c *hintClaim) {
	if c.step() {
		for _, lane := range c.lanes {
			if w.locked[lane] == c {
				w.locked[lane] = nil
			}
		}
		if c.xid != 0 {
			w.endXid(c.xid)
		}
		w.claims = slices.DeleteFunc(w.claims, func(other *hintClaim) bool { return other == c })
	}
}

func (c *hintClaim) step() (over bool) {
	w := c.w
	c.at++
	switch c.at {
	case 1: // try_keys: one key after the other, so that another claim may have had some of them for a moment
		for lane := range int32(hintLanes) {
			if w.locked[lane] == nil && (w.settling || w.draw("got", 4) > 0) {
				w.locked[lane] = c
				c.lanes = append(c.lanes, lane)
			}
		}
		return len(c.lanes) == 0
	case 2:
		c.win = w.window()
	case 3: // the statement's snapshot …
		c.xmin, _ = w.snapshot()
	case 4: // … and, in the same statement but later, the next id; the claim has none of its own yet
		for range c.lanes {
			c.sights = append(c.sights, sight{xmin: c.xmin, next: w.nextXid, window: c.win, last: map[int64]int64{}})
		}
		for _, lane := range c.lanes {
			h := c.process.hints.get(lane, life)
			c.known = append(c.known, h)
			c.gens = union(c.gens, h.generations(c.win))
		}
	case 5:
		c.lookAtEvidence()
	case 6:
		if !c.handOut() {
			return true
		}
		if len(c.picked) > 0 {
			c.xid = w.takeXid()
		}
	case 7: // commit, unless the claim dies here
		if !w.settling && w.draw("dies", 10) == 9 {
			return true
		}
		c.commit()
	case 8:
		c.remember()
		return true
	}
	return false
}

func (c *hintClaim) lookAtEvidence() {
	for i, lane := range c.lanes {
		s := &c.sights[i]
		var spent []int64
		for _, e := range c.w.evidence {
			if e.lane == lane && e.batch > c.known[i].seen && slices.Contains(c.gens, e.gen) && e.gen >= c.w.pruned {
				spent = append(spent, e.seqs...)
				s.seen = max(s.seen, e.batch)
			}
		}
		s.spent = spansOf(spent)
		for _, g := range c.gens {
			s.last[g] = 0
			for _, r := range c.w.rows {
				if r.lane == lane && r.gen == g && g >= c.w.pruned && r.producer.commited {
					s.last[g] = max(s.last[g], r.seq)
				}
			}
		}
	}
}

// handOut picks the rows; it reports false when the guard failed.
func (c *hintClaim) handOut() bool {
	w := c.w
	if c.win.current() != w.current || slices.ContainsFunc(c.gens, func(g int64) bool { return g < w.pruned }) {
		return false
	}
	for i, lane := range c.lanes {
		open := c.known[i].open.minus(c.sights[i].spent)
		var visible []*hintRow
		for _, r := range w.rows {
			if r.lane == lane && r.producer.commited && open.contains(r.seq) && slices.Contains(c.gens, r.gen) {
				visible = append(visible, r)
			}
		}
		slices.SortFunc(visible, func(a, b *hintRow) int { return int(a.seq - b.seq) })
		c.picked = append(c.picked, visible[:min(len(visible), c.limit-len(c.picked))]...)
	}
	return true
}

func (c *hintClaim) commit() {
	w := c.w
	for i, lane := range c.lanes {
		for _, g := range c.gens {
			e := hintEvidence{lane: lane, gen: g}
			for _, r := range c.picked {
				if r.lane == lane && r.gen == g {
					if r.handedOut {
						w.t.Fatalf("position %d of lane %d is handed out twice", r.seq, lane)
					}
					r.handedOut = true
					e.seqs = append(e.seqs, r.seq)
				}
			}
			if len(e.seqs) > 0 {
				e.batch = w.nextBatch
				w.nextBatch++
				w.evidence = append(w.evidence, e)
				for _, seq := range e.seqs {
					c.sights[i].handOut(e.batch, seq)
				}
			}
		}
	}
	for _, lane := range c.lanes {
		w.locked[lane] = nil
	}
	w.endXid(c.xid)
	c.xid = 0
}

// remember is advanceHints of claim.go.
func (c *hintClaim) remember() {
	lastRank, lastSeq := 0, int64(0)
	if n := len(c.picked); n > 0 {
		lastRank, lastSeq = slices.Index(c.lanes, c.picked[n-1].lane), c.picked[n-1].seq
	}
	for i, lane := range c.lanes {
		s := c.sights[i]
		s.upTo = reach(len(c.picked) < c.limit, i, lastRank, lastSeq)
		c.process.hints.put(lane, life, c.known[i].advance(s))
	}
}
