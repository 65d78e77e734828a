package model

// JobOf tells where a job is, from its own rows and not from any count. Its newest ready row says what was handed out last; the attempt of that row is
// running, or over with a terminal row. A job whose every row was pruned isn't found, and nor is one that its
// producer hasn't committed.
func (a JobOf) apply(s Store) (Result, error) {
	if d, ok := s.Deferred(a.Job); ok && d.Tx == 0 {
		return JobView{State: d.State, Lease: d.Lease, Attempt: d.Attempt}, nil
	}
	if t, ok := s.Terminal(a.Job); ok {
		return JobView{State: t.place(), Lease: t.Lease, Attempt: t.Attempt}, nil
	}
	if d, ok := s.DLQ(a.Job); ok {
		return JobView{State: JobDLQ, Lease: d.Lease, Attempt: d.Attempt}, nil
	}
	e, ok := s.NewestEntry(a.Job)
	if !ok || !e.Visible() {
		return JobView{State: JobNotFound}, nil
	}
	if e.Waiting() {
		return JobView{State: JobAvailable, Lease: e.Lease, Attempt: e.Attempt}, nil
	}
	if c, ok := s.Claim(AttemptID{a.Job, e.Lease + 1}); ok && c.Outcome == Open {
		if l, parked := s.Lease(c.ID()); parked {
			return JobView{JobWaiting, c.Lease, c.Attempt, l.Timeout}, nil
		}
		return JobView{State: JobRunning, Lease: c.Lease, Attempt: c.Attempt}, nil
	}
	// Handed out, not running, not ended: its end was removed. Or it is lost, which no rule makes; an invariant says so
	// (P2).
	return JobView{State: JobNotFound}, nil
}
