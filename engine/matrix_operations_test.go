package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// A matrixOperation is tried on one job. It is named after its method, and what it was asked for where there are several.
type matrixOperation struct {
	name string
	run  func(*subject) string // the answer
}

// matrixOperations in the order of the file. Sweeps are given time and budget enough to take what they may.
var matrixOperations = []matrixOperation{
	{"Complete", func(s *subject) string { return s.closes(s.Complete(s.t.Context(), []engine.Receipt{s.receipt})) }},
	{"CompleteTx", func(s *subject) string { return s.completesTx(pgx.Tx.Commit) }},
	{"CompleteTx rolled back", func(s *subject) string { return s.completesTx(pgx.Tx.Rollback) }},
	{"Fail", func(s *subject) string {
		return s.closes(s.Fail(s.t.Context(), []engine.Failure{{Receipt: s.receipt, Message: "m"}}))
	}},
	{"Retry", func(s *subject) string {
		return s.closes(s.Retry(s.t.Context(), []engine.Retrial{{Receipt: s.receipt, Message: "m"}}))
	}},
	{"Snooze", func(s *subject) string {
		return s.closes(s.Snooze(s.t.Context(), []engine.Snoozing{{Receipt: s.receipt, For: time.Minute}}))
	}},
	{"Heartbeat", func(s *subject) string { return s.closes(s.Heartbeat(s.t.Context(), []engine.Receipt{s.receipt})) }},
	{"Progress", func(s *subject) string {
		return label(s.Progress(s.t.Context(), s.receipt, engine.ProgressReport{Percent: 50}))
	}},
	{"Cancel", func(s *subject) string {
		results, err := s.Cancel(s.t.Context(), []int64{s.id})
		s.must(err)
		return label(results[0].Err)
	}},
	{"Park", func(s *subject) string {
		p, err := s.Park(s.t.Context(), s.receipt, engine.Wait{Token: s.receipt.Token([16]byte{2}), Timeout: time.Minute})
		if err == nil && p.Delivered {
			return "delivered"
		}
		return label(err)
	}},
	{"Resume", func(s *subject) string {
		status, err := s.Engine.Resume(s.t.Context(), s.receipt.Token([16]byte{1}), nil)
		if err != nil {
			return label(err)
		}
		return string(status)
	}},
	{"Resume of another token", func(s *subject) string {
		status, err := s.Engine.Resume(s.t.Context(), s.receipt.Token([16]byte{3}), nil)
		if err != nil {
			return label(err)
		}
		return string(status)
	}},
	{"CallbackTimeout", func(s *subject) string { return s.rescues(s.Engine.CallbackTimeout(s.t.Context(), 10)) }},
	{"Claim", func(s *subject) string {
		attempts, err := s.Claim(s.t.Context(), s.queue, 10)
		s.must(err)
		return fmt.Sprintf("%d claimed", len(attempts))
	}},
	{"Promote", func(s *subject) string {
		s.clock.advance(2 * time.Hour)
		n, err := s.Promote(s.t.Context(), 10)
		s.must(err)
		return fmt.Sprintf("%d promoted", n)
	}},
	{"RescueStale", func(s *subject) string {
		s.clock.advance(time.Second)
		return s.rescues(s.Engine.RescueStale(s.t.Context(), 0, 10))
	}},
	{"RescueStale young", func(s *subject) string { return s.rescues(s.Engine.RescueStale(s.t.Context(), 48*time.Hour, 10)) }},
	{"RescueDeadline", func(s *subject) string { return s.rescues(s.Engine.RescueDeadline(s.t.Context(), 10)) }},
	{"RotateQueue", func(s *subject) string {
		out, err := s.RotateQueue(s.t.Context())
		s.must(err)
		return string(out.Status)
	}},
	{"RotateClaims", func(s *subject) string {
		out, err := s.RotateClaims(s.t.Context())
		s.must(err)
		return string(out.Status)
	}},
	{"RotateLeases", func(s *subject) string {
		out, err := s.RotateLeases(s.t.Context())
		s.must(err)
		return string(out.Status)
	}},
	{"PruneLeases", func(s *subject) string {
		_, err := s.RotateLeases(s.t.Context())
		s.must(err)
		out, err := s.Engine.PruneLeases(s.t.Context())
		s.must(err)
		return string(out.Status)
	}},
	{"RotateDue", func(s *subject) string {
		s.clock.advance(time.Hour)
		out, err := s.RotateDue(s.t.Context(), engine.RotationPolicy{})
		s.must(err)
		return fmt.Sprintf("%s, %s", out.Queue.Status, out.Claims.Status)
	}},
	{"PruneQueue", func(s *subject) string { return s.prunes(0) }},
	{"PruneQueue with retention", func(s *subject) string { return s.prunes(time.Hour) }},
	{"PruneQueueDue", func(s *subject) string {
		out, err := s.PruneQueueDue(s.t.Context(), 0)
		s.must(err)
		return string(out.Status)
	}},
	{"PruneClaims", func(s *subject) string {
		_, err := s.RotateClaims(s.t.Context())
		s.must(err)
		out, err := s.Engine.PruneClaims(s.t.Context())
		s.must(err)
		return string(out.Status)
	}},
	{"TrimKeys", func(s *subject) string {
		keys := func() int {
			return one[int](s.t, s.bundle, fmt.Sprintf("SELECT count(*) FROM %%s.unique_claims WHERE job_id = %d", s.id))
		}
		before := keys()
		_, err := s.TrimKeys(s.t.Context()) // those of the cells before, too
		s.must(err)
		switch {
		case before == 0:
			return "no key"
		case keys() == 0:
			return "trimmed"
		}
		return "kept"
	}},
	{"FoldCounts", func(s *subject) string {
		out, err := s.FoldCounts(s.t.Context(), 1) // which slot has something to fold, and who holds the past, depends on the cells before
		s.must(err)
		if out.Status != engine.Folded && out.Status != engine.FoldNothing && out.Status != engine.FoldPinned && out.Status != engine.FoldBlocked {
			return string(out.Status)
		}
		return "ok"
	}},
	{"CheckCounts", func(s *subject) string {
		apart, err := s.CheckCounts(s.t.Context())
		s.must(err)
		return fmt.Sprintf("%d differences", len(apart))
	}},
	{"RebuildCounts", func(s *subject) string {
		n, err := s.RebuildCounts(s.t.Context())
		s.must(err)
		return fmt.Sprintf("%d rebuilt", n)
	}},
	{"TrimLedger", func(s *subject) string {
		_, err := s.TrimLedger(s.t.Context()) // how many rows it drops depends on the cells before
		return label(err)
	}},
	{"RetryFailed by ids", func(s *subject) string { return s.retries(engine.FailedJobs{IDs: []int64{s.id}}) }},
	{"RetryFailed by queue", func(s *subject) string { return s.retries(engine.FailedJobs{Queue: s.queue}) }},
	{"RetryFailed by kind", func(s *subject) string { return s.retries(engine.FailedJobs{Kind: "k"}) }},
	{"SetDLQ", func(s *subject) string {
		// For the queue's next cell it is off again.
		return label(errors.Join(s.SetDLQ(s.t.Context(), s.queue, true), s.SetDLQ(s.t.Context(), s.queue, false)))
	}},
	{"SetShards", func(s *subject) string {
		// The lanes stay, and are claimed from ever after.
		return label(errors.Join(s.SetShards(s.t.Context(), s.queue, 3), s.SetShards(s.t.Context(), s.queue, 1)))
	}},
	{"MoveToDLQ", func(s *subject) string { return s.movesTo(engine.FailedJobs{IDs: []int64{s.id}}) }},
	{"RetryFromDLQ", func(s *subject) string { return s.releases(engine.FailedJobs{IDs: []int64{s.id}}) }},
	{"PurgeDLQ by ids", func(s *subject) string { return s.purged(engine.HeldJobs{IDs: []int64{s.id}}) }},
	{"PurgeDLQ by age", func(s *subject) string {
		s.clock.advance(time.Hour)
		return s.purged(engine.HeldJobs{OlderThan: time.Minute})
	}},
	{"DeleteTerminal", func(s *subject) string {
		results, err := s.DeleteTerminal(s.t.Context(), []int64{s.id})
		s.must(err)
		return label(results[0].Err)
	}},
	{"EnqueueUnique", func(s *subject) string {
		return s.enqueued(s.EnqueueUnique(s.t.Context(), []engine.JobParams{s.twin()}))
	}},
	{"EnqueueUniqueTx", func(s *subject) string {
		var all []engine.Enqueued
		err := pgx.BeginFunc(s.t.Context(), s.pool, func(tx pgx.Tx) (err error) {
			all, err = s.EnqueueUniqueTx(s.t.Context(), tx, s.twin())
			return err
		})
		return s.enqueued(all, err)
	}},
	{"PauseQueue", func(s *subject) string {
		s.must(s.Engine.PauseQueue(s.t.Context(), s.queue))
		attempts, err := s.Claim(s.t.Context(), s.queue, 10)
		s.must(err)
		s.must(s.Engine.ResumeQueue(s.t.Context(), s.queue))
		return fmt.Sprintf("%d claimed", len(attempts))
	}},
	{"ResumeQueue", func(s *subject) string {
		s.must(s.Engine.PauseQueue(s.t.Context(), s.queue))
		s.must(s.Engine.ResumeQueue(s.t.Context(), s.queue))
		attempts, err := s.Claim(s.t.Context(), s.queue, 10)
		s.must(err)
		return fmt.Sprintf("%d claimed", len(attempts))
	}},
	{"SetPriority", func(s *subject) string {
		results, err := s.Engine.SetPriority(s.t.Context(), []int64{s.id}, 1)
		s.must(err)
		return label(results[0].Err)
	}},
	{"MoveJob", func(s *subject) string {
		there := &subject{bundle: s.bundle, t: s.t, queue: "elsewhere"}
		s.must(s.RegisterQueue(s.t.Context(), there.queue))
		base := there.counts()
		results, err := s.Engine.MoveJob(s.t.Context(), []int64{s.id}, there.queue)
		s.must(err)
		if results[0].Err == nil {
			s.queue, s.base = there.queue, base // it is counted there now
		}
		return label(results[0].Err)
	}},
	{"Job", func(s *subject) string { return s.describe() }},
	{"JobAttempts", func(s *subject) string {
		records, err := s.JobAttempts(s.t.Context(), s.id)
		s.must(err)
		outcomes := []string{}
		for i, r := range records {
			outcomes = append(outcomes, cmp.Or(r.Outcome, "open"))
			if r.RunLease < 1 || r.Attempt < 1 || r.ClaimedAt.IsZero() || (r.ClosedAt == nil) != (r.Outcome == "") || i > 0 && records[i-1].RunLease >= r.RunLease {
				s.t.Errorf("%+v", records)
			}
		}
		return fmt.Sprint(outcomes)
	}},
	{"ListJobs", func(s *subject) string {
		all, err := s.Engine.ListJobs(s.t.Context(), engine.JobFilter{IDs: []int64{s.id}}, engine.JobPage{Limit: 10})
		s.must(err)
		j, err := s.Engine.Job(s.t.Context(), s.id)
		switch {
		case errors.Is(err, engine.ErrNotFound) && len(all) == 0:
			return "none"
		case err == nil && len(all) == 1 && reflect.DeepEqual(all[0], j):
			return "as Job"
		}
		return fmt.Sprintf("%+v, and Job says %+v", all, j)
	}},
	{"Counts", func(s *subject) string {
		now := s.counts()
		for name, n := range now {
			if n != s.base[name] {
				return name
			}
		}
		return "none"
	}},
}

// label is an error's family.
func label(err error) string {
	if err == nil {
		return "ok"
	}
	for name, family := range map[string]error{
		"stale": engine.ErrStale, "invalid": engine.ErrInvalid, "not found": engine.ErrNotFound,
		"wrong state": engine.ErrWrongState, "busy": engine.ErrBusy,
	} {
		if errors.Is(err, family) {
			return name
		}
	}
	return err.Error()
}

func (s *subject) closes(results []engine.Result, err error) string {
	if err != nil {
		return label(err)
	}
	return label(results[0].Err)
}

// completesTx completes in a transaction, and ends that.
func (s *subject) completesTx(end func(pgx.Tx, context.Context) error) string {
	tx, err := s.pool.Begin(s.t.Context())
	s.must(err)
	told := s.closes(s.CompleteTx(s.t.Context(), tx, s.receipt))
	if err := end(tx, s.t.Context()); err != nil {
		s.t.Fatalf("%s, then %v", told, err)
	}
	return told
}

func (s *subject) rescues(out engine.RescueOutcome, err error) string {
	s.must(err)
	told := fmt.Sprintf("requeued %d, failed %d, busy %d", out.Requeued, out.Failed, out.Busy)
	if out.DLQ > 0 {
		told += fmt.Sprintf(", dlq %d", out.DLQ)
	}
	return told
}

// prunes turns the ring once and prunes for as long as anything can be pruned: the first answer counts, and what is
// carried.
func (s *subject) prunes(retention time.Duration) string {
	_, err := s.RotateQueue(s.t.Context())
	s.must(err)
	var told string
	for {
		out, err := s.Engine.PruneQueue(s.t.Context(), retention)
		s.must(err)
		if out.Status != engine.Pruned {
			if told == "" {
				told = string(out.Status)
			}
			return told
		}
		told = string(out.Status)
		if out.CarriedFailedRows > 0 {
			return fmt.Sprintf("%s, %d carried", out.Status, out.CarriedFailedRows)
		}
	}
}

func (s *subject) retries(which engine.FailedJobs) string {
	out, err := s.RetryFailed(s.t.Context(), which, 10)
	s.must(err)
	return fmt.Sprintf("%d of %d", len(out.Retried), out.Matched)
}

func (s *subject) movesTo(which engine.FailedJobs) string {
	out, err := s.MoveToDLQ(s.t.Context(), which, 10)
	s.must(err)
	return fmt.Sprintf("%d of %d", len(out.Moved), out.Matched)
}

func (s *subject) releases(which engine.FailedJobs) string {
	out, err := s.RetryFromDLQ(s.t.Context(), which, 10)
	s.must(err)
	return fmt.Sprintf("%d of %d", len(out.Retried), out.Matched)
}

func (s *subject) purged(which engine.HeldJobs) string {
	gone, err := s.PurgeDLQ(s.t.Context(), which, 10)
	s.must(err)
	return fmt.Sprintf("%d purged", len(gone))
}

// enqueued keeps the jobs that were made, for the counts and the end.
func (s *subject) enqueued(all []engine.Enqueued, err error) string {
	s.must(err)
	if all[0].Existing {
		return "existing"
	}
	s.others = append(s.others, all[0].ID)
	return "new"
}

// describe says what Job knows beyond the state.
func (s *subject) describe() string {
	j, err := s.Engine.Job(s.t.Context(), s.id)
	if err != nil {
		return label(err)
	}
	told := string(j.State)
	for _, part := range []struct {
		name  string
		known bool
	}{
		{"claimed_at", j.ClaimedAt != nil},
		{"deadline_at", j.DeadlineAt != nil},
		{"heartbeat_at", j.HeartbeatAt != nil},
		{"percent", j.Percent != nil},
		{"callback", j.Callback != nil},
		{"timeout_at", j.TimeoutAt != nil},
		{"run_at", j.RunAt != nil},
		{"finalized_at", j.FinalizedAt != nil},
		{"errors", len(j.Errors) > 0},
	} {
		if part.known {
			told += " " + part.name
		}
	}
	return told
}
