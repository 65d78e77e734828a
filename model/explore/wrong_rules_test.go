package explore_test

import (
	"slices"

	"github.com/awa-engine/awa/model"
)

// The wrong rules, each wrong in one place.

func leaveClaims(s model.Store, _ model.PruneClaims, r model.Result) {
	if v := s.Vars(); r == model.SkippedActive {
		v.Claims.Pruned++
		s.SetVars(v)
	}
}

func rotateAlways(s model.Store, _ model.RotateClaims) (model.Result, error) {
	v := s.Vars()
	v.Claims.Generation++
	s.SetVars(v)
	return model.Rotated, nil
}

// completeClosed closes whatever claim it finds.
func completeClosed(s model.Store, a model.Action) (model.Result, error) {
	return wrong(func(s model.Store, a model.Complete) (model.Result, error) {
		var r model.Closed
		for _, id := range a.Attempts {
			c, ok := s.Claim(id)
			if ok {
				end(s, c, model.Completed, model.Completed)
			}
			r.Attempts = append(r.Attempts, model.ClosedAttempt{ID: id, Stale: !ok})
		}
		return r, nil
	})(s, a)
}

func end(s model.Store, c model.ClaimRow, closure, state model.Outcome) {
	c.Outcome = closure
	s.PutClaim(c)
	s.AddTerminal(model.TerminalRow{
		Lane: c.Lane, Seq: c.Seq, Gen: c.ReadyGen, Job: c.Job, Lease: c.Lease, Attempt: c.Attempt,
		MaxAttempts: c.MaxAttempts, State: state,
	})
}

func closeOnly(s model.Store, a model.Complete) (model.Result, error) {
	c, _ := s.Claim(a.Attempts[0])
	if c.Outcome == model.Open {
		c.Outcome = model.Completed
		s.PutClaim(c)
	}
	return model.Closed{Attempts: []model.ClosedAttempt{{ID: c.ID()}}}, nil
}

func lieStale(s model.Store, a model.Complete) (model.Result, error) {
	r, err := model.Apply(s, a)
	closed := r.(model.Closed)
	for i := range closed.Attempts {
		closed.Attempts[i].Stale = true
	}
	return closed, err
}

func touchEntry(s model.Store, a model.Complete, _ model.Result) {
	e, _ := s.NewestEntry(a.Attempts[0].Job)
	e.Attempt++
	s.PutEntry(e)
}

func moveTerminals(s model.Store, a model.Complete, _ model.Result) {
	t, ok := s.Terminal(a.Attempts[0].Job)
	if ok && t.Gen != s.Vars().Queue.Generation {
		t.Gen = s.Vars().Queue.Generation
		s.AddTerminal(t)
	}
}

func claimTwice(s model.Store, _ model.Claim, r model.Result) {
	for _, h := range r.(model.Claimed).Handouts {
		c, _ := s.Claim(h.ID())
		c.Receipt++
		c.Lease++
		s.PutClaim(c)
	}
}

func forgetEvidence(s model.Store, _ model.Claim, r model.Result) {
	for _, h := range r.(model.Claimed).Handouts {
		e, _ := s.NewestEntry(h.Job)
		e.Batch = 0
		s.PutEntry(e)
	}
}

// claimYoungest hides all rows but the last of the lane from the rule, and shows them again.
func claimYoungest(s model.Store, a model.Claim) (model.Result, error) {
	waiting := slices.Collect(s.Waiting(0))
	hidden := waiting[:max(len(waiting)-1, 0)]
	for _, e := range hidden {
		e.Tx = unseen
		s.PutEntry(e)
	}
	r, err := model.Apply(s, a)
	for _, e := range hidden {
		s.PutEntry(e)
	}
	return r, err
}

// claimOnly shows the rule the first rows of one lane alone.
func claimOnly(s model.Store, a model.Claim, lane, limit int) ([]model.Handout, error) {
	hidden := slices.DeleteFunc(slices.Clone(s.Entries()), func(e model.EntryRow) bool { return !e.Waiting() || e.Lane == lane })
	for _, e := range hidden {
		e.Tx = unseen
		s.PutEntry(e)
	}
	a.Limit = limit
	r, err := model.Apply(s, a)
	for _, e := range hidden {
		s.PutEntry(e)
	}
	if err != nil {
		return nil, err
	}
	return r.(model.Claimed).Handouts, nil
}

func claimByLane(s model.Store, a model.Claim) (model.Result, error) {
	var r model.Claimed
	for lane := range s.Config().Lanes() {
		if left := a.Limit - len(r.Handouts); left > 0 {
			more, err := claimOnly(s, a, lane, left)
			if err != nil {
				return nil, err
			}
			r.Handouts = append(r.Handouts, more...)
		}
	}
	return r, nil
}

// claimTiesByLane goes by effective priority, of priority 3 and an interval of 2, and where that is equal by lane.
func claimTiesByLane(s model.Store, a model.Claim) (model.Result, error) {
	var r model.Claimed
	for range a.Limit {
		best, lane := 0, -1
		for l := range s.Config().Lanes() {
			for e := range s.Waiting(l) {
				if priority := max(1, l+1-(a.Now-e.Since)/2); lane < 0 || priority < best {
					best, lane = priority, l
				}
				break
			}
		}
		if lane < 0 {
			break
		}
		more, err := claimOnly(s, a, lane, 1)
		if err != nil {
			return nil, err
		}
		r.Handouts = append(r.Handouts, more...)
	}
	return r, nil
}

func waitBefore(s model.Store, _ model.Enqueue, r model.Result) {
	e, _ := s.NewestEntry(r.(model.Enqueued).Jobs[0])
	e.Since--
	s.PutEntry(e)
}

func sweepUnexpired(s model.Store, a model.RescueDeadline) (model.Result, error) {
	r, err := model.Apply(s, model.RescueDeadline{Limit: a.Limit, Now: a.Now + early})
	return r, onTime(s, a.Now, err)
}

func timeOutEarly(s model.Store, a model.CallbackTimeout) (model.Result, error) {
	r, err := model.Apply(s, model.CallbackTimeout{Limit: a.Limit, Now: a.Now + early})
	return r, onTime(s, a.Now, err)
}

// early is how much too early a sweep is.
const early = 9

// onTime leaves nothing of that to be seen but who was swept.
func onTime(s model.Store, now int, err error) error {
	for _, e := range slices.Clone(s.Entries()) {
		if e.Since == now+early {
			e.Since = now
			s.PutEntry(e)
		}
	}
	return err
}

// enqueueElsewhere takes another key, in a queue of two shards.
func enqueueElsewhere(s model.Store, a model.Enqueue) (model.Result, error) {
	if s.Policy(0).Shards > 1 {
		a.Ordering = 3 - a.Ordering
	}
	return model.Apply(s, a)
}

func claimCurrentShards(s model.Store, a model.Claim) (model.Result, error) {
	if s.Policy(0).Shards > 1 {
		return model.Apply(s, a)
	}
	var r model.Claimed
	var err error
	r.Handouts, err = claimOnly(s, a, 0, a.Limit)
	return r, err
}

// otherShardsEvidence lets each position that was handed out hide the one that is like it in the other shard (hazard 7).
func otherShardsEvidence(s model.Store, _ model.Claim, r model.Result) {
	for _, h := range r.(model.Claimed).Handouts {
		e, _ := s.NewestEntry(h.Job)
		for _, other := range slices.Clone(s.Entries()) {
			if other.Lane != e.Lane && other.Seq == e.Seq && other.Batch == 0 {
				other.Batch = e.Batch
				s.PutEntry(other)
			}
		}
	}
}

// unseen is a transaction that nobody has.
const unseen = 99

func seeUncommitted(s model.Store, _ model.Claim, _ model.Result) {
	for _, e := range slices.Clone(s.Entries()) {
		if !e.Visible() {
			e.Batch = 1
			s.PutEntry(e)
		}
	}
}

func claimWaits(s model.Store, a model.Claim) (model.Result, error) {
	if len(s.Txs()) > 0 {
		return model.Claimed{}, nil
	}
	return model.Apply(s, a)
}

func otherShape(s model.Store, _ model.Claim, r model.Result) {
	for _, h := range r.(model.Claimed).Handouts {
		c, _ := s.Claim(h.ID())
		c.Local = 1 - c.Local
		s.PutClaim(c)
	}
}

func beatTheDead(s model.Store, a model.Heartbeat, _ model.Result) {
	s.PutAttemptState(model.AttemptRow{Job: a.Attempts[0].Job, Lease: a.Attempts[0].Lease, Heartbeat: a.Now})
}

func requeueAll(s model.Store, _ model.RescueStale, _ model.Result) {
	v := s.Vars()
	for _, c := range slices.Clone(s.Claims()) {
		if newest, _ := s.NewestEntry(c.Job); c.Outcome == model.Rescued && newest.Lease < c.Lease {
			seq := s.LastSeq(c.Lane) + 1
			s.SetLastSeq(c.Lane, seq)
			s.PutEntry(model.EntryRow{
				Lane: c.Lane, Seq: seq, Gen: v.Queue.Generation, Job: c.Job, Lease: c.Lease, Attempt: c.Attempt,
				MaxAttempts: c.MaxAttempts,
			})
		}
	}
}

func rescueFails(s model.Store, a model.RescueStale) (model.Result, error) {
	var r model.RescuedCount
	for _, c := range slices.Collect(s.OpenClaims()) {
		if c.ClaimedAt < a.Now-a.Older {
			end(s, c, model.Rescued, model.Failed)
			r.Failed++
		}
	}
	return r, nil
}

func keepAttempt(s model.Store, _ model.Snooze, r model.Result) {
	for _, a := range r.(model.Closed).Attempts {
		if d, ok := s.Deferred(a.ID.Job); ok && !a.Stale {
			d.Attempt++
			s.PutDeferred(d)
		}
	}
}

func claimPaused(s model.Store, a model.Claim) (model.Result, error) {
	v := s.Vars()
	paused := v.Paused
	v.Paused = 0
	s.SetVars(v)
	r, err := model.Apply(s, a)
	v = s.Vars()
	v.Paused = paused
	s.SetVars(v)
	return r, err
}

func keepRunLease(s model.Store, a model.SetPriority, _ model.Result) {
	if e, ok := s.NewestEntry(a.Jobs[0]); ok && e.Waiting() && e.Lease > 0 {
		s.DropEntry(e)
		e.Lease--
		s.PutEntry(e)
	}
}

func leavePosition(s model.Store, a model.MoveJob) (model.Result, error) {
	old, ok := s.NewestEntry(a.Jobs[0])
	r, err := model.Apply(s, a)
	if ok && old.Waiting() {
		s.PutEntry(old)
	}
	return r, err
}

func cancelNothing(_ model.Store, a model.Cancel) (model.Result, error) {
	return model.Cancellation{Jobs: []model.CancelledJob{{Job: a.Jobs[0], Answer: model.CancelOK}}}, nil
}

func resetLease(s model.Store, _ model.RescueStale, _ model.Result) {
	for _, e := range slices.Clone(s.Entries()) {
		if e.Waiting() {
			e.Lease = 0
			s.PutEntry(e)
		}
	}
}

func swapRollup(s model.Store, _ model.PruneQueue, r model.Result) {
	if r.(model.QueuePrune).Status == model.Pruned {
		was := s.Rollup(0)
		s.SetRollup(0, model.Rollup{Completed: was.Failed, Failed: was.Completed})
	}
}

func forgetRollup(s model.Store, _ model.PruneQueue, r model.Result) {
	if r.(model.QueuePrune).Status == model.Pruned {
		s.SetRollup(0, model.Rollup{})
	}
}

// carryNarrow leaves carried rows without a body.
func carryNarrow(s model.Store, _ model.PruneQueue, _ model.Result) {
	for _, t := range slices.Clone(s.Terminals()) {
		if t.Wide {
			s.DropTerminal(t)
			t.Wide = false
			s.AddTerminal(t)
		}
	}
}

// retryUsedUp makes a failed job wait without making room for an attempt.
func retryUsedUp(s model.Store, a model.RetryFailed, _ model.Result) {
	if e, ok := s.NewestEntry(a.Jobs[0]); ok && e.Waiting() {
		e.MaxAttempts = e.Attempt
		s.PutEntry(e)
	}
}

// failPlain gives every job a failed row.
func failPlain(s model.Store, a model.Fail) (model.Result, error) {
	policy := s.Policy(0)
	s.SetPolicy(0, model.Policy{})
	r, err := model.Apply(s, a)
	s.SetPolicy(0, policy)
	return r, err
}

func leaveFailed(s model.Store, _ model.MoveToDLQ, r model.Result) {
	for _, job := range r.(model.Moved).Jobs {
		e, _ := s.NewestEntry(job)
		s.AddTerminal(model.TerminalRow{
			Lane: e.Lane, Seq: e.Seq, Gen: e.Gen, Job: job, Lease: e.Lease + 1, Attempt: e.Attempt + 1, MaxAttempts: e.MaxAttempts, State: model.Failed,
		})
	}
}

func releaseUsedUp(s model.Store, _ model.RetryFromDLQ, r model.Result) {
	for _, job := range r.(model.Retried).Jobs {
		e, _ := s.NewestEntry(job)
		e.MaxAttempts = e.Attempt
		s.PutEntry(e)
	}
}

// deleteRunning hides a job that runs, and says so.
func deleteRunning(s model.Store, a model.DeleteTerminal, r model.Result) {
	e, _ := s.NewestEntry(a.Jobs[0])
	c, ok := s.Claim(model.AttemptID{Job: e.Job, Lease: e.Lease + 1})
	if ok && c.Outcome == model.Open {
		c.Outcome = model.Cancelled
		s.PutClaim(c)
		s.AddRemoved(model.RemovedRow{Job: c.Job, Lane: c.Lane, Gen: e.Gen})
		r.(model.Deletion).Jobs[0].Answer = model.CancelOK
	}
}

func pruneUnderProducer(s model.Store, a model.PruneQueue) (model.Result, error) {
	r, err := model.Apply(s, a)
	if r.(model.QueuePrune).Status == model.Blocked {
		v := s.Vars()
		v.Queue.Pruned++
		s.SetVars(v)
		return model.QueuePrune{Status: model.Pruned}, nil
	}
	return r, err
}

func countRefusal(s model.Store, _ model.PruneQueue, r model.Result) {
	if v := s.Vars(); r.(model.QueuePrune).Status == model.SkippedActive {
		v.NextReceipt++
		s.SetVars(v)
	}
}

func enqueueSealed(s model.Store, _ model.Enqueue, r model.Result) {
	v := s.Vars()
	if v.Queue.Sealed(v.Queue.Pruned) {
		e, _ := s.NewestEntry(r.(model.Enqueued).Jobs[0])
		s.DropEntry(e)
		e.Gen = v.Queue.Pruned
		s.PutEntry(e)
	}
}

func dropLast(s model.Store) {
	if rows := s.Entries(); len(rows) > 0 {
		s.DropEntry(rows[len(rows)-1])
	}
}

func enqueueOldSnapshot(s model.Store, a model.EnqueueTx) (model.Result, error) {
	tx, _ := s.Tx(a.Tx)
	s.PutTx(model.TxRow{ID: tx.ID, Isolation: model.ReadCommitted})
	r, err := model.Apply(s, a)
	s.PutTx(tx)
	return r, err
}

func promoteNothing(model.Store, model.Promote) (model.Result, error) { return model.Promoted{}, nil }

func leaveLease(s model.Store, a model.Complete) (model.Result, error) {
	l, waits := s.Lease(a.Attempts[0])
	r, err := model.Apply(s, a)
	if waits {
		s.PutLease(l)
	}
	return r, err
}

func rescueWaiting(s model.Store, a model.RescueStale) (model.Result, error) {
	for _, l := range slices.Clone(s.Leases()) {
		s.DropLease(l.ID())
	}
	return model.Apply(s, a)
}

func forgetEarly(s model.Store, a model.Park) (model.Result, error) {
	if row, ok := s.AttemptState(a.Attempt); ok {
		row.Early = 0
		s.PutAttemptState(row)
	}
	return model.Apply(s, a)
}

// commitNothing commits as if the transaction had completed nothing.
func commitNothing(s model.Store, a model.Commit) (model.Result, error) {
	for _, c := range s.ClosedByTx(a.Tx) {
		c.Tx, c.ClosedAt = 0, 0
		s.PutClaim(c)
	}
	return model.Apply(s, a)
}

func rescueCompleted(s model.Store, _ model.RescueStale, _ model.Result) {
	for _, tx := range s.Txs() {
		for _, c := range s.ClosedByTx(tx.ID) {
			c.Outcome = model.Rescued
			s.PutClaim(c)
		}
	}
}

func rescueNoneWhenBusy(s model.Store, a model.RescueStale) (model.Result, error) {
	for _, tx := range s.Txs() {
		if n := len(s.ClosedByTx(tx.ID)); n > 0 {
			return model.RescuedCount{Busy: n}, nil
		}
	}
	return model.Apply(s, a)
}

func retryWithoutKey(s model.Store, a model.RetryFailed) (model.Result, error) {
	rows := slices.Clone(s.Uniques())
	for _, u := range rows {
		s.DropUnique(u)
	}
	r, err := model.Apply(s, a)
	for _, u := range rows {
		s.PutUnique(u)
	}
	return r, err
}
