package model

// CountsOf computes a queue's counts from the numbers of rows in each table, by the same sums as the engine's
// one statement: a job to hand out is a ready row without evidence, a running one a claim without a closure and without a lease. That
// the sums also count jobs, one by one, is an invariant (P9), not an assumption.
func (a CountsOf) apply(s Store) (Result, error) {
	lane, ok := s.Config().Lane(a.Queue, 1)
	if !ok {
		return nil, disabled(a, "no such queue")
	}
	return countsOf(s, s.Config().QueueOf(lane)), nil
}

// countsOf takes all numbers from one state. In a database that is one snapshot: two would count a job twice, or not
// at all, when a prune commits in between (hazard 10).
func countsOf(s Store, queue int) Counts {
	t, r := s.Tally(queue), s.Rollup(queue)
	return Counts{
		Available:       t.Entries - t.HandedOut,
		Scheduled:       t.Scheduled,
		Retryable:       t.Retryable,
		Cancelled:       t.Cancelled,
		Running:         t.Claims - t.Closures - t.Waiting,
		Waiting:         t.Waiting,
		DLQ:             t.DLQ,
		Completed:       t.Completed,
		Failed:          t.Failed,
		PrunedCompleted: r.Completed,
		PrunedFailed:    r.Failed,
	}
}

// Reopen changes nothing: whatever a process remembers is a hint.
func (Reopen) apply(Store) (Result, error) { return OK{}, nil }
