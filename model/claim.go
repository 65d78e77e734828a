package model

import (
	"cmp"
	"iter"
	"slices"
)

// Claim hands out waiting rows, the most urgent lane first, in each lane by seq (P4). Each row gets its evidence and a
// claim row in the current claim generation; both are additions (P6).
//
// A row is looked for by its evidence alone. No cursor, no generation and no open transaction of others can hide
// one (hazards 1 and 2), and claims are not read: claiming never waits for what happens to a claim slot.
func (a Claim) apply(s Store) (Result, error) {
	first, ok := s.Config().Lane(a.Queue, 1)
	if !ok {
		return nil, disabled(a, "no such queue")
	}
	if a.Limit < 1 {
		return nil, disabled(a, "the limit is less than 1")
	}
	if s.Vars().paused(s.Config().QueueOf(first)) {
		return Claimed{}, nil
	}
	// The lane whose first job is the most urgent gives it away, and again. Where waiting gains nothing, a lower priority gets
	// what the higher ones left of the limit. Whether a shard is one that still gets jobs makes no difference.
	lanes := make([][]EntryRow, s.Config().LanesOfQueue())
	for i := range lanes {
		lanes[i] = take(s.Waiting(first+i), a.Limit)
	}
	var picked []EntryRow
	for len(picked) < a.Limit {
		next := mostUrgent(s.Config(), lanes, a.Now)
		if next < 0 {
			break
		}
		picked = append(picked, lanes[next][0])
		lanes[next] = lanes[next][1:]
	}
	var r Claimed
	for _, e := range picked {
		r.Handouts = append(r.Handouts, Handout{e.Job, e.Lease + 1, e.Attempt + 1})
	}
	record(s, picked, a.Now)
	return r, nil
}

// record writes the evidence and the claims of picked rows. Evidence lives in the slot of the rows that it is
// for, so a call makes one batch for each lane and ready generation, in that order, and after those one for each row
// whose claim is row-local; receipts follow batches.
// The sort is for states that were read from a database: a producer there may take its seq, wait, and find the
// ring turned, so that a lower seq is in a younger generation.
func record(s Store, picked []EntryRow, now int) {
	local := func(e EntryRow) int { return one(e.Limit != 0) }
	picked = slices.SortedFunc(slices.Values(picked), func(x, y EntryRow) int {
		return cmp.Or(cmp.Compare(local(x), local(y)), cmp.Compare(x.Lane, y.Lane), cmp.Compare(x.Gen, y.Gen), cmp.Compare(x.Seq, y.Seq))
	})
	v := s.Vars()
	for i, e := range picked {
		if i > 0 && (local(e) == 1 || e.Lane != picked[i-1].Lane || e.Gen != picked[i-1].Gen) {
			v.NextBatch++
		}
		e.Batch = v.NextBatch
		s.PutEntry(e)
		s.PutClaim(ClaimRow{
			Receipt: v.NextReceipt, Batch: e.Batch, Gen: v.Claims.Generation,
			Lane: e.Lane, Seq: e.Seq, ReadyGen: e.Gen,
			Job: e.Job, Lease: e.Lease + 1, Attempt: e.Attempt + 1, MaxAttempts: e.MaxAttempts,
			ClaimedAt: now, Local: local(e), Deadline: s.Config().deadline(e.Lane, e.Limit, now),
		})
		v.NextReceipt++
	}
	if len(picked) > 0 {
		v.NextBatch++
	}
	s.SetVars(v)
}

// take collects the first n rows: all that a rule reads, it reads before it writes.
func take[T any](rows iter.Seq[T], n int) []T {
	var taken []T
	for row := range rows {
		if len(taken) == n {
			break
		}
		taken = append(taken, row)
	}
	return taken
}
