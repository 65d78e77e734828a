package model

// JobOf tells where a job is, from its own rows and not from any count. Its newest ready row says what was handed out last; the attempt of that row is
// running, or over with a terminal row. A job whose every row was pruned isn't found, and nor is one that its
// producer hasn't committed.
func (a JobOf) apply(s Store) (Result, error) {
	if d, ok := s.Deferred(a.Job); ok && d.Tx == 0 {
		return JobView{d.State, d.Lease, d.Attempt}, nil
	}
	if t, ok := s.Terminal(a.Job); ok {
		return JobView{t.place(), t.Lease, t.Attempt}, nil
	}
	e, ok := s.NewestEntry(a.Job)
	if !ok || !e.Visible() {
		return JobView{State: JobNotFound}, nil
	}
	if e.Waiting() {
		return JobView{JobAvailable, e.Lease, e.Attempt}, nil
	}
	if c, ok := s.Claim(AttemptID{a.Job, e.Lease + 1}); ok && c.Outcome == Open {
		return JobView{JobRunning, c.Lease, c.Attempt}, nil
	}
	// Handed out, not running, not ended: a lost job. No rule makes one; an invariant says so (P2).
	return JobView{State: JobNotFound}, nil
}
