package schedule

import (
	"maps"
	"slices"
	"strings"
)

// A Footprint is what a statement touches: two statements whose footprints don't meet may change places, and the
// schedules that differ in nothing else are run once. It is told from the statement's text and parameters, and errs by
// naming too much: a statement that isn't understood touches everything.
type Footprint struct {
	all  bool
	uses map[string]use // by resource: "data:t", "lock:t", "row:t", "seq:s", "key:n", "xid"
}

// A use is what is done to a resource, as a set of bits.
type use uint32

// The uses of rows, sequences, keys and transaction ids.
const (
	reads   use = 1 << iota // sees what was committed
	changes                 // makes a commit visible, takes a number, or takes or gives back an exclusive lock
	watches                 // looks at who holds what: pg_locks, the oldest transaction at work
	holds                   // what a watcher sees of it changes
)

// The modes of table locks stand above them, in the server's order from ACCESS SHARE to ACCESS EXCLUSIVE.
const (
	accessShare use = 1 << (iota + 8)
	rowShare
	rowExclusive
	shareUpdateExclusive
	shareLock
	shareRowExclusive
	exclusiveLock
	accessExclusive
)

const tableModes = accessShare | rowShare | rowExclusive | shareUpdateExclusive | shareLock | shareRowExclusive | exclusiveLock | accessExclusive

// conflicts is the server's table of lock modes that exclude each other.
var conflicts = map[use]use{
	accessShare:          accessExclusive,
	rowShare:             exclusiveLock | accessExclusive,
	rowExclusive:         shareLock | shareRowExclusive | exclusiveLock | accessExclusive,
	shareUpdateExclusive: shareUpdateExclusive | shareLock | shareRowExclusive | exclusiveLock | accessExclusive,
	shareLock:            rowExclusive | shareUpdateExclusive | shareRowExclusive | exclusiveLock | accessExclusive,
	shareRowExclusive:    rowExclusive | shareUpdateExclusive | shareLock | shareRowExclusive | exclusiveLock | accessExclusive,
	exclusiveLock:        tableModes &^ accessShare,
	accessExclusive:      tableModes,
}

// meet says whether the order of two uses of one resource can matter.
func (u use) meet(v use) bool {
	one := func(u, v use) bool {
		if u&changes != 0 && v&(changes|reads) != 0 || u&watches != 0 && v&holds != 0 {
			return true
		}
		for mode, against := range conflicts {
			if u&mode != 0 && v&against != 0 {
				return true
			}
		}
		return false
	}
	return one(u, v) || one(v, u)
}

// everything is the footprint of a statement that isn't understood.
func everything() Footprint { return Footprint{all: true} }

func (f *Footprint) add(resource string, u use) {
	if f.uses == nil {
		f.uses = map[string]use{}
	}
	f.uses[resource] |= u
}

// join adds another footprint.
func (f *Footprint) join(other Footprint) {
	f.all = f.all || other.all
	for r, u := range other.uses {
		f.add(r, u)
	}
}

// empty says that the statement touches nothing: BEGIN, settings.
func (f Footprint) empty() bool { return !f.all && len(f.uses) == 0 }

// meets says whether the order of two statements of different sessions can matter.
func (f Footprint) meets(other Footprint) bool {
	if f.empty() || other.empty() {
		return false
	}
	if f.all || other.all {
		return true
	}
	if len(f.uses) > len(other.uses) {
		f, other = other, f
	}
	for r, u := range f.uses {
		if v, both := other.uses[r]; both && u.meet(v) {
			return true
		}
	}
	return f.readsAll(other) || other.readsAll(f)
}

// anyData stands for the rows of every table: the first statement of a transaction with one snapshot for all reads
// them, in a way.
const anyData = "data:*"

// precedence is what the end of an operation changes and the beginning of another one looks at: which of them comes first
// is part of the verdict, so that their order is never reduced away, whatever the statements touch.
const precedence = "time"

func (f Footprint) readsAll(other Footprint) bool {
	if f.uses[anyData] == 0 {
		return false
	}
	for r, u := range other.uses {
		if strings.HasPrefix(r, "data:") && u&changes != 0 {
			return true
		}
	}
	return false
}

// String is for people.
func (f Footprint) String() string {
	if f.all {
		return "everything"
	}
	return strings.Join(slices.Sorted(maps.Keys(f.uses)), " ")
}
