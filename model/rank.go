package model

import "slices"

// ranking replaces numbers by their rank, from 1: where rules only compare, ranks are as good as the numbers.
type ranking []int

func (r *ranking) add(n int) { *r = append(*r, n) }

func (r *ranking) sort() {
	slices.Sort(*r)
	*r = slices.Compact(*r)
}

// rank is for numbers that were added.
func (r ranking) rank(n int) int {
	at, _ := slices.BinarySearch(r, n)
	return at + 1
}

// rankSeqs ranks the seqs of each lane, over the ready rows and over what points at ready rows, which may be
// pruned already.
func (f *Flat) rankSeqs() {
	seqs := make(ranking, 0, len(f.entries)+len(f.claims)+len(f.terminals))
	for lane, last := range f.lastSeq {
		if last == 0 {
			continue // no row was ever here
		}
		seqs = seqs[:0]
		f.seqsOf(lane, func(seq *int) { seqs.add(*seq) })
		seqs.sort()
		f.seqsOf(lane, func(seq *int) { *seq = seqs.rank(*seq) })
		f.lastSeq[lane] = len(seqs)
	}
}

// seqsOf visits each mention of a place in the lane. A claim or an end may point at a row that is gone.
func (f *Flat) seqsOf(lane int, visit func(*int)) {
	for i := range f.entries {
		if f.entries[i].Lane == lane {
			visit(&f.entries[i].Seq)
		}
	}
	for i := range f.claims {
		if f.claims[i].Lane == lane {
			visit(&f.claims[i].Seq)
		}
	}
	for i := range f.terminals {
		if f.terminals[i].Lane == lane {
			visit(&f.terminals[i].Seq)
		}
	}
}

// rankJobs ranks the jobs that any row tells of; others are as if they never were.
func (f *Flat) rankJobs() {
	var jobs ranking
	f.jobs(func(job *int) { jobs.add(*job) })
	jobs.sort()
	f.jobs(func(job *int) { *job = jobs.rank(*job) })
	f.vars.NextJob = len(jobs) + 1
}

// jobs visits the job of each row, table by table.
func (f *Flat) jobs(visit func(*int)) {
	for i := range f.entries {
		visit(&f.entries[i].Job)
	}
	for i := range f.claims {
		visit(&f.claims[i].Job)
	}
	for i := range f.terminals {
		visit(&f.terminals[i].Job)
	}
	for i := range f.deferred {
		visit(&f.deferred[i].Job)
	}
	for i := range f.states {
		visit(&f.states[i].Job)
	}
	for i := range f.leases {
		visit(&f.leases[i].Job)
	}
	for i := range f.uniques {
		visit(&f.uniques[i].Job)
	}
	for i := range f.dlq {
		visit(&f.dlq[i].Job)
	}
	for i := range f.removed {
		visit(&f.removed[i].Job)
	}
}

// rankBatches ranks the batches of the claims that are there; evidence whose claims were pruned keeps its number.
func (f *Flat) rankBatches() (highest int) {
	var batches ranking
	for _, c := range f.claims {
		batches.add(c.Batch)
	}
	batches.sort()
	for i := range f.claims {
		f.claims[i].Batch = batches.rank(f.claims[i].Batch)
		highest = max(highest, f.claims[i].Batch)
	}
	return highest
}

// rankKeys numbers the unique keys in the order in which jobs took them: a database has only their hashes.
func (f *Flat) rankKeys() {
	names := map[int]int{}
	for i := range f.uniques {
		key := &f.uniques[i].Key
		if names[*key] == 0 {
			names[*key] = len(names) + 1
		}
		*key = names[*key]
	}
}

// rankReceipts relies on the order of the claims, which is that of their receipts.
func (f *Flat) rankReceipts() {
	for i := range f.claims {
		f.claims[i].Receipt = i + 1
	}
	f.vars.NextReceipt = len(f.claims) + 1
}
