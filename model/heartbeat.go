package model

// Heartbeat and Progress write what a running attempt tells of itself. It is there only while the attempt is open: an
// attempt that is over gets none, and a closure takes it away (P3).

func (a Heartbeat) apply(s Store) (Result, error) {
	return beat(s, a.Attempts, func(row *AttemptRow) { row.Heartbeat = max(row.Heartbeat, a.Now) }), nil
}

func (a Progress) apply(s Store) (Result, error) {
	return beat(s, a.Attempts, func(row *AttemptRow) {
		row.Heartbeat = max(row.Heartbeat, a.Now)
		row.Percent = a.Percent
	}), nil
}

// beat changes the state of each attempt that is open. A second mention is no other than the first.
func beat(s Store, attempts []AttemptID, change func(*AttemptRow)) Result {
	var r Closed
	for _, id := range attempts {
		claim, ok := s.Claim(id)
		stale := !ok || claim.Outcome != Open
		closing := ok && keeper(s, claim) != 0 // also of another attempt of the batch, also of one that is over
		if closing {
			r.Attempts = append(r.Attempts, ClosedAttempt{ID: id, Closing: true})
			continue
		}
		if !stale {
			row := stateOf(s, id)
			change(&row)
			s.PutAttemptState(row)
		}
		r.Attempts = append(r.Attempts, ClosedAttempt{ID: id, Stale: stale})
	}
	return r
}

// signOfLife is the newest moment at which somebody is known to have had the attempt: its claim, or a heartbeat.
func signOfLife(s Store, c ClaimRow) int {
	row, _ := s.AttemptState(c.ID())
	return max(c.ClaimedAt, row.Heartbeat)
}
