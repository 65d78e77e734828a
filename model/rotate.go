package model

// RotateQueue and RotateClaims move a ring on, when the next slot is free and there is something to move away
// from.

// RotateQueue counts committed ready rows: those of an open producer are as unseen here as anywhere. Beside them stand
// wide ends. A cancelled one waits for a prune like any history; a ring that has nothing but failed ones need not turn:
// each turn would write them anew.
func (a RotateQueue) apply(s Store) (Result, error) {
	v := s.Vars()
	rows := 0
	for gen := v.Queue.Pruned; gen <= v.Queue.Generation; gen++ {
		rows += s.QueueSlot(gen).Committed
		for t := range s.TerminalsIn(gen) {
			if t.State != Failed {
				rows++ // of a ready row that is counted, or wide
			}
		}
	}
	status := rotate(&v.Queue, s.Config().QueueSlots, rows == 0)
	s.SetVars(v)
	return status, nil
}

// RotateClaims counts claims, closed ones too: they are what a prune gives the space back of.
func (a RotateClaims) apply(s Store) (Result, error) {
	v := s.Vars()
	rows := 0
	for gen := v.Claims.Pruned; gen <= v.Claims.Generation; gen++ {
		rows += s.ClaimSlot(gen).Claims
	}
	status := rotate(&v.Claims, s.Config().ClaimSlots, rows == 0)
	s.SetVars(v)
	return status, nil
}

// TrimLedger changes nothing: a ring is its two numbers here, and what its ledgers say of older laps was never asked.
func (TrimLedger) apply(Store) (Result, error) { return OK{}, nil }

// FoldCounts changes nothing: what it adds up are copies of what stands in the terminal rows, and reading a database back
// compares them.
func (FoldCounts) apply(Store) (Result, error) { return OK{}, nil }

// rotate decides for either ring: it is a function of the ring's two numbers, its number of slots and whether it is
// idle, so that there is one rule and not one for each ring. The next slot is free when the generation that last used it was pruned: that
// it looks empty proves nothing, a row may be there that is not committed yet. Idle looks at the sealed
// generations too, since a row left in one must not keep the ring from ever turning again.
func rotate(ring *Ring, slots int, idle bool) Status {
	lastInNextSlot := ring.Generation + 1 - slots
	if lastInNextSlot >= ring.Pruned {
		return SkippedNextNotPruned
	}
	if idle {
		return SkippedIdle
	}
	ring.Generation++
	return Rotated
}
