package model

import (
	"cmp"
	"slices"
)

// The DLQ holds failed jobs for an operator, outside of the rings: no prune takes them, and no retention of failed rows
// speaks of them. A job is in one place all the same: it has a failed row or it is held, never both (P2).

// SetDLQ is a decision about jobs that fail from now on; those that have failed stay where they are.
func (a SetDLQ) apply(s Store) (Result, error) {
	lane, ok := s.Config().Lane(a.Queue, 1)
	if !ok || a.On != 0 && a.On != 1 {
		return nil, disabled(a, "no such queue, or neither 0 nor 1")
	}
	p := s.Policy(s.Config().QueueOf(lane))
	p.DLQ = a.On
	s.SetPolicy(s.Config().QueueOf(lane), p)
	return OK{}, nil
}

// closeFailed closes a claim whose job fails by its worker's report, and says where the job went. The closure says it,
// too.
func closeFailed(s Store, c ClaimRow, now int) JobState {
	outcome := Failed
	if s.Policy(s.Config().QueueOf(c.Lane)).DLQ != 0 {
		outcome = DeadLettered
	}
	closeClaim(s, c, outcome)
	return failJob(s, c, now)
}

// failJob writes the end of a job that has failed, whoever has closed its claim: the queue's policy decides where to, on
// each path in the same way.
func failJob(s Store, c ClaimRow, now int) JobState {
	if s.Policy(s.Config().QueueOf(c.Lane)).DLQ == 0 {
		finalize(s, c, Failed, now)
		return JobFailed
	}
	e, _ := s.NewestEntry(c.Job) // the claim was open, so the row that it was made of is there
	s.PutDLQ(DLQRow{
		Job: c.Job, Lane: c.Lane, Lease: c.Lease, Attempt: c.Attempt, MaxAttempts: c.MaxAttempts, FinalizedAt: now, At: now,
		Limit: e.Limit,
	})
	return JobDLQ
}

// MoveToDLQ takes the failed row out. The ready row under a narrow one stays, handed out as it was: a prune of its
// generation needs nothing else (hazard 25). The unique key stays whosever it is; whether a job that is held keeps it is
// asked when somebody wants it.
func (a MoveToDLQ) apply(s Store) (Result, error) {
	c, err := chosen(s, a, a.Queue, a.Kind, a.Jobs, a.Limit)
	if err != nil {
		return nil, err
	}
	var r Moved
	for _, t := range failedRows(s, c) {
		s.DropTerminal(t)
		s.PutDLQ(DLQRow{
			Job: t.Job, Lane: t.Lane, Lease: t.Lease, Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, FinalizedAt: t.FinalizedAt,
			At: a.Now, Limit: t.Limit,
		})
		r.Jobs = append(r.Jobs, t.Job)
	}
	r.Matched = len(r.Jobs)
	return r, nil
}

// RetryFromDLQ leaves a job where it is whose unique key another has taken.
func (a RetryFromDLQ) apply(s Store) (Result, error) {
	c, err := chosen(s, a, a.Queue, a.Kind, a.Jobs, a.Limit)
	if err != nil {
		return nil, err
	}
	held := slices.Collect(where(s.DLQRows(), func(d DLQRow) bool { return c.matches(s, d.Lane, d.Job) }))
	held = held[:min(len(held), c.limit)]
	r := Retried{Matched: len(held), PrunedFailed: -1}
	for _, d := range held {
		if keyIsLost(s, d.Job) {
			continue
		}
		s.DropDLQ(d)
		waitAgain(s, EntryRow{Lane: d.Lane, Job: d.Job, Lease: d.Lease, Attempt: d.Attempt, MaxAttempts: d.MaxAttempts, Limit: d.Limit, Since: a.Now})
		r.Jobs = append(r.Jobs, d.Job)
	}
	return r, nil
}

// PurgeDLQ evaluates its cutoff once (hazard 29). What is gone is said in the current generation, which outlives every
// ready row of the job.
func (a PurgeDLQ) apply(s Store) (Result, error) {
	if a.Limit < 1 || (a.Older > 0) == (len(a.Jobs) > 0) {
		return nil, disabled(a, "the limit is less than 1, or it takes an age or jobs, and one of them")
	}
	cutoff := a.Now - a.Older
	held := slices.Collect(where(s.DLQRows(), func(d DLQRow) bool {
		if len(a.Jobs) > 0 {
			return slices.Contains(a.Jobs, d.Job)
		}
		return d.At < cutoff
	}))
	if len(a.Jobs) == 0 {
		slices.SortFunc(held, func(x, y DLQRow) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Job, y.Job)) })
	}
	var r Purged
	for _, d := range held[:min(len(held), a.Limit)] {
		s.DropDLQ(d)
		s.AddRemoved(RemovedRow{d.Job, d.Lane, s.Vars().Queue.Generation})
		r.Jobs = append(r.Jobs, d.Job)
	}
	slices.Sort(r.Jobs)
	return r, nil
}

// DeleteTerminal takes jobs in the order of the request, so that a second mention of one finds nothing (hazard 28).
func (a DeleteTerminal) apply(s Store) (Result, error) {
	var r Deletion
	for _, job := range a.Jobs {
		r.Jobs = append(r.Jobs, CancelledJob{job, deleteEnd(s, job)})
	}
	return r, nil
}

// deleteEnd takes one end away and says so in its place: the end of a job stands in a generation no older than any of its
// ready rows. The claim stays closed, and its slot can be pruned as before (hazard 25).
func deleteEnd(s Store, job int) CancelAnswer {
	if t, ok := s.Terminal(job); ok {
		s.DropTerminal(t)
		s.AddRemoved(RemovedRow{job, t.Lane, t.Gen})
		return CancelOK
	}
	view, err := JobOf{job}.apply(s)
	if err != nil || view.(JobView).State == JobNotFound {
		return CancelNotFound
	}
	return CancelWrongState
}
