package model

// RotateQueue and RotateClaims move a ring on, when the next slot is free and there is something to move away
// from.

func (a RotateQueue) apply(s Store) (Result, error) {
	v := s.Vars()
	rows := 0
	for gen := v.Queue.Pruned; gen <= v.Queue.Generation; gen++ {
		rows += s.QueueSlot(gen).Committed
	}
	status := rotate(&v.Queue, s.Config().QueueSlots, rows == 0)
	s.SetVars(v)
	return status, nil
}

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

// rotate decides for either ring. The next slot is free when the generation that last used it was pruned: that
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
