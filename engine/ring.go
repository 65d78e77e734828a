package engine

// A ring is N child partitions of some tables, used in turn. Its generation grows by one per rotation and the slot is
// generation mod N: one generation after the other uses the same slot, so that a slot number alone says nothing;
// compare generations.
//
//	current  the newest generation of the rotation ledger, written by new work
//	sealed   rotated away from, not yet in the prune ledger: late evidence, closures and history still go there
//	pruned   in the prune ledger: nothing may be written into it, its slot may be used again
type ring struct {
	name     string   // "queue", "claim" or "lease": the prefix of its control tables
	slots    int      // N
	children []string // the partitioned tables, gate child first (lock order)
	roots    []string // those of them whose rows stand for themselves: a slot holds something when one of these does
}

func queueRing(slots int) ring {
	return ring{name: "queue", slots: slots, children: []string{
		"ready_entries", "ready_claim_attempt_batches", "ready_tombstones", "receipt_completion_batches", "receipt_completion_tombstones", "done_entries",
		"queue_terminal_count_deltas", "queue_terminal_live_counts",
	}, roots: []string{"ready_entries"}}
}

func claimRing(slots int) ring {
	return ring{name: "claim", slots: slots, children: []string{
		"lease_claim_batches", "lease_claims", "lease_claim_closure_batches", "lease_claim_closures",
	}, roots: []string{"lease_claim_batches", "lease_claims"}}
}

func leaseRing(slots int) ring {
	return ring{name: "lease", slots: slots, children: []string{"leases"}, roots: []string{"leases"}}
}

// Name and Children serve the statement templates.
func (r ring) Name() string       { return r.name }
func (r ring) Slots() int         { return r.slots }
func (r ring) Children() []string { return r.children }

// Key is the prefix of the columns that name a row's slot and generation.
func (r ring) Key() string {
	if r.name == "queue" {
		return "ready"
	}
	return r.name
}

// Gate is the child that is locked first within a slot, with a bounded wait; the others are then taken NOWAIT.
func (r ring) Gate() string { return r.children[0] }

// Roots are the children whose rows don't belong to rows of another child.
func (r ring) Roots() []string { return r.roots }

// Rest are the other children.
func (r ring) Rest() []string { return r.children[1:] }

// slot returns the slot that a generation uses.
func (r ring) slot(generation int64) int { return int(generation % int64(r.slots)) }

// slotsOf returns the slots of generations.
func (r ring) slotsOf(generations []int64) []int {
	slots := make([]int, len(generations))
	for i, g := range generations {
		slots[i] = r.slot(g)
	}
	return slots
}

// A window is what a ring's ledgers said in one statement: the unpruned generations, oldest first. The last one is the
// current generation. It is never empty, since the current generation is never pruned.
type window []int64

func (w window) current() int64  { return w[len(w)-1] }
func (w window) sealed() []int64 { return w[:len(w)-1] }
