package model

// RescueStale closes claims that are older than the cutoff, oldest first, and routes their jobs on: back to
// ready while attempts are left, else to failed. It is how a claim is closed whose worker is gone, and so what
// lets a claim slot be pruned: prune closes nothing.
func (a RescueStale) apply(s Store) (Result, error) {
	if a.Limit < 1 {
		return nil, disabled(a, "the limit is less than 1")
	}
	cutoff := a.Now - a.Older // evaluated once (hazard 29)
	var stale []ClaimRow
	for c := range s.OpenClaims() {
		if len(stale) == a.Limit {
			break
		}
		if c.ClaimedAt < cutoff {
			stale = append(stale, c)
		}
	}
	// Closing and routing on are one step: a claim that is closed while its job goes nowhere loses the job (P2),
	// one that stays open while its job waits makes two owners (P3).
	var r RescuedCount
	for _, c := range stale {
		closeClaim(s, c, Rescued)
		if c.Attempt < c.MaxAttempts {
			requeue(s, c)
			r.Requeued++
		} else {
			finalize(s, c, Failed, a.Now)
			r.Failed++
		}
	}
	return r, nil
}

// requeue makes the job of a closed claim available again: a new row at the lane's end, which keeps the job's
// run_lease and attempt, so that the next claim counts on from there (P3).
func requeue(s Store, c ClaimRow) {
	appendReady(s, EntryRow{Lane: c.Lane, Job: c.Job, Lease: c.Lease, Attempt: c.Attempt, MaxAttempts: c.MaxAttempts})
}
