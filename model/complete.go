package model

// Complete and Fail close attempts. An attempt whose claim is closed, pruned or unknown is stale: nothing happens
// to it and the caller is told (P3). Attempts are taken in the order of the request, so a second mention of the
// same attempt in one call is stale too (hazard 28).

func (a Complete) apply(s Store) (Result, error) {
	return closeAll(s, a.Attempts, func(c ClaimRow) JobState {
		complete(s, c, a.Now)
		return ""
	}), nil
}

// complete writes a success: of an attempt that had a lease, which the claim's batch knows nothing of, as a row of its own.
func complete(s Store, c ClaimRow, now int) {
	row, _ := s.AttemptState(c.ID())
	closeClaim(s, c, Completed)
	t := endOf(s, c, Completed, now)
	t.Leased = row.Leased
	s.AddTerminal(t)
}

// Fail ends the job whatever attempts it has left: going back to ready is what rescue does.
func (a Fail) apply(s Store) (Result, error) {
	return closeAll(s, a.Attempts, func(c ClaimRow) JobState {
		if closeFailed(s, c, a.Now) == JobDLQ {
			return JobDLQ
		}
		return ""
	}), nil
}

// Closes gives the attempts that an action is to close; ok says whether it is of those that are given attempts.
func Closes(a Action) (attempts []AttemptID, ok bool) {
	switch a := a.(type) {
	case Complete:
		return a.Attempts, true
	case CompleteTx:
		return a.Attempts, true
	case Fail:
		return a.Attempts, true
	case Retry:
		return a.Attempts, true
	case Snooze:
		return a.Attempts, true
	}
	return nil, false
}

// closeAll looks at each attempt when its turn comes, so that what the call itself did before counts. A closure is
// proven against the claim of exactly this attempt: an older attempt of the same job can't close a newer one. end is
// told of each open claim, closes it and routes its job on, and says where to if that isn't what was asked for.
func closeAll(s Store, attempts []AttemptID, end func(ClaimRow) JobState) Result {
	var r Closed
	for _, id := range attempts {
		claim, ok := s.Claim(id)
		stale := !ok || claim.Outcome != Open || claim.Tx != 0 // by this very transaction: others wait
		var to JobState
		if !stale {
			to = end(claim)
		}
		r.Attempts = append(r.Attempts, ClosedAttempt{ID: id, Stale: stale, Failed: to == JobFailed, DLQ: to == JobDLQ})
	}
	return r
}

// closeClaim writes the closure beside the claim. Only an open claim may come here: a closure is written once.
func closeClaim(s Store, c ClaimRow, outcome Outcome) {
	c.Outcome = outcome
	s.PutClaim(c)
	s.DropAttemptState(c.ID())
	s.DropLease(c.ID()) // wherever it is: the token ends with its attempt
}

// finalize writes the job's end into the generation of its ready row, which the claim, open until this moment,
// has kept from being pruned.
func finalize(s Store, c ClaimRow, state Outcome, now int) { s.AddTerminal(endOf(s, c, state, now)) }

func endOf(s Store, c ClaimRow, state Outcome, now int) TerminalRow {
	e, _ := s.NewestEntry(c.Job) // the claim was open, so the row that it was made of is there
	return TerminalRow{
		Lane: c.Lane, Seq: c.Seq, Gen: c.ReadyGen,
		Job: c.Job, Lease: c.Lease, Attempt: c.Attempt, MaxAttempts: c.MaxAttempts,
		State: state, FinalizedAt: now, Limit: e.Limit,
	}
}
