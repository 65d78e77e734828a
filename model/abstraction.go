package model

import (
	"cmp"
	"slices"
)

// Infinite is a retention that nothing outlives, and a time that is later than every action of a small world.
const Infinite = 1 << 40

// Normalize keeps of a state only what can still matter to what is offered by [Enabled], so that exploration
// sees states as equal that differ in nothing else:
//
//   - claimed_at of an open claim is its rank among those of the open claims, and their heartbeats. A later claim gets a later time,
//     and a rescue's cutoff falls between two of them;
//   - run_at of a deferred job is its place in the order of promotion: up to 0 where it is due, from [Infinite] on
//     where it isn't. No two are alike, so that the order survives what renames jobs;
//   - the deadline of an open claim is its rank among theirs. Where all limits are equal, which is what a world must
//     keep to, the deadline of a later claim comes later;
//   - the timeout of a wait is its rank among theirs, under the same condition;
//   - since when a job waits counts from the oldest of them, where jobs age; elsewhere it is 0, and claimed_at where they do:
//     nothing goes by age there;
//   - other times are 0: a closed claim's no rule reads; a failed row's is read only under a retention, which
//     is 0 or [Infinite] here; that of a job in the DLQ by a purge, which takes all of them here;
//   - seqs and receipts are ranks;
//   - a batch number is its rank where callers complete, since a batch is theirs as a whole; else it is 1: other rules only
//     ask whether there is one. When a caller completed is 0, like other times of what is over.
//
// So two states are one when a job was handed out at time 3 and another at 7, or at 1 and 2; they are two when the
// later was handed out first. A rescue with its cutoff in between is offered to both, and means the same.
//
// A test applies every offered action to a state and to its normal form and compares.
func (f *Flat) Normalize(b *Bounds) {
	f.rankSeqs()
	f.rankReceipts()
	f.vars.NextBatch = 2
	if b.completesInTransactions() {
		f.vars.NextBatch = 1 + f.rankBatches()
	} else {
		for i := range f.claims {
			f.claims[i].Batch = 1
		}
	}
	for i := range f.entries {
		f.entries[i].Batch = min(f.entries[i].Batch, 1)
	}
	f.normalizeWaits()
	var times, deadlines, timeouts ranking
	for _, c := range f.claims {
		if c.Outcome == Open {
			times.add(c.ClaimedAt)
			if a, ok := f.AttemptState(c.ID()); ok && a.Heartbeat != 0 {
				times.add(a.Heartbeat)
			}
		}
		if c.Outcome == Open && c.Deadline != 0 {
			deadlines.add(c.Deadline)
		}
	}
	for _, l := range f.leases {
		if l.Timeout != 0 {
			timeouts.add(l.Timeout)
		}
	}
	times.sort()
	deadlines.sort()
	timeouts.sort()
	for i := range f.claims {
		c := &f.claims[i]
		if c.Outcome == Open {
			c.ClaimedAt = times.rank(c.ClaimedAt)
			if c.Deadline != 0 {
				c.Deadline = deadlines.rank(c.Deadline)
			}
		} else {
			c.ClaimedAt, c.Deadline = 0, 0
		}
		if b.Ages != nil {
			c.ClaimedAt = 0
		}
		c.ClosedAt = 0
	}
	for i := range f.states {
		if a := &f.states[i]; a.Heartbeat != 0 { // an early callback alone is none
			a.Heartbeat = times.rank(a.Heartbeat)
		}
	}
	for i := range f.leases {
		if l := &f.leases[i]; l.Timeout != 0 {
			l.Timeout = timeouts.rank(l.Timeout)
		}
	}
	for i := range f.terminals {
		f.terminals[i].FinalizedAt = 0
	}
	for i := range f.dlq {
		f.dlq[i].FinalizedAt, f.dlq[i].At = 0, 0
	}
	f.rankDue()
}

// rankDue numbers the deferred jobs in the order of their promotion: ..., -1, 0 for those that are due,
// Infinite, Infinite+1, ... for the others.
func (f *Flat) rankDue() {
	order := make([]*DeferredRow, len(f.deferred))
	for i := range f.deferred {
		order[i] = &f.deferred[i]
	}
	slices.SortFunc(order, func(a, b *DeferredRow) int { return byDue(*a, *b) })
	due, _ := slices.BinarySearchFunc(order, Infinite, func(d *DeferredRow, limit int) int { return cmp.Compare(d.RunAt, limit) })
	for i, d := range order {
		if i < due {
			d.RunAt = i + 1 - due
		} else {
			d.RunAt = Infinite + i - due
		}
	}
}
