package model

import "fmt"

// What an operator does with jobs that wait: another priority, another queue.

// SetPriority keeps each job's queue.
func (a SetPriority) apply(s Store) (Result, error) {
	if a.Priority < 1 || a.Priority > Priorities {
		return nil, disabled(a, "no such priority")
	}
	return moveAll(s, a.Jobs, a.to(s)), nil
}

// MoveJob keeps each job's priority. A unique key stays as it was taken, whatever it was made of.
func (a MoveJob) apply(s Store) (Result, error) {
	if _, ok := s.Config().Lane(a.Queue, 1); !ok {
		return nil, disabled(a, "no such queue")
	}
	return moveAll(s, a.Jobs, a.to(s)), nil
}

// to keeps the shard: jobs that were ordered among each other stay so.
func (a SetPriority) to(s Store) func(lane int) int {
	c := s.Config()
	return func(lane int) int { return c.laneAt(c.QueueOf(lane), a.Priority, c.ShardOf(lane)) }
}

// to folds the shard into those that the new queue has; a job of that queue stays where it is.
func (a MoveJob) to(s Store) func(lane int) int {
	c := s.Config()
	first, _ := c.Lane(a.Queue, 1)
	queue := c.QueueOf(first)
	return func(lane int) int {
		if c.QueueOf(lane) == queue {
			return lane
		}
		return c.laneAt(queue, c.PriorityOf(lane), c.ShardOf(lane)%s.Policy(queue).shards())
	}
}

// moveAll takes the jobs in the order of the request, so that this is their order in a lane that they come to. A second mention
// of one finds it where it was to go (hazard 28).
func moveAll(s Store, jobs []int, to func(lane int) int) Relocation {
	var r Relocation
	for _, job := range jobs {
		r.Jobs = append(r.Jobs, CancelledJob{job, move(s, job, to)})
	}
	return r
}

// move looks for the job as [JobOf] does, and moves it only where it waits for a claim or for its time. One that is in its
// lane already keeps its place there.
func move(s Store, job int, to func(lane int) int) CancelAnswer {
	if d, ok := s.Deferred(job); ok && d.Tx == 0 {
		d.Lane = to(d.Lane)
		s.PutDeferred(d)
		return CancelOK
	}
	if isOver(s, job) {
		return CancelWrongState
	}
	e, ok := s.NewestEntry(job)
	if !ok || !e.Visible() {
		return CancelNotFound
	}
	if e.Waiting() {
		if lane := to(e.Lane); lane != e.Lane {
			reappend(s, e, lane)
		}
		return CancelOK
	}
	if c, ok := s.Claim(AttemptID{job, e.Lease + 1}); ok && c.Outcome == Open {
		return CancelWrongState
	}
	return CancelNotFound // its end was removed
}

// reappend spends the row's position and lets its job wait at the end of another lane. No row of a ring ever changes. The
// new row has a run_lease of its own, which no attempt ever had: the newest row of a job is the one that tells where it is,
// and two with one run_lease would be two answers. No attempt is used up, and what it has waited it has waited.
func reappend(s Store, e EntryRow, lane int) {
	tombstone(s, e)
	appendReady(s, EntryRow{Lane: lane, Job: e.Job, Lease: e.Lease + 1, Attempt: e.Attempt, MaxAttempts: e.MaxAttempts, Limit: e.Limit, Since: e.Since})
}

// movesSome: jobs were to be moved.
func movesSome(p Step) bool {
	r, ok := p.Result.(Relocation)
	return ok && len(r.Jobs) > 0
}

// P2, P3: a job that waits goes to the lane that was meant and is otherwise what it was: it waits for the same, with as many
// attempts left, behind all that were in its lane. One that doesn't wait is left alone.
func movedJobKeepsWhatItWas(p Step) error {
	r, ok := p.Result.(Relocation)
	if !ok {
		return nil
	}
	to := func(lane int) int { return lane }
	switch a := p.Action.(type) {
	case SetPriority:
		to = a.to(p.Pre)
	case MoveJob:
		to = a.to(p.Pre)
	}
	before, after := places(p.Pre), places(p.Post)
	for _, j := range r.Jobs {
		was, is := placeOf(before, j.Job), placeOf(after, j.Job)
		want := CancelWrongState
		switch was {
		case JobNotFound, removed:
			want = CancelNotFound
		case JobAvailable, JobScheduled, JobRetryable:
			want = CancelOK
		}
		if j.Answer != want || is != was {
			return fmt.Errorf("job %d was %s, the answer is %s, and it is %s", j.Job, was, j.Answer, is)
		}
		if err := keptInPlace(p, j.Job, was, to); err != nil {
			return err
		}
	}
	return nil
}

// keptInPlace compares the row of a job that waits with what it was.
func keptInPlace(p Step, job int, was JobState, to func(int) int) error {
	switch was {
	case JobScheduled, JobRetryable:
		want, _ := p.Pre.Deferred(job)
		want.Lane = to(want.Lane)
		if got, _ := p.Post.Deferred(job); got != want {
			return fmt.Errorf("job %d was to wait as %+v, and there is %+v", job, want, got)
		}
	case JobAvailable:
		old, _ := p.Pre.NewestEntry(job)
		got, _ := p.Post.NewestEntry(job)
		want := old
		if lane := to(old.Lane); lane != old.Lane {
			want.Lane, want.Lease, want.Gen, want.Seq = lane, old.Lease+1, p.Pre.Vars().Queue.Generation, got.Seq
		}
		if got != want || got.Lane != old.Lane && got.Seq <= p.Pre.LastSeq(got.Lane) {
			return fmt.Errorf("job %d was to wait as %+v, and there is %+v", job, want, got)
		}
	}
	return nil
}
