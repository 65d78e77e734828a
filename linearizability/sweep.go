package linearizability

import (
	"cmp"
	"slices"
)

// A sweep answers for one lane, as time goes on: among the rows below a position that have become visible so far, is
// there one that nobody took until after a time? It is a tree of maxima over the positions, so that a history of n rows
// and claims takes n log n steps.
type sweep struct {
	bySeq     []*place
	byVisible []*place
	next      int      // of byVisible: not visible yet
	latest    []*place // Fenwick tree over bySeq: of the visible rows, the one taken last
}

func newSweep(rows []*place) *sweep {
	s := &sweep{latest: make([]*place, len(rows)+1)}
	s.bySeq = slices.SortedFunc(slices.Values(rows), func(a, b *place) int { return cmp.Compare(a.Seq, b.Seq) })
	s.byVisible = slices.SortedFunc(slices.Values(rows), func(a, b *place) int { return cmp.Compare(a.visible, b.visible) })
	return s
}

// upTo takes in all rows that were visible before a time.
func (s *sweep) upTo(at int64) {
	for ; s.next < len(s.byVisible) && s.byVisible[s.next].visible < at; s.next++ {
		p := s.byVisible[s.next]
		for i := s.rank(p.Seq) + 1; i < len(s.latest); i += i & -i {
			if s.latest[i] == nil || s.latest[i].taken < p.taken {
				s.latest[i] = p
			}
		}
	}
}

// before is a visible row at a lower position that was taken after a time; nil when there is none.
func (s *sweep) before(seq, after int64) *place {
	for i := s.rank(seq); i > 0; i -= i & -i {
		if p := s.latest[i]; p != nil && p.taken > after {
			return p
		}
	}
	return nil
}

// rank is how many rows stand at lower positions.
func (s *sweep) rank(seq int64) int {
	n, _ := slices.BinarySearchFunc(s.bySeq, seq, func(p *place, at int64) int { return cmp.Compare(p.Seq, at) })
	return n
}
