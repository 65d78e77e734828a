package model

// PruneQueue and PruneClaims truncate the oldest sealed generation, when it is spent. Oldest first: the ledger of
// pruned generations has no holes. Prune closes nothing and moves nothing on; rescue does, before it.

// PruneQueue proves by rows, not by cursors: each committed row was handed out, no attempt of such a row is open,
// nobody's uncommitted row is there, and no failed row is younger than the retention asks for (P2, P8). What goes
// is counted in the rollups.
//
// The order of the checks is the order in which an engine comes to know: what is active shows without touching
// anybody's locks (P7); that a producer holds the table shows when the lock is asked for; what failed inside the
// retention is looked at under the lock, when nothing more can be added.
func (a PruneQueue) apply(s Store) (Result, error) {
	v := s.Vars()
	gen := v.Queue.Pruned
	if !v.Queue.Sealed(gen) {
		return Nothing, nil
	}
	slot := s.QueueSlot(gen)
	switch {
	case slot.Waiting > 0 || slot.OpenClaims > 0:
		return SkippedActive, nil
	case slot.Uncommitted > 0:
		return Blocked, nil // the open transaction holds the slot's table; nothing but its end helps (P5)
	case a.retains(s, gen):
		return SkippedActive, nil
	}
	// All or nothing: what is counted for ever, what goes, and the ledger that says so (P2).
	for t := range s.TerminalsIn(gen) {
		rollUp(s, t)
	}
	s.DropQueueGeneration(gen)
	v.Queue.Pruned++
	s.SetVars(v)
	return Pruned, nil
}

// retains says whether a failed row of the generation is younger than the retention; 0 turns it off.
func (a PruneQueue) retains(s Store, gen int) bool {
	if a.Retention <= 0 {
		return false
	}
	cutoff := a.Now - a.Retention
	for t := range s.TerminalsIn(gen) {
		if t.State == Failed && t.FinalizedAt >= cutoff {
			return true
		}
	}
	return false
}

// rollUp counts one terminal row that goes, in the queue of its lane.
func rollUp(s Store, t TerminalRow) {
	queue := t.Lane / Priorities
	r := s.Rollup(queue)
	if t.State == Completed {
		r.Completed++
	} else {
		r.Failed++
	}
	s.SetRollup(queue, r)
}

// PruneClaims asks one thing: that each claim of the generation is closed. The row is the only record that an
// attempt was handed out; truncating it while it is open would lose the job for ever (P2, hazard 25).
func (a PruneClaims) apply(s Store) (Result, error) {
	v := s.Vars()
	gen := v.Claims.Pruned
	if !v.Claims.Sealed(gen) {
		return Nothing, nil
	}
	if s.ClaimSlot(gen).Open > 0 {
		return SkippedActive, nil
	}
	s.DropClaimGeneration(gen)
	v.Claims.Pruned++
	s.SetVars(v)
	return Pruned, nil
}
