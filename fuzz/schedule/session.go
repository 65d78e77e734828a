package schedule

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/fuzz"
	"github.com/awa-engine/awa/model"
)

// A session is a process of the scenario: an engine with a pool of its own, whose connections are gates. It runs one
// operation at a time.
type session struct {
	index int
	stage *stage
	pool  *pgxpool.Pool
	run   atomic.Pointer[run] // nil: the gates are open

	mu    sync.Mutex
	gates []*gate

	// Of the run, used by the session's goroutine alone.
	engine *engine.Engine
	now    atomic.Int64
	txs    map[int]pgx.Tx
}

// sessionConnections is one for a caller's transaction, one for the engine, and one to spare.
const sessionConnections = 3

func newSession(ctx context.Context, st *stage, index int) (*session, error) {
	s := &session{index: index, stage: st}
	cfg, err := pgxpool.ParseConfig(st.dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = sessionConnections
	cfg.ConnConfig.StatementCacheCapacity = 4096
	cfg.ConnConfig.AfterNetConnect = func(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		g := newGate(conn, s)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gates = append(s.gates, g)
		return g, nil
	}
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		if g, ok := conn.PgConn().Conn().(*gate); ok {
			g.pid.Store(int32(conn.PgConn().PID()))
		}
		return nil
	}
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	if s.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	return s, s.connect(ctx)
}

// connect opens all connections of the pool, so that none is opened under a schedule.
func (s *session) connect(ctx context.Context) error {
	var conns []*pgxpool.Conn
	defer func() {
		for _, c := range conns {
			c.Release()
		}
	}()
	for range sessionConnections {
		c, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		conns = append(conns, c)
	}
	return nil
}

// pids are the server processes of the session.
func (s *session) pids() []int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pids []int32
	for _, g := range s.gates {
		pids = append(pids, g.pid.Load())
	}
	return pids
}

// open starts the session's process anew: what an engine remembers is of one run.
func (s *session) open(ctx context.Context, wait time.Duration) error {
	s.txs = map[int]pgx.Tx{}
	if s.stage.scenario.bare {
		return nil
	}
	var err error
	s.engine, err = engine.Open(ctx, s.pool, engine.Config{
		Schema:                 s.stage.schema,
		Now:                    func() time.Time { return logicalTime(s.now.Load()) },
		MaintenanceLockTimeout: wait,
		CarryLimit:             1, // so that scenarios of two failed rows carry them before the exclusive locks
	})
	for _, queue := range s.stage.scenario.World.Queues {
		if err == nil {
			err = s.engine.RegisterQueue(ctx, queue)
		}
	}
	return err
}

// await holds a statement until the scheduler lets it go; false means that the connection was closed meanwhile.
func (s *session) await(g *gate, u unit) bool {
	r := s.run.Load()
	if r == nil {
		return true
	}
	a := &arrival{gate: g, unit: u, permit: make(chan struct{})}
	select {
	case r.events <- event{session: s.index, arrival: a}:
	case <-r.freed:
		return true
	case <-g.closed:
		return false
	}
	select {
	case <-a.permit:
		return true
	case <-r.freed:
		return true
	case <-g.closed:
		return false
	}
}

// prepares notes that a connection meets a statement for the first time. Preparing takes locks on its tables, before the
// gate: the run is no schedule, and has to be run again.
func (s *session) prepares() {
	if r := s.run.Load(); r != nil {
		r.prepared.Store(true)
	}
}

// close rolls back what the session left open.
func (s *session) end(ctx context.Context) {
	for _, tx := range s.txs {
		_ = tx.Rollback(ctx) // a failure closes the connection, which ends the transaction
	}
}

// epoch is logical time 0.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func logicalTime(n int64) time.Time { return epoch.Add(time.Duration(n) * time.Second) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// errPassedOver: the operation names an attempt that this schedule hasn't handed out, or a transaction that isn't open.
var errPassedOver = errors.New("what the operation is about isn't there")

var isolationLevels = map[model.Isolation]pgx.TxIsoLevel{
	model.ReadCommitted: pgx.ReadCommitted, model.RepeatableRead: pgx.RepeatableRead, model.Serializable: pgx.Serializable,
}

// apply runs one operation on the engine.
func (s *session) apply(ctx context.Context, op Operation) (a Answer, err error) {
	e, sequence := s.engine, op.Sequence
	switch op := op.Action.(type) {
	case nil:
		return Answer{}, s.applyOther(ctx, sequence)
	case model.Enqueue:
		s.now.Store(int64(op.Now))
		jobs := jobParams(op.Queue, op.Priority, op.Count, op.Attempts, op.RunAt, op.Limit, op.Ordering)
		if op.Unique != 0 {
			return enqueued(e.EnqueueUnique(ctx, fuzz.WithKey(jobs, op.Unique, op.Held, 0)))
		}
		if op.Count > 1 {
			a.Jobs, err = e.EnqueueMany(ctx, jobs)
			return a, err
		}
		id, err := e.Enqueue(ctx, jobs[0])
		return Answer{Jobs: []int64{id}}, err
	case model.Begin:
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: isolationLevels[op.Isolation]})
		s.txs[op.Tx] = tx
		return a, err
	case model.EnqueueTx:
		tx, open := s.txs[op.Tx]
		if !open {
			return a, errPassedOver
		}
		s.now.Store(int64(op.Now))
		jobs := jobParams(op.Queue, op.Priority, op.Count, op.Attempts, op.RunAt, op.Limit, op.Ordering)
		if op.Unique != 0 {
			return enqueued(e.EnqueueUniqueTx(ctx, tx, fuzz.WithKey(jobs, op.Unique, op.Held, 0)...))
		}
		a.Jobs, err = e.EnqueueTx(ctx, tx, jobs...)
		return a, err
	case model.Commit:
		tx, open := s.txs[op.Tx]
		if !open {
			return a, errPassedOver
		}
		delete(s.txs, op.Tx)
		return a, tx.Commit(ctx)
	case model.Rollback:
		tx, open := s.txs[op.Tx]
		if !open {
			return a, errPassedOver
		}
		delete(s.txs, op.Tx)
		return a, tx.Rollback(ctx)
	case model.Claim:
		s.now.Store(int64(op.Now))
		attempts, err := e.Claim(ctx, op.Queue, op.Limit)
		for _, at := range attempts {
			a.Handouts = append(a.Handouts, Handout{Job: at.Receipt.JobID(), Lease: int(at.Receipt.RunLease()), Attempt: at.Attempt})
			s.stage.learn(at.Receipt)
		}
		return a, err
	}
	return s.applyRest(ctx, op)
}

// applyOther runs what is no action of the model: an installation, or an operator's transaction that alters a sequence.
func (s *session) applyOther(ctx context.Context, sequence string) error {
	if sequence == "" {
		w := s.stage.scenario.World
		return engine.Migrate(ctx, s.pool, engine.Config{Schema: s.stage.schema, QueueSlots: w.QueueSlots, ClaimSlots: w.ClaimSlots, LeaseSlots: w.LeaseSlots})
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "ALTER SEQUENCE "+s.stage.table(sequence)+" OWNED BY NONE")
		return err
	})
}

// applyClose runs what closes attempts.
func (s *session) applyClose(ctx context.Context, op Operation, attempts []model.AttemptID) (a Answer, err error) {
	receipts, err := s.stage.receiptsOf(attempts)
	if err != nil {
		return a, err
	}
	e := s.engine
	switch op := op.Action.(type) {
	case model.Complete:
		s.now.Store(int64(op.Now))
		results, err := e.Complete(ctx, receipts)
		return closed(results, engine.JobCompleted), err
	case model.CompleteTx:
		tx, open := s.txs[op.Tx]
		if !open {
			return a, errPassedOver
		}
		s.now.Store(int64(op.Now))
		results, err := e.CompleteTx(ctx, tx, receipts...)
		return closed(results, engine.JobCompleted), err
	case model.Fail:
		s.now.Store(int64(op.Now))
		results, err := e.Fail(ctx, failures(receipts))
		return closed(results, engine.JobFailed), err
	case model.Retry:
		s.now.Store(int64(op.Now))
		var retrials []engine.Retrial
		for _, r := range receipts {
			retrials = append(retrials, engine.Retrial{Receipt: r, Message: "no", After: seconds(op.Delay)})
		}
		results, err := e.Retry(ctx, retrials)
		return closed(results, engine.JobRetryable), err
	case model.Snooze:
		s.now.Store(int64(op.Now))
		var snoozings []engine.Snoozing
		for _, r := range receipts {
			snoozings = append(snoozings, engine.Snoozing{Receipt: r, For: seconds(op.Delay)})
		}
		results, err := e.Snooze(ctx, snoozings)
		return closed(results, engine.JobScheduled), err
	}
	return a, fmt.Errorf("a session can't run %s", op)
}

// applyRest runs maintenance.
func (s *session) applyRest(ctx context.Context, op Operation) (a Answer, err error) {
	if attempts, closes := model.Closes(op.Action); closes {
		return s.applyClose(ctx, op, attempts)
	}
	e := s.engine
	switch op := op.Action.(type) {
	case model.Heartbeat:
		return s.heartbeat(ctx, op)
	case model.Park, model.Resume, model.CallbackTimeout, model.RotateLeases, model.PruneLeases:
		return s.waits(ctx, op)
	case model.Promote:
		s.now.Store(int64(op.Now))
		a.Promoted, err = e.Promote(ctx, op.Limit)
	case model.RescueStale:
		s.now.Store(int64(op.Now))
		out, err := e.RescueStale(ctx, seconds(op.Older), op.Limit)
		return Answer{Requeued: out.Requeued, Failed: out.Failed, Held: out.DLQ, Busy: out.Busy}, err
	case model.RescueDeadline:
		s.now.Store(int64(op.Now))
		out, err := e.RescueDeadline(ctx, op.Limit)
		return Answer{Requeued: out.Requeued, Failed: out.Failed, Held: out.DLQ, Busy: out.Busy}, err
	case model.RotateQueue:
		s.now.Store(int64(op.Now))
		out, err := e.RotateQueue(ctx)
		return Answer{Status: model.Status(out.Status)}, err
	case model.RotateClaims:
		s.now.Store(int64(op.Now))
		out, err := e.RotateClaims(ctx)
		return Answer{Status: model.Status(out.Status)}, err
	case model.PruneQueue:
		s.now.Store(int64(op.Now))
		out, err := e.PruneQueue(ctx, seconds(op.Retention))
		return Answer{Status: model.Status(out.Status), Carried: out.CarriedFailedRows}, err
	case model.Cancel:
		s.now.Store(int64(op.Now))
		a.Cancelled, err = e.Cancel(ctx, s.stage.idsOf(op.Jobs))
		return a, err
	case model.PruneClaims:
		s.now.Store(int64(op.Now))
		out, err := e.PruneClaims(ctx)
		return Answer{Status: model.Status(out.Status)}, err
	case model.CountsOf:
		c, err := e.Counts(ctx, op.Queue)
		return Answer{Counts: fuzz.ModelCounts(c)}, err
	default:
		return s.operate(ctx, op)
	}
	return a, err
}

// operate runs what operators do, and what is left.
func (s *session) operate(ctx context.Context, action model.Action) (a Answer, err error) {
	e := s.engine
	switch op := action.(type) {
	case model.PauseQueue:
		s.now.Store(int64(op.Now))
		err = e.PauseQueue(ctx, op.Queue)
	case model.ResumeQueue:
		err = e.ResumeQueue(ctx, op.Queue)
	case model.TrimKeys:
		a.Trimmed, err = e.TrimKeys(ctx)
	case model.FoldCounts:
		out, err := e.FoldCounts(ctx, 1)
		return Answer{Status: model.Status(out.Status)}, err
	case model.TrimLedger:
		_, err = e.TrimLedger(ctx)
	case model.RetryFailed:
		s.now.Store(int64(op.Now))
		out, err := e.RetryFailed(ctx, engine.FailedJobs{Queue: op.Queue, Kind: op.Kind, IDs: s.stage.idsOf(op.Jobs)}, op.Limit)
		a = Answer{Retried: out.Retried, Matched: out.Matched, PrunedFailed: -1}
		if out.PrunedFailedCount != nil {
			a.PrunedFailed = int(*out.PrunedFailedCount)
		}
		return a, err
	case model.SetShards:
		err = e.SetShards(ctx, op.Queue, op.Shards)
	case model.SetDLQ:
		err = e.SetDLQ(ctx, op.Queue, op.On == 1)
	case model.MoveToDLQ:
		s.now.Store(int64(op.Now))
		out, err := e.MoveToDLQ(ctx, engine.FailedJobs{Queue: op.Queue, Kind: op.Kind, IDs: s.stage.idsOf(op.Jobs)}, op.Limit)
		return Answer{Retried: out.Moved, Matched: out.Matched}, err
	case model.RetryFromDLQ:
		s.now.Store(int64(op.Now))
		out, err := e.RetryFromDLQ(ctx, engine.FailedJobs{Queue: op.Queue, Kind: op.Kind, IDs: s.stage.idsOf(op.Jobs)}, op.Limit)
		return Answer{Retried: out.Retried, Matched: out.Matched, PrunedFailed: -1}, err
	case model.PurgeDLQ:
		s.now.Store(int64(op.Now))
		a.Purged, err = e.PurgeDLQ(ctx, engine.HeldJobs{OlderThan: seconds(op.Older), IDs: s.stage.idsOf(op.Jobs)}, op.Limit)
	case model.SetPriority:
		a.Cancelled, err = e.SetPriority(ctx, s.stage.idsOf(op.Jobs), op.Priority)
	case model.MoveJob:
		a.Cancelled, err = e.MoveJob(ctx, s.stage.idsOf(op.Jobs), op.Queue)
	case model.DeleteTerminal:
		a.Cancelled, err = e.DeleteTerminal(ctx, s.stage.idsOf(op.Jobs))
	default:
		err = fmt.Errorf("a session can't run %s", op)
	}
	return a, err
}

func failures(receipts []engine.Receipt) (all []engine.Failure) {
	for _, r := range receipts {
		all = append(all, engine.Failure{Receipt: r, Message: "no"})
	}
	return all
}

func (s *session) heartbeat(ctx context.Context, op model.Heartbeat) (a Answer, err error) {
	s.now.Store(int64(op.Now))
	receipts, err := s.stage.receiptsOf(op.Attempts)
	if err != nil {
		return a, err
	}
	results, err := s.engine.Heartbeat(ctx, receipts)
	a = closed(results, "")
	for _, r := range results {
		a.Closing = append(a.Closing, errors.Is(r.Err, engine.ErrClosing))
	}
	return a, err
}

// closed tells results; to is where the jobs were to go.
func closed(results []engine.Result, to engine.JobState) (a Answer) {
	for _, r := range results {
		a.Closed = append(a.Closed, model.ClosedAttempt{
			Stale: engine.Stale(r.Err), Failed: r.Err == nil && r.State == engine.JobFailed && to != engine.JobFailed,
			DLQ: r.Err == nil && r.State == engine.JobDLQ,
		})
	}
	return a
}

// enqueued is the answer of an enqueue with a key: all jobs of the call are one.
func enqueued(answers []engine.Enqueued, err error) (a Answer, _ error) {
	for i, one := range answers {
		a.Jobs = append(a.Jobs, one.ID)
		a.Existing = one.Existing && (i == 0 || a.Existing)
	}
	return a, err
}

func jobParams(queue string, priority, count, attempts, runAt, limit, ordering int) []engine.JobParams {
	jobs := make([]engine.JobParams, count)
	for i := range jobs {
		jobs[i] = engine.JobParams{Queue: queue, Kind: "k", Priority: priority, MaxAttempts: attempts, OwnClaim: limit == model.OwnClaim, TimeLimit: seconds(max(limit, 0))}
		if ordering != 0 {
			jobs[i].OrderingKey = model.OrderingKey(ordering)
		}
		if runAt != 0 {
			jobs[i].RunAt = logicalTime(int64(runAt))
		}
	}
	return jobs
}
