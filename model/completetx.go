package model

// CompleteTx closes in a caller's transaction. What it closes stays open to everybody else until Commit; but the key of each
// of those claims is its own until its end. Where nothing was closed, nothing is kept. A claim is a batch, or one attempt
// where it is row-local: then nobody else is concerned.

func (a CompleteTx) apply(s Store) (Result, error) {
	tx, open := s.Tx(a.Tx)
	if !open {
		return nil, disabled(a, "transaction %d is not open", a.Tx)
	}
	if tx.Isolation != ReadCommitted {
		return nil, disabled(a, "transaction %d can't see who closed what", a.Tx)
	}
	return closeAll(s, a.Attempts, func(c ClaimRow) JobState {
		c.Tx, c.ClosedAt = a.Tx, a.Now
		s.PutClaim(c)
		return ""
	}), nil
}

// waitsFor is the open transaction that has completed attempts of a claim which the action needs for itself; 0 for none, and
// for those who don't wait: sweeps pass such claims over, heartbeats say so. Who waits on a claim that shares nothing with
// those of the transaction would break P5.
func waitsFor(s Store, a Action) int {
	if len(s.Txs()) == 0 {
		return 0 // nearly always
	}
	switch a := a.(type) {
	case CompleteTx:
		return holder(s, a.Attempts, a.Tx)
	case Park:
		return holder(s, []AttemptID{a.Attempt}, 0)
	case Resume:
		return holder(s, []AttemptID{a.Attempt}, 0)
	case Cancel:
		var running []AttemptID
		for _, job := range a.Jobs {
			if e, ok := s.NewestEntry(job); ok {
				running = append(running, AttemptID{job, e.Lease + 1})
			}
		}
		return holder(s, running, 0)
	}
	attempts, _ := Closes(a)
	return holder(s, attempts, 0)
}

// holder is a transaction, other than mine, that keeps the claim of one of these attempts to itself; 0 for none.
func holder(s Store, attempts []AttemptID, mine int) int {
	for _, id := range attempts {
		c, ok := s.Claim(id)
		if !ok {
			continue
		}
		if tx := keeper(s, c); tx != 0 && tx != mine {
			return tx
		}
	}
	return 0
}

// keeper is the open transaction that has closed an attempt of the claim's batch.
func keeper(s Store, c ClaimRow) int {
	for _, tx := range s.Txs() {
		for _, other := range s.ClosedByTx(tx.ID) {
			if other.Batch == c.Batch {
				return tx.ID
			}
		}
	}
	return 0
}

// commitClosed makes what a transaction completed so, at the time that it said.
func commitClosed(s Store, tx int) {
	for _, c := range s.ClosedByTx(tx) {
		at := c.ClosedAt
		c.Tx, c.ClosedAt = 0, 0
		complete(s, c, at)
	}
}

// reopenClosed leaves the attempts as if nobody had completed them.
func reopenClosed(s Store, tx int) {
	for _, c := range s.ClosedByTx(tx) {
		c.Tx, c.ClosedAt = 0, 0
		s.PutClaim(c)
	}
}
