package fuzz

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/model"
)

// epoch is logical time 0.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// A system is the engine's side of a run: processes on one schema, callers' open transactions, and the names by which
// the model knows jobs and attempts.
type system struct {
	world   World
	schema  string
	pools   []*pgxpool.Pool // of the engines, one each
	callers *pgxpool.Pool   // for callers' transactions
	engines []*engine.Engine
	now     time.Time
	steps   int

	txs      map[int]pgx.Tx
	jobs     []int64       // database id of the model's job i+1
	names    map[int64]int // and back
	receipts map[model.AttemptID]engine.Receipt
}

func newSystem(ctx context.Context, w World, schema string, pools []*pgxpool.Pool, callers *pgxpool.Pool) (*system, error) {
	s := &system{
		world: w, schema: schema, pools: pools, callers: callers, now: epoch,
		txs: map[int]pgx.Tx{}, names: map[int64]int{}, receipts: map[model.AttemptID]engine.Receipt{},
	}
	return s, s.reopen(ctx)
}

// reopen replaces every process by a new one.
func (s *system) reopen(ctx context.Context) error {
	s.engines = nil
	for _, pool := range s.pools {
		e, err := engine.Open(ctx, pool, engine.Config{
			Schema:                 s.schema,
			Now:                    func() time.Time { return s.now },
			Queues:                 s.world.policies(),
			MaintenanceLockTimeout: 2 * time.Millisecond, // nobody but an open producer is ever in the way here
			CarryLimit:             1,                    // so that rows are carried in both ways
		})
		if err != nil {
			return err
		}
		s.engines = append(s.engines, e)
	}
	return nil
}

// close rolls back what callers left open.
func (s *system) close(ctx context.Context) {
	for _, tx := range s.txs {
		_ = tx.Rollback(ctx)
	}
}

// runnable says whether the operation can be asked of the engine at all: a shrunk script may name attempts or
// transactions that its shorter story no longer has.
func (s *system) runnable(a model.Action) bool {
	if attempts, closes := model.Closes(a); closes {
		return s.know(attempts)
	}
	switch a := a.(type) {
	case model.Heartbeat:
		return s.know(a.Attempts)
	case model.Progress:
		return s.know(a.Attempts) && len(a.Attempts) == 1
	case model.Park:
		return s.know([]model.AttemptID{a.Attempt})
	case model.Resume:
		return s.know([]model.AttemptID{a.Attempt})
	case model.JobOf:
		return a.Job >= 1 && a.Job <= len(s.jobs)
	case model.JobAttempts:
		return a.Job >= 1 && a.Job <= len(s.jobs)
	case model.RetryFailed:
		return s.knowJobs(a.Jobs)
	case model.Cancel:
		return s.knowJobs(a.Jobs)
	case model.MoveToDLQ:
		return s.knowJobs(a.Jobs)
	case model.RetryFromDLQ:
		return s.knowJobs(a.Jobs)
	case model.PurgeDLQ:
		return s.knowJobs(a.Jobs)
	case model.DeleteTerminal:
		return s.knowJobs(a.Jobs)
	case model.ListJobs:
		return s.knowJobs(a.Jobs) && a.After <= len(s.jobs)
	case model.SetPriority:
		return s.knowJobs(a.Jobs)
	case model.MoveJob:
		return s.knowJobs(a.Jobs)
	}
	return true
}

func (s *system) know(attempts []model.AttemptID) bool {
	for _, id := range attempts {
		if _, ok := s.receipts[id]; !ok {
			return false
		}
	}
	return true
}

func (s *system) knowJobs(jobs []int) bool {
	for _, job := range jobs {
		if job < 1 || job > len(s.jobs) {
			return false
		}
	}
	return true
}

// ids are the database's ids of jobs.
func (s *system) ids(jobs []int) []int64 {
	ids := make([]int64, len(jobs))
	for i, job := range jobs {
		ids[i] = s.jobs[job-1]
	}
	return ids
}

// namesOf are the model's names of jobs that it knows.
func (s *system) namesOf(ids []int64) []int {
	names := make([]int, len(ids))
	for i, id := range ids {
		names[i] = s.names[id]
	}
	return names
}

// apply runs the operation on the engine and answers in the model's words.
func (s *system) apply(ctx context.Context, a model.Action) (any, error) {
	e := s.engines[s.steps%len(s.engines)]
	s.steps++
	switch a := a.(type) {
	case model.Enqueue:
		s.at(a.Now)
		return s.enqueue(ctx, e, a)
	case model.Begin:
		tx, err := s.callers.BeginTx(ctx, pgx.TxOptions{IsoLevel: isolationLevels[a.Isolation]})
		s.txs[a.Tx] = tx
		return model.OK{}, err
	case model.EnqueueTx:
		s.at(a.Now)
		jobs := WithKey(jobParams(a.Queue, a.Priority, a.Count, a.Attempts, a.RunAt, a.Limit, a.Ordering), a.Unique, a.Held, time.Millisecond)
		if a.Unique != 0 {
			answers, err := e.EnqueueUniqueTx(ctx, s.txs[a.Tx], jobs...)
			return s.told(answers, err)
		}
		ids, err := e.EnqueueTx(ctx, s.txs[a.Tx], jobs...)
		return s.enqueued(ids, err)
	case model.Commit:
		tx := s.txs[a.Tx]
		delete(s.txs, a.Tx)
		return model.OK{}, tx.Commit(ctx)
	case model.Rollback:
		tx := s.txs[a.Tx]
		delete(s.txs, a.Tx)
		return model.OK{}, tx.Rollback(ctx)
	case model.Claim:
		s.at(a.Now)
		return s.claim(ctx, e, a)
	case model.Complete:
		s.at(a.Now)
		results, err := e.Complete(ctx, s.receiptsOf(a.Attempts))
		return closed(a.Attempts, results, engine.JobCompleted), err
	case model.CompleteTx:
		s.at(a.Now)
		results, err := e.CompleteTx(ctx, s.txs[a.Tx], s.receiptsOf(a.Attempts)...)
		return closed(a.Attempts, results, engine.JobCompleted), err
	case model.Fail:
		s.at(a.Now)
		var failures []engine.Failure
		for _, r := range s.receiptsOf(a.Attempts) {
			failures = append(failures, engine.Failure{Receipt: r, Message: "no"})
		}
		results, err := e.Fail(ctx, failures)
		return closed(a.Attempts, results, engine.JobFailed), err
	case model.Retry:
		s.at(a.Now)
		results, err := e.Retry(ctx, s.retrials(a))
		return closed(a.Attempts, results, engine.JobRetryable), err
	case model.Snooze:
		s.at(a.Now)
		results, err := e.Snooze(ctx, s.snoozings(a))
		return closed(a.Attempts, results, engine.JobScheduled), err
	case model.Heartbeat:
		s.at(a.Now)
		results, err := e.Heartbeat(ctx, s.receiptsOf(a.Attempts))
		return closed(a.Attempts, results, ""), err
	case model.Progress:
		return s.progress(ctx, e, a)
	case model.Reopen:
		return model.OK{}, s.reopen(ctx)
	}
	if answer, ours, err := s.wait(ctx, e, a); ours {
		return answer, err
	}
	return s.maintain(ctx, e, a)
}

func (s *system) progress(ctx context.Context, e *engine.Engine, a model.Progress) (any, error) {
	s.at(a.Now)
	err := e.Progress(ctx, s.receipts[a.Attempts[0]], engine.ProgressReport{Percent: a.Percent})
	closing := errors.Is(err, engine.ErrClosing)
	told := model.Closed{Attempts: []model.ClosedAttempt{{ID: a.Attempts[0], Stale: engine.Stale(err), Closing: closing}}}
	if engine.Stale(err) || closing {
		err = nil
	}
	return told, err
}

// maintain runs what maintenance and readers do.
func (s *system) maintain(ctx context.Context, e *engine.Engine, a model.Action) (any, error) {
	switch a := a.(type) {
	case model.Promote:
		s.at(a.Now)
		n, err := e.Promote(ctx, a.Limit)
		return promotedCount(n), err
	case model.Cancel:
		s.at(a.Now)
		results, err := e.Cancel(ctx, s.ids(a.Jobs))
		return Cancellation(a.Jobs, results), err
	case model.RescueStale:
		s.at(a.Now)
		out, err := e.RescueStale(ctx, seconds(a.Older), a.Limit)
		return rescued(out), err
	case model.RescueDeadline:
		s.at(a.Now)
		out, err := e.RescueDeadline(ctx, a.Limit)
		return rescued(out), err
	case model.RotateQueue:
		s.at(a.Now)
		out, err := e.RotateQueue(ctx)
		return model.Status(out.Status), err
	case model.RotateClaims:
		s.at(a.Now)
		out, err := e.RotateClaims(ctx)
		return model.Status(out.Status), err
	case model.PruneQueue:
		s.at(a.Now)
		out, err := e.PruneQueue(ctx, seconds(a.Retention))
		return model.QueuePrune{Status: model.Status(out.Status), Carried: out.CarriedFailedRows}, err
	case model.PauseQueue:
		s.at(a.Now)
		return model.OK{}, e.PauseQueue(ctx, a.Queue)
	case model.ResumeQueue:
		return model.OK{}, e.ResumeQueue(ctx, a.Queue)
	case model.TrimKeys:
		n, err := e.TrimKeys(ctx)
		return model.Trimmed{Rows: n}, err
	case model.FoldCounts:
		_, err := e.FoldCounts(ctx, 1)
		return model.OK{}, err
	case model.TrimLedger:
		_, err := e.TrimLedger(ctx)
		return model.OK{}, err
	case model.RetryFailed:
		s.at(a.Now)
		out, err := e.RetryFailed(ctx, engine.FailedJobs{Queue: a.Queue, Kind: a.Kind, IDs: s.ids(a.Jobs)}, a.Limit)
		r := model.Retried{Jobs: s.namesOf(out.Retried), Matched: out.Matched, PrunedFailed: -1}
		if out.PrunedFailedCount != nil {
			r.PrunedFailed = int(*out.PrunedFailedCount)
		}
		return r, err
	case model.PruneClaims:
		s.at(a.Now)
		out, err := e.PruneClaims(ctx)
		return model.Status(out.Status), err
	}
	return s.read(ctx, e, a)
}

// operate runs what an operator does with jobs that have ended or that wait.
func (s *system) operate(ctx context.Context, e *engine.Engine, a model.Action) (any, error) {
	switch a := a.(type) {
	case model.SetShards:
		return model.OK{}, e.SetShards(ctx, a.Queue, a.Shards)
	case model.SetDLQ:
		return model.OK{}, e.SetDLQ(ctx, a.Queue, a.On == 1)
	case model.MoveToDLQ:
		s.at(a.Now)
		out, err := e.MoveToDLQ(ctx, engine.FailedJobs{Queue: a.Queue, Kind: a.Kind, IDs: s.ids(a.Jobs)}, a.Limit)
		return model.Moved{Jobs: s.namesOf(out.Moved), Matched: out.Matched}, err
	case model.RetryFromDLQ:
		s.at(a.Now)
		out, err := e.RetryFromDLQ(ctx, engine.FailedJobs{Queue: a.Queue, Kind: a.Kind, IDs: s.ids(a.Jobs)}, a.Limit)
		return model.Retried{Jobs: s.namesOf(out.Retried), Matched: out.Matched, PrunedFailed: -1}, err
	case model.PurgeDLQ:
		s.at(a.Now)
		purged, err := e.PurgeDLQ(ctx, engine.HeldJobs{OlderThan: seconds(a.Older), IDs: s.ids(a.Jobs)}, a.Limit)
		return model.Purged{Jobs: s.namesOf(purged)}, err
	case model.ListJobs:
		return s.list(ctx, e, a)
	case model.SetPriority:
		results, err := e.SetPriority(ctx, s.ids(a.Jobs), a.Priority)
		return model.Relocation(Cancellation(a.Jobs, results)), err
	case model.MoveJob:
		results, err := e.MoveJob(ctx, s.ids(a.Jobs), a.Queue)
		return model.Relocation(Cancellation(a.Jobs, results)), err
	case model.DeleteTerminal:
		results, err := e.DeleteTerminal(ctx, s.ids(a.Jobs))
		return model.Deletion(Cancellation(a.Jobs, results)), err
	}
	return nil, fmt.Errorf("the engine's side doesn't know %s", a)
}

// list names the jobs of a page as the model does. Ids are given in the order of the model's numbers.
func (s *system) list(ctx context.Context, e *engine.Engine, a model.ListJobs) (any, error) {
	page := engine.JobPage{Limit: a.Limit, OldestFirst: a.OldestFirst == 1}
	if a.After != 0 {
		page.After = s.jobs[a.After-1]
	}
	which := engine.JobFilter{Queue: a.Queue, IDs: s.ids(a.Jobs)}
	if a.State != "" {
		which.States = []engine.JobState{engine.JobState(a.State)}
	}
	all, err := e.ListJobs(ctx, which, page)
	var r model.Listed
	for _, j := range all {
		lane, _ := s.world.Config().ShardLane(j.Queue, j.Priority, j.Shard)
		r.Jobs = append(r.Jobs, model.ListedJob{Job: s.names[j.ID], Lane: lane, JobView: view(j)})
	}
	return r, err
}

// view is a job in the model's words.

func (s *system) retrials(a model.Retry) (all []engine.Retrial) {
	for _, r := range s.receiptsOf(a.Attempts) {
		all = append(all, engine.Retrial{Receipt: r, Message: "no", After: seconds(a.Delay)})
	}
	return all
}

func (s *system) snoozings(a model.Snooze) (all []engine.Snoozing) {
	for _, r := range s.receiptsOf(a.Attempts) {
		all = append(all, engine.Snoozing{Receipt: r, For: seconds(a.Delay)})
	}
	return all
}

// Cancellation tells results of Cancel, or of another call that answers job by job, in the model's words, in the order of the request.
func Cancellation(asked []int, results []engine.JobResult) model.Cancellation {
	var r model.Cancellation
	for i, res := range results {
		answer := model.CancelOK
		switch {
		case errors.Is(res.Err, engine.ErrNotFound):
			answer = model.CancelNotFound
		case errors.Is(res.Err, engine.ErrWrongState):
			answer = model.CancelWrongState
		case res.Err != nil:
			answer = model.CancelAnswer(res.Err.Error())
		}
		r.Jobs = append(r.Jobs, model.CancelledJob{Job: asked[i], Answer: answer})
	}
	return r
}

// ModelCounts are the engine's counts in the model's words.
func ModelCounts(c engine.Counts) model.Counts {
	return model.Counts{
		Available: int(c.Available), Scheduled: int(c.Scheduled), Retryable: int(c.Retryable), Running: int(c.Running), Waiting: int(c.Waiting),
		Completed: int(c.Completed), Failed: int(c.Failed), Cancelled: int(c.Cancelled), DLQ: int(c.DLQ), PrunedCompleted: int(c.PrunedCompleted), PrunedFailed: int(c.PrunedFailed),
	}
}

var isolationLevels = map[model.Isolation]pgx.TxIsoLevel{
	model.ReadCommitted: pgx.ReadCommitted, model.RepeatableRead: pgx.RepeatableRead, model.Serializable: pgx.Serializable,
}

func (s *system) at(now int) { s.now = epoch.Add(seconds(now)) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// enqueue takes the three ways in turn: one job alone, many by COPY.
func (s *system) enqueue(ctx context.Context, e *engine.Engine, a model.Enqueue) (any, error) {
	jobs := WithKey(jobParams(a.Queue, a.Priority, a.Count, a.Attempts, a.RunAt, a.Limit, a.Ordering), a.Unique, a.Held, time.Millisecond)
	if a.Count > 1 {
		ids, err := e.EnqueueMany(ctx, jobs)
		return s.enqueued(ids, err)
	}
	if a.Unique != 0 && s.steps%2 == 0 {
		answers, err := e.EnqueueUnique(ctx, jobs)
		return s.told(answers, err)
	}
	id, err := e.Enqueue(ctx, jobs[0])
	return s.enqueued([]int64{id}, err)
}

// enqueued is an enqueue's answer in the model's words.
func (s *system) enqueued(ids []int64, err error) (any, error) {
	if errors.Is(err, engine.ErrUniqueBusy) {
		return model.UniqueBusy, nil
	}
	if err != nil {
		return nil, err
	}
	_, existing := s.names[ids[0]]
	return model.Enqueued{Jobs: s.learn(ids), Existing: existing}, nil
}

// told is enqueued for the answers that say by themselves which job was there; of several jobs with one key that is new,
// all but the first are that one.
func (s *system) told(answers []engine.Enqueued, err error) (any, error) {
	ids := make([]int64, len(answers))
	for i, a := range answers {
		ids[i] = a.ID
		_, known := s.names[a.ID]
		if a.Existing != (known || i > 0) {
			return nil, fmt.Errorf("job %d is said to be there already: %v, and it was: %v", a.ID, a.Existing, known)
		}
	}
	return s.enqueued(ids, err)
}

// WithKey gives the jobs a unique key, unless it is 0: in their arguments. The wait for another producer of it is bounded.
func WithKey(jobs []engine.JobParams, key, held int, wait time.Duration) []engine.JobParams {
	if key == 0 {
		return jobs
	}
	u := engine.Unique{Args: true, MaxWait: wait}
	if held&model.HeldCompleted != 0 {
		u.HeldIn = append(u.HeldIn, engine.JobCompleted)
	}
	if held&model.HeldFailed != 0 {
		u.HeldIn = append(u.HeldIn, engine.JobFailed)
	}
	if held&model.HeldDLQ != 0 {
		u.HeldIn = append(u.HeldIn, engine.JobDLQ)
	}
	for i := range jobs {
		jobs[i].Args, jobs[i].Unique = fmt.Appendf(nil, `{"key": %d}`, key), &u
	}
	return jobs
}

func jobParams(queue string, priority, count, attempts, runAt, limit, ordering int) []engine.JobParams {
	jobs := make([]engine.JobParams, count)
	for i := range jobs {
		jobs[i] = engine.JobParams{Queue: queue, Kind: "k", Priority: priority, MaxAttempts: attempts, OwnClaim: limit == model.OwnClaim, TimeLimit: seconds(max(limit, 0))}
		if ordering != 0 {
			jobs[i].OrderingKey = model.OrderingKey(ordering)
		}
		if runAt != 0 {
			jobs[i].RunAt = epoch.Add(seconds(runAt))
		}
	}
	return jobs
}

// learn gives new jobs the model's next names. Jobs of a transaction that rolls back keep theirs, as in the model.
func (s *system) learn(ids []int64) []int {
	names := make([]int, len(ids))
	for i, id := range ids {
		if name, known := s.names[id]; known { // it holds a unique key
			names[i] = name
			continue
		}
		s.jobs = append(s.jobs, id)
		s.names[id] = len(s.jobs)
		names[i] = len(s.jobs)
	}
	return names
}

func (s *system) claim(ctx context.Context, e *engine.Engine, a model.Claim) (any, error) {
	attempts, err := e.Claim(ctx, a.Queue, a.Limit)
	var r model.Claimed
	for _, at := range attempts {
		h := model.Handout{Job: s.names[at.Receipt.JobID()], Lease: int(at.Receipt.RunLease()), Attempt: at.Attempt}
		if _, again := s.receipts[h.ID()]; again {
			return r, fmt.Errorf("attempt %s was handed out a second time", h.ID())
		}
		s.receipts[h.ID()] = at.Receipt
		r.Handouts = append(r.Handouts, h)
	}
	return r, err
}

func (s *system) receiptsOf(attempts []model.AttemptID) []engine.Receipt {
	receipts := make([]engine.Receipt, len(attempts))
	for i, id := range attempts {
		receipts[i] = s.receipts[id]
	}
	return receipts
}

// closed tells results in the order of the request; to is where the jobs were to go.
func closed(asked []model.AttemptID, results []engine.Result, to engine.JobState) model.Closed {
	var r model.Closed
	for i, res := range results {
		r.Attempts = append(r.Attempts, model.ClosedAttempt{
			ID: asked[i], Stale: engine.Stale(res.Err), Closing: errors.Is(res.Err, engine.ErrClosing),
			Failed: res.Err == nil && res.State == engine.JobFailed && to != engine.JobFailed,
			DLQ:    res.Err == nil && res.State == engine.JobDLQ,
		})
	}
	return r
}

// promotedCount is all that the engine tells of a promotion: how many jobs.
type promotedCount int

// sameAnswer compares the answers of both sides.
func sameAnswer(fromModel model.Result, fromEngine any) bool {
	if n, ok := fromEngine.(promotedCount); ok {
		p, isPromoted := fromModel.(model.Promoted)
		return isPromoted && len(p.Jobs) == int(n)
	}
	return fmt.Sprint(fromModel) == fmt.Sprint(fromEngine)
}
