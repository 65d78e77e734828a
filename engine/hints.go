package engine

import (
	"maps"
	"slices"
	"sync"
	"time"
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
	// aging are the holes as they were when no transaction had an id of agingBy or above. Once every transaction below
	// it has ended, a hole in which a claim still saw nothing can never be filled (hazard 2).
	aging   spans
	agingBy uint64
	// closed holds the sealed generations in which nothing of this lane can appear any more; claims leave them alone,
	// so that a prune of theirs has nobody to wait for (P7). What was handed out of them is out of open, too: another
	// lane of the same claim may still look into them.
	closed map[int64]bool
	// sealedBy holds, for sealed generations, the transaction id below which every transaction that could still write
	// ready rows there has its own.
	sealedBy map[int64]uint64
}

func newHint() hint { return hint{open: spans{{0, endless}}} }

// A sight is what one claim saw and did of a lane, while it held the lane's lock. The fields stand in the order in which
// the claim learns them; the bounds hold only in that order.
type sight struct {
	window window // of the queue ring, read under the lock
	// next is the id that the next transaction will get, read after the lock and the window. So the transactions that
	// had taken positions below the evidence, or had found a generation current that the window shows sealed, have lower
	// ids: they took them first. The xmax of a snapshot is no such bound: it is one past the newest id that has ended,
	// and ids at or above it may be at work.
	next  uint64
	xmin  uint64          // of a snapshot taken after that and before the rows were looked at
	seen  int64           // the newest evidence batch, this claim's own included
	spent spans           // the evidence since hint.seen, all of it committed before the lock
	last  map[int64]int64 // per generation looked at: the highest position of the lane in it, 0 for none
	own   []int64         // what this claim handed out
	// upTo: every visible, unspent position below it was handed out by the claim; endless when all were.
	upTo int64
}

// handOut notes a position that the claim hands out. Batches of a lane get their ids under its lock, so that the
// claim's own is the newest.
func (s *sight) handOut(batch, seq int64) {
	s.seen = max(s.seen, batch)
	s.own = append(s.own, seq)
}

// reach is upTo of the lane with this rank in a claim that ended at (lastRank, lastSeq), or found all when it got less
// than it asked for.
func reach(gotAll bool, rank, lastRank int, lastSeq int64) int64 {
	switch {
	case gotAll || rank < lastRank:
		return endless
	case rank == lastRank:
		return lastSeq + 1
	}
	return 0
}

// advance returns the hint after a claim that has committed, or found nothing.
func (h hint) advance(s sight) hint {
	next := hint{seen: max(h.seen, s.seen), open: h.open.minus(s.spent), closed: map[int64]bool{}, sealedBy: map[int64]uint64{}}

	// Holes. Those that had aged, and into which the claim looked, are no positions any more. New ones are taken from
	// under the evidence alone: those under what this claim handed out may belong to newer ids.
	next.aging, next.agingBy = h.aging, h.agingBy
	if h.agingBy != 0 && s.xmin >= h.agingBy {
		next.open = next.open.minus(h.aging.below(s.upTo))
		next.aging, next.agingBy = nil, 0
	}
	if next.agingBy == 0 {
		if holes := next.open[:len(next.open)-1]; len(holes) > 0 {
			next.aging, next.agingBy = slices.Clone(holes), s.next
		}
	}
	next.open = next.open.minus(spansOf(s.own))

	// Generations.
	for _, g := range s.window.sealed() {
		by, known := h.sealedBy[g]
		if !known {
			by = s.next
		}
		last, looked := s.last[g]
		spent := last < max(s.upTo, 1) // or never used by this lane; upTo may be endless
		if h.closed[g] || known && looked && s.xmin >= by && spent {
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

// hints keeps the hint of each lane, for one life of the server: after a crash that lost commits (synchronous_commit off)
// or a failover, positions and transaction ids are given again that a hint believes spent. Safe for concurrent use.
type hints struct {
	mu     sync.Mutex
	server time.Time
	lanes  map[int32]hint
}

func (h *hints) get(lane int32, server time.Time) hint {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.lanes[lane]; ok && h.server.Equal(server) {
		return known
	}
	return newHint()
}

// put replaces the hint, unless one that has seen more came first: the lane's lock is released by the commit, before
// this is called. What was learnt in another life of the server is dropped; lives aren't ordered, since a replica that
// takes over may have been started before.
func (h *hints) put(lane int32, server time.Time, next hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lanes == nil || !server.Equal(h.server) {
		h.server, h.lanes = server, map[int32]hint{}
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
