package explore

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
)

// visited is the set of the states that were found, as encoded bytes. It is cut into shards by hash, each with its
// own lock, arena and table. A state costs its bytes and some 40 more: millions of small ones fit.
type visited struct {
	seed   maphash.Seed
	shards [shards]shard
	// order gives each numbered state's handle: state numbers follow levels, and in a level the steps that found
	// the states.
	order []handle
}

const (
	shardBits = 6
	shards    = 1 << shardBits
)

// handle is where a state is: the shard in the low bits, and its place there. It depends on the race of the workers;
// the number, given at the end of the level, does not.
type handle uint32

func (h handle) shard() int { return int(h % shards) }
func (h handle) place() int { return int(h >> shardBits) }

// origin is the step that found a state: from which numbered state, by which of the actions offered there.
type origin struct{ parent, action int32 }

func (o origin) compare(other origin) int {
	if o.parent != other.parent {
		return int(o.parent) - int(other.parent)
	}
	return int(o.action) - int(other.action)
}

// shard holds its states in the order in which they came, and never gives one up.
type shard struct {
	mu     sync.Mutex
	table  []uint32 // open addressing: place + 1, or 0
	hashes []uint64
	ends   []int // where each state ends in the arena; it begins where the one before ends
	arena  []byte
	origin []origin
	number []int32  // or unnumbered, while the level that found the state goes on
	fresh  []handle // the unnumbered ones
}

const unnumbered = -1

func newVisited() *visited {
	v := &visited{seed: maphash.MakeSeed()}
	for i := range v.shards {
		v.shards[i].table = make([]uint32, 64)
	}
	return v
}

// add finds a state or puts it in. Of the steps of one level that lead to a new state the first counts, whichever
// worker comes first.
func (v *visited) add(state []byte, from origin) handle {
	hash := maphash.Bytes(v.seed, state)
	index := int(hash % shards)
	s := &v.shards[index]
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.find(hash, state)
	if s.table[slot] == 0 {
		s.insert(slot, hash, state, from)
		h := handle(len(s.hashes)-1)<<shardBits | handle(index)
		s.fresh = append(s.fresh, h)
		return h
	}
	place := s.table[slot] - 1
	if s.number[place] == unnumbered && from.compare(s.origin[place]) < 0 {
		s.origin[place] = from
	}
	return handle(place)<<shardBits | handle(index)
}

// find gives the slot that holds the state, or the free one that it belongs to.
func (s *shard) find(hash uint64, state []byte) int {
	mask := len(s.table) - 1
	for slot := int(hash>>shardBits) & mask; ; slot = (slot + 1) & mask {
		place := int(s.table[slot]) - 1
		if place < 0 || s.hashes[place] == hash && bytes.Equal(s.state(place), state) {
			return slot
		}
	}
}

func (s *shard) insert(slot int, hash uint64, state []byte, from origin) {
	s.hashes = append(s.hashes, hash)
	s.arena = append(s.arena, state...)
	s.ends = append(s.ends, len(s.arena))
	s.origin = append(s.origin, from)
	s.number = append(s.number, unnumbered)
	s.table[slot] = uint32(len(s.hashes))
	if 2*len(s.hashes) > len(s.table) {
		s.grow()
	}
}

// grow doubles the table; the states stay where they are.
func (s *shard) grow() {
	s.table = make([]uint32, 2*len(s.table))
	mask := len(s.table) - 1
	for place, hash := range s.hashes {
		slot := int(hash>>shardBits) & mask
		for s.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		s.table[slot] = uint32(place) + 1
	}
}

// state is the bytes of one state in the arena.
func (s *shard) state(place int) []byte {
	begin := 0
	if place > 0 {
		begin = s.ends[place-1]
	}
	return s.arena[begin:s.ends[place]]
}

// endLevel numbers the new states and gives the range of their numbers. No worker may be adding.
func (v *visited) endLevel() (from, to int) {
	from = len(v.order)
	for i := range v.shards {
		v.order = append(v.order, v.shards[i].fresh...)
		v.shards[i].fresh = v.shards[i].fresh[:0]
	}
	slices.SortFunc(v.order[from:], func(a, b handle) int { return v.originOf(a).compare(v.originOf(b)) })
	for n, h := range v.order[from:] {
		v.shards[h.shard()].number[h.place()] = int32(from + n)
	}
	return from, len(v.order)
}

// What was numbered, for when no worker is adding.

func (v *visited) len() int                  { return len(v.order) }
func (v *visited) originOf(h handle) origin  { return v.shards[h.shard()].origin[h.place()] }
func (v *visited) numberOf(h handle) int32   { return v.shards[h.shard()].number[h.place()] }
func (v *visited) foundBy(number int) origin { return v.originOf(v.order[number]) }

// state gives a numbered state's bytes, which never change; only the arena that they are in may move.
func (v *visited) state(number int) []byte {
	h := v.order[number]
	s := &v.shards[h.shard()]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state(h.place())
}
