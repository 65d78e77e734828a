package model

import (
	"bytes"
	"slices"
)

// States that differ only in the names of their jobs or queues behave alike, so exploration may keep one of them.
// A comparison of graphs may not: it would compare quotients.

// RenameJobs numbers the jobs in the order in which the tables name them. Rules ask for the order of jobs in one
// place, among deferred jobs that are due at the same time, of which a normal form has none.
//
// What the sequence will give next stays: it is what bounds a world, and it is higher than every name given here.
func (f *Flat) RenameJobs() {
	names := map[int]int{}
	f.jobs(func(job *int) {
		name, ok := names[*job]
		if !ok {
			name = len(names) + 1
			names[*job] = name
		}
		*job = name
	})
	slices.SortFunc(f.states, byAttempt)
	slices.SortFunc(f.leases, byWait)
	slices.SortFunc(f.deferred, byJob)
	slices.SortFunc(f.uniques, byUnique)
	slices.SortFunc(f.dlq, byHeld)
	slices.SortFunc(f.removed, byRemoved)
}

// RenameQueues gives the queues, and after them the jobs, the names that make the encoding the smallest. Every
// queue must be offered the same.
func (f *Flat) RenameQueues() {
	var best *Flat
	for _, names := range permutations(len(f.config.Queues)) {
		other := Snapshot(f)
		other.nameQueues(names)
		other.RenameJobs()
		if best == nil || bytes.Compare(other.Encode(nil), best.Encode(nil)) < 0 {
			best = other
		}
	}
	f.CopyFrom(best)
}

// nameQueues gives queue q the number names[q]. Tables that are in the order of lanes are sorted anew; receipts are
// numbered over all queues, so claims stay where they are.
func (f *Flat) nameQueues(names []int) {
	rename := func(lane int) int {
		return lane + (names[f.config.QueueOf(lane)]-f.config.QueueOf(lane))*f.config.LanesOfQueue()
	}
	before := Snapshot(f)
	for lane, seq := range before.lastSeq {
		f.lastSeq[rename(lane)] = seq
	}
	for queue, r := range before.rollups {
		f.rollups[names[queue]] = r
	}
	for queue, p := range before.policies {
		f.policies[names[queue]] = p
	}
	for i := range f.entries {
		f.entries[i].Lane = rename(f.entries[i].Lane)
	}
	for i := range f.claims {
		f.claims[i].Lane = rename(f.claims[i].Lane)
	}
	for i := range f.terminals {
		f.terminals[i].Lane = rename(f.terminals[i].Lane)
	}
	for i := range f.deferred {
		f.deferred[i].Lane = rename(f.deferred[i].Lane)
	}
	for i := range f.leases {
		f.leases[i].Lane = rename(f.leases[i].Lane)
	}
	for i := range f.dlq {
		f.dlq[i].Lane = rename(f.dlq[i].Lane)
	}
	for i := range f.removed {
		f.removed[i].Lane = rename(f.removed[i].Lane)
	}
	slices.SortFunc(f.entries, byPosition)
	slices.SortFunc(f.terminals, byEnd)
}

// permutations lists the orders of 0 to n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, shorter := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	return all
}
