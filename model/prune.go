package model

// PruneQueue and PruneClaims truncate the oldest sealed generation, when it is spent. Oldest first: the ledger of
// pruned generations has no holes. Prune closes nothing; rescue does, before it.

// PruneQueue proves by rows, not by cursors: each committed row was handed out, no attempt of such a row is open, and
// nobody's uncommitted row is there (P2). Failed rows inside the retention go on living in the current generation (P8);
// what goes is counted in the rollups.
//
// The order of the checks is the order in which an engine comes to know: what is active shows without touching
// anybody's locks (P7); that a producer holds the table shows when the lock is asked for.
func (a PruneQueue) apply(s Store) (Result, error) {
	v := s.Vars()
	gen := v.Queue.Pruned
	if !v.Queue.Sealed(gen) {
		return QueuePrune{Status: Nothing}, nil
	}
	slot := s.QueueSlot(gen)
	switch {
	case slot.Waiting > 0 || slot.OpenClaims > 0:
		return QueuePrune{Status: SkippedActive}, nil
	case slot.Uncommitted > 0:
		return QueuePrune{Status: Blocked}, nil // the open transaction holds the slot's table; nothing but its end helps (P5)
	}
	// All or nothing: what is counted for ever, what is carried, what goes, and the ledger that says so (P2).
	var carried []TerminalRow
	for t := range s.TerminalsIn(gen) {
		if a.keeps(t) {
			carried = append(carried, t)
		} else {
			rollUp(s, t)
		}
	}
	s.DropQueueGeneration(gen)
	for _, t := range carried {
		t.Gen, t.Wide = v.Queue.Generation, true
		s.AddTerminal(t)
	}
	v.Queue.Pruned++
	s.SetVars(v)
	return QueuePrune{Pruned, len(carried)}, nil
}

// keeps says whether the row is inside the retention; the bound itself is. It protects failed rows alone: a cancelled
// job had its decision. Each row is asked with the same cutoff (hazard 29).
func (a PruneQueue) keeps(t TerminalRow) bool {
	return a.Retention > 0 && t.State == Failed && t.FinalizedAt >= a.Now-a.Retention
}

// rollUp counts one terminal row that goes, in the queue of its lane.
func rollUp(s Store, t TerminalRow) {
	queue := s.Config().QueueOf(t.Lane)
	r := s.Rollup(queue)
	if t.State == Failed {
		r.Failed++
	} else { // cancelled ones too: nobody asks for them again
		r.Completed++
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
