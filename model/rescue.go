package model

// RescueStale closes claims that are older than the cutoff, oldest first, and routes their jobs on: back to
// ready while attempts are left, else to failed or to the DLQ. It is how a claim is closed whose worker is gone, and so what
// lets a claim slot be pruned: prune closes nothing.
func (a RescueStale) apply(s Store) (Result, error) {
	if a.Limit < 1 {
		return nil, disabled(a, "the limit is less than 1")
	}
	cutoff := a.Now - a.Older // evaluated once (hazard 29)
	var stale []ClaimRow
	for c := range s.OpenClaims() {
		if signOfLife(s, c) < cutoff && !waits(s, c.ID()) {
			stale = append(stale, c)
		}
	}
	return giveBack(s, stale, a.Limit, Rescued, a.Now), nil
}

// RescueDeadline closes claims whose deadline has come, the first to come first in each slot. It asks nothing of the
// worker: a live one is told later that its attempt is over.
func (a RescueDeadline) apply(s Store) (Result, error) {
	if a.Limit < 1 {
		return nil, disabled(a, "the limit is less than 1")
	}
	var late []ClaimRow
	for c := range s.Expiring() {
		if c.Deadline <= a.Now {
			late = append(late, c)
		}
	}
	return giveBack(s, late, a.Limit, DeadlineExpired, a.Now), nil
}

// giveBack closes claims, as many as the limit has room for, and routes their jobs on in one step: a claim that is closed while
// its job goes nowhere loses the job (P2), one that stays open while its job waits makes two owners (P3). The claims are in
// the order of their generations. Those of a batch that a transaction keeps to itself are passed over: they take room among
// their own generation's, and none from the next.
func giveBack(s Store, claims []ClaimRow, limit int, outcome Outcome, now int) RescuedCount {
	var r RescuedCount
	for len(claims) > 0 {
		n := 1
		for n < len(claims) && claims[n].Gen == claims[0].Gen {
			n++
		}
		for _, c := range claims[:min(n, max(limit-r.closed(), 0))] {
			switch {
			case keeper(s, c) != 0:
				r.Busy++
			case c.Attempt < c.MaxAttempts:
				closeClaim(s, c, outcome)
				requeue(s, c, now)
				r.Requeued++
			default:
				closeClaim(s, c, outcome)
				if failJob(s, c, now) == JobDLQ {
					r.DLQ++
				} else {
					r.Failed++
				}
			}
		}
		claims = claims[n:]
	}
	return r
}

// requeue makes the job of a closed claim available again: a new row at the lane's end, which keeps the job's
// run_lease and attempt, so that the next claim counts on from there (P3), and its time limit.
func requeue(s Store, c ClaimRow, now int) {
	old, _ := s.NewestEntry(c.Job) // it was open, so the row that it was made of is there
	appendReady(s, EntryRow{Lane: c.Lane, Job: c.Job, Lease: c.Lease, Attempt: c.Attempt, MaxAttempts: c.MaxAttempts, Limit: old.Limit, Since: now})
}
