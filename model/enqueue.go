package model

// The rules of jobs coming in: Enqueue, the caller's transaction, Promote. None of them looks at what other
// transactions have open: no producer waits for another (P5).

// Enqueue is a transaction that begins, writes and commits in one step.
func (a Enqueue) apply(s Store) (Result, error) {
	if why := refuseEnqueue(s, a.Queue, a.Priority, a.Count, a.Attempts, a.Limit); why != "" {
		return nil, disabled(a, "%s", why)
	}
	lane, ok := laneFor(s, a.Queue, a.Priority, a.Ordering)
	if !ok {
		return nil, disabled(a, "the queue has several shards, and the jobs no ordering key")
	}
	var jobs, answer []int
	if a.Unique == 0 {
		jobs = takeJobs(s, a.Count)
		answer = jobs
	} else {
		job, fresh, busy := takeUnique(s, a.Unique, a.Held, 0)
		if busy {
			return UniqueBusy, nil
		}
		if fresh {
			jobs = []int{job}
		}
		answer = repeated(job, a.Count)
	}
	for _, job := range jobs {
		if a.RunAt > a.Now {
			s.PutDeferred(DeferredRow{Job: job, Lane: lane, MaxAttempts: a.Attempts, State: JobScheduled, Limit: a.Limit, RunAt: a.RunAt})
			continue
		}
		appendReady(s, EntryRow{Lane: lane, Job: job, MaxAttempts: a.Attempts, Limit: a.Limit, Since: a.Now})
	}
	return Enqueued{answer, len(jobs) == 0}, nil
}

// EnqueueTx takes what a sequence gives (job ids, places in the lane) at once, and for good. Where the rows go is
// decided by what the transaction can see.
func (a EnqueueTx) apply(s Store) (Result, error) {
	tx, ok := s.Tx(a.Tx)
	if !ok {
		return nil, disabled(a, "transaction %d is not open", a.Tx)
	}
	if why := refuseEnqueue(s, a.Queue, a.Priority, a.Count, a.Attempts, a.Limit); why != "" {
		return nil, disabled(a, "%s", why)
	}
	if tx.Isolation != ReadCommitted && s.Config().shards() > 1 {
		return nil, disabled(a, "transaction %d may see another number of shards", a.Tx)
	}
	lane, ok := laneFor(s, a.Queue, a.Priority, a.Ordering)
	if !ok {
		return nil, disabled(a, "the queue has several shards, and the jobs no ordering key")
	}
	var jobs, answer []int
	if a.Unique == 0 {
		jobs = takeJobs(s, a.Count)
		answer = jobs
	} else {
		if tx.Isolation != ReadCommitted {
			return nil, disabled(a, "transaction %d can't see who holds the key", a.Tx)
		}
		job, fresh, busy := takeUnique(s, a.Unique, a.Held, a.Tx)
		if busy {
			return UniqueBusy, nil
		}
		if fresh {
			jobs = []int{job}
		}
		answer = repeated(job, a.Count)
	}
	for _, job := range jobs {
		if tx.Isolation == ReadCommitted && a.RunAt <= a.Now {
			appendReady(s, EntryRow{Lane: lane, Job: job, MaxAttempts: a.Attempts, Limit: a.Limit, Since: a.Now, Tx: a.Tx})
			continue
		}
		// A snapshot from before can't see a rotation or a prune, so such a transaction must not write into a
		// ring (hazard 3): its jobs wait outside, due at once if not later.
		s.PutDeferred(DeferredRow{
			Job: job, Lane: lane, MaxAttempts: a.Attempts, State: JobScheduled, Limit: a.Limit, RunAt: max(a.RunAt, a.Now), Tx: a.Tx,
		})
	}
	return Enqueued{answer, len(jobs) == 0}, nil
}

// Begin writes nothing; it only says whose rows are not committed.
func (a Begin) apply(s Store) (Result, error) {
	if a.Tx < 1 {
		return nil, disabled(a, "transactions are numbered from 1")
	}
	if _, open := s.Tx(a.Tx); open {
		return nil, disabled(a, "transaction %d is open already", a.Tx)
	}
	s.PutTx(TxRow{a.Tx, a.Isolation})
	return OK{}, nil
}

// Commit makes the transaction's rows visible where they are. Others may have enqueued higher positions in the
// same lane meanwhile, claimed them, and rotated the ring: these rows are handed out next all the same (P5,
// hazard 2).
func (a Commit) apply(s Store) (Result, error) {
	if _, open := s.Tx(a.Tx); !open {
		return nil, disabled(a, "transaction %d is not open", a.Tx)
	}
	for _, e := range s.EntriesOfTx(a.Tx) {
		e.Tx = 0
		s.PutEntry(e)
	}
	for _, d := range s.DeferredOfTx(a.Tx) {
		d.Tx = 0
		s.PutDeferred(d)
	}
	commitUniques(s, a.Tx)
	commitClosed(s, a.Tx)
	s.DropTx(a.Tx)
	return OK{}, nil
}

// Rollback leaves nothing but the numbers that were taken (P1).
func (a Rollback) apply(s Store) (Result, error) {
	if _, open := s.Tx(a.Tx); !open {
		return nil, disabled(a, "transaction %d is not open", a.Tx)
	}
	for _, e := range s.EntriesOfTx(a.Tx) {
		s.DropEntry(e)
	}
	for _, d := range s.DeferredOfTx(a.Tx) {
		s.DropDeferred(d)
	}
	for _, u := range uniquesOfTx(s, a.Tx) {
		s.DropUnique(u)
	}
	reopenClosed(s, a.Tx)
	s.DropTx(a.Tx)
	return OK{}, nil
}

// Promote makes new ready rows of deferred ones: the job keeps its id and its numbers of attempts, and gets its place
// in the lane now, behind whoever came since.
func (a Promote) apply(s Store) (Result, error) {
	if a.Limit < 1 {
		return nil, disabled(a, "the limit is less than 1")
	}
	var jobs []int
	for _, d := range take(s.Due(a.Now), a.Limit) {
		s.DropDeferred(d)
		appendReady(s, EntryRow{Lane: d.Lane, Job: d.Job, Lease: d.Lease, Attempt: d.Attempt, MaxAttempts: d.MaxAttempts, Limit: d.Limit, Since: a.Now})
		jobs = append(jobs, d.Job)
	}
	return Promoted{jobs}, nil
}

// refuseEnqueue says what is wrong with a request, before anything is written.
func refuseEnqueue(s Store, queue string, priority, count, attempts, limit int) string {
	if _, ok := s.Config().Lane(queue, priority); !ok {
		return "no such queue and priority"
	}
	if count < 1 || attempts < 1 {
		return "count and attempts are at least 1"
	}
	if limit < OwnClaim {
		return "no time limit is negative"
	}
	return ""
}

// appendReady writes a ready row at the end of its lane, in the current generation: a sealed one is never
// written to again but by the outcomes of its own rows.
func appendReady(s Store, e EntryRow) {
	e.Gen = s.Vars().Queue.Generation
	e.Seq = s.LastSeq(e.Lane) + 1
	s.SetLastSeq(e.Lane, e.Seq)
	s.PutEntry(e)
}

// takeJobs takes the next ids. A transaction that rolls back doesn't give them back.
func takeJobs(s Store, count int) []int {
	v := s.Vars()
	jobs := make([]int, count)
	for i := range jobs {
		jobs[i] = v.NextJob + i
	}
	v.NextJob += count
	s.SetVars(v)
	return jobs
}
