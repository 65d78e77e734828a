package model

// Infinite is a retention that nothing outlives.
const Infinite = 1 << 40

// Normalize keeps of a state only what can still matter to what is offered by [Enabled], so that exploration
// sees states as equal that differ in nothing else:
//
//   - claimed_at of an open claim is its rank among those of the open claims. A later claim gets a later time,
//     and a rescue's cutoff falls between two of them;
//   - other times are 0: a closed claim's no rule reads; a failed row's is read only under a retention, which
//     is 0 or [Infinite] here; deferred jobs are due from the start and go in the order of their ids;
//   - seqs and receipts are ranks;
//   - a batch number is 1: rules only ask whether there is one.
//
// So two states are one when a job was handed out at time 3 and another at 7, or at 1 and 2; they are two when the
// later was handed out first. A rescue with its cutoff in between is offered to both, and means the same.
//
// A test applies every offered action to a state and to its normal form and compares.
func (f *Flat) Normalize() {
	f.rankSeqs()
	f.rankReceipts()
	for i := range f.entries {
		f.entries[i].Batch = min(f.entries[i].Batch, 1)
	}
	var times ranking
	for _, c := range f.claims {
		if c.Outcome == Open {
			times.add(c.ClaimedAt)
		}
	}
	times.sort()
	for i := range f.claims {
		c := &f.claims[i]
		c.Batch = 1
		if c.Outcome == Open {
			c.ClaimedAt = times.rank(c.ClaimedAt)
		} else {
			c.ClaimedAt = 0
		}
	}
	for i := range f.terminals {
		f.terminals[i].FinalizedAt = 0
	}
	for i := range f.deferred {
		f.deferred[i].RunAt = 0
	}
	f.vars.NextBatch = 2
}
