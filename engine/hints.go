package engine

import (
	"maps"
	"slices"
	"sync"
)

// A hint is what this process knows about a lane, so that a claim reads only what is new: it looks at the evidence
// written since, and at the positions not known to be spent. It replaces a cursor in the database (ADR 0002): losing it
// costs one read of the lane's evidence and nothing else, so that it lives in memory, outside MVCC, and AdvanceCursor is
// the function advance below.
//
// A hint is a value; it is only ever replaced as a whole, and an older one is as right as a newer one.
type hint struct {
	// seen: every evidence batch of the lane with an id up to this one is folded into open. Batches of a lane get
	// their ids, and commit, under the lane's lock, so that what a snapshot shows of them has no gap.
	seen int64
	// open holds the positions that may still be handed out. Its last span is endless; the spans before it are holes:
	// taken by transactions that haven't committed, or that never will.
	open spans
	// aging are the holes as they were when the newest transaction id was below agingBy. Once every transaction below
	// it has ended, a hole in which a claim still saw nothing can never be filled (hazard 2).
	aging   spans
	agingBy uint64
	// closed holds the sealed generations in which nothing of this lane can appear any more; claims leave them alone,
	// so that a prune of theirs has nobody to wait for (P7).
	closed map[int64]bool
	// sealedBy holds, for sealed generations, the transaction id below which every transaction that could still write
	// ready rows there has its own.
	sealedBy map[int64]uint64
}

func newHint() hint { return hint{open: spans{{0, endless}}} }

// A sight is what one claim saw of a lane, while it held the lane's lock.
type sight struct {
	xmin, xmax uint64          // of a snapshot taken after the lock and before the rows were looked at
	window     window          // of the queue ring, in that snapshot
	seen       int64           // the newest evidence batch
	spent      spans           // the evidence since hint.seen
	last       map[int64]int64 // per generation looked at: the highest position of the lane in it, 0 for none
	// upTo: every visible, unspent position below it was handed out by the claim; endless when all were.
	upTo int64
}

// advance returns the hint after a claim.
func (h hint) advance(s sight) hint {
	next := hint{seen: max(h.seen, s.seen), open: h.open.minus(s.spent), closed: map[int64]bool{}, sealedBy: map[int64]uint64{}}

	// Holes. Those that had aged, and into which the claim looked, are no positions any more.
	next.aging, next.agingBy = h.aging, h.agingBy
	if h.agingBy != 0 && s.xmin >= h.agingBy {
		next.open = next.open.minus(h.aging.below(s.upTo))
		next.aging, next.agingBy = nil, 0
	}
	if next.agingBy == 0 {
		if holes := next.open[:len(next.open)-1]; len(holes) > 0 {
			next.aging, next.agingBy = slices.Clone(holes), s.xmax
		}
	}

	// Generations. A writer that found a generation current has its id below the xmax of any snapshot that sees the
	// generation sealed, since ids are taken before the check.
	for _, g := range s.window.sealed() {
		by, known := h.sealedBy[g]
		if !known {
			by = s.xmax
		}
		last, looked := s.last[g]
		if h.closed[g] || known && looked && s.xmin >= by && (s.upTo == endless || last < s.upTo) {
			next.closed[g] = true
		} else {
			next.sealedBy[g] = by
		}
	}
	return next
}

// generations returns those of the window in which the lane may still have something to hand out.
func (h hint) generations(w window) []int64 {
	return slices.DeleteFunc(slices.Clone(w), func(g int64) bool { return h.closed[g] })
}

// below returns the values of s under v.
func (s spans) below(v int64) spans {
	return s.minus(spans{{v, endless}})
}

// hints keeps the hint of each lane. Safe for concurrent use.
type hints struct {
	mu    sync.Mutex
	lanes map[int32]hint
}

func (h *hints) get(lane int32) hint {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.lanes[lane]; ok {
		return known
	}
	return newHint()
}

// put replaces the hint, unless one that has seen more came first: the lane's lock is released by the commit, before
// this is called.
func (h *hints) put(lane int32, next hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lanes == nil {
		h.lanes = map[int32]hint{}
	}
	if known, ok := h.lanes[lane]; !ok || next.seen >= known.seen {
		h.lanes[lane] = next
	}
}

// union returns the generations of a and b, ascending.
func union(a, b []int64) []int64 {
	set := map[int64]bool{}
	for _, g := range slices.Concat(a, b) {
		set[g] = true
	}
	return slices.Sorted(maps.Keys(set))
}
