package model

// Cancel ends jobs wherever they are. Jobs are taken in the order of the request, so that a second mention of one finds it
// over (hazard 28).
func (a Cancel) apply(s Store) (Result, error) {
	var r Cancellation
	for _, job := range a.Jobs {
		r.Jobs = append(r.Jobs, CancelledJob{job, cancel(s, job, a.Now)})
	}
	return r, nil
}

// isOver says whether a job has ended, or failed and is held for an operator.
func isOver(s Store, job int) bool {
	_, ended := s.Terminal(job)
	_, held := s.DLQ(job)
	return ended || held
}

// cancel looks for the job as [JobOf] does. Every place has a way of its own: what waits outside of the ring is taken out
// and needs a body of its own; a position of the ring is spent, though nobody was handed it; an attempt is closed.
func cancel(s Store, job, now int) CancelAnswer {
	if d, ok := s.Deferred(job); ok && d.Tx == 0 {
		s.DropDeferred(d)
		seq := s.LastSeq(d.Lane) + 1
		s.SetLastSeq(d.Lane, seq)
		s.AddTerminal(TerminalRow{
			Lane: d.Lane, Seq: seq, Gen: s.Vars().Queue.Generation, Job: d.Job, Lease: d.Lease, Attempt: d.Attempt,
			MaxAttempts: d.MaxAttempts, State: Cancelled, FinalizedAt: now, Limit: d.Limit, Wide: true,
		})
		return CancelOK
	}
	if isOver(s, job) {
		return CancelWrongState
	}
	e, ok := s.NewestEntry(job)
	switch {
	case !ok || !e.Visible():
		return CancelNotFound
	case e.Waiting():
		tombstone(s, e)
		s.AddTerminal(TerminalRow{
			Lane: e.Lane, Seq: e.Seq, Gen: e.Gen, Job: e.Job, Lease: e.Lease, Attempt: e.Attempt, MaxAttempts: e.MaxAttempts,
			State: Cancelled, FinalizedAt: now, Limit: e.Limit,
		})
		return CancelOK
	}
	c, ok := s.Claim(AttemptID{job, e.Lease + 1})
	if !ok || c.Outcome != Open {
		return CancelNotFound // its end was removed; or it is lost, and no rule makes that
	}
	closeClaim(s, c, Cancelled)
	finalize(s, c, Cancelled, now)
	return CancelOK
}

// tombstone spends a position that nobody was handed. To a claim it is evidence like any other, under a number of the
// same sequence, so that no claim looks for it anywhere else.
func tombstone(s Store, e EntryRow) {
	v := s.Vars()
	e.Batch = v.NextBatch
	s.PutEntry(e)
	v.NextBatch++
	s.SetVars(v)
}
