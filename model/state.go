package model

import (
	"fmt"
	"slices"
)

// Priorities is how many priorities a queue has: 1, handed out first, to 4.
const Priorities = 4

// Config is what never changes in the life of a state.
type Config struct {
	// QueueSlots, ClaimSlots and LeaseSlots are how many child tables each ring has; LeaseSlots left out is 2.
	QueueSlots, ClaimSlots, LeaseSlots int
	// Queues are the registered queues, in the order that numbers their lanes.
	Queues []string
	// Shards are how many shards a queue may ever have, at most; left out, 1. How many it has, its [Policy] says.
	Shards int
	// Deadlines are how long an attempt of each queue may take, in the order of Queues; 0, or left out, is no bound.
	Deadlines []int
	// Agings are how long a job of each queue waits for a step of priority, in the order of Queues; 0, or left out: waiting
	// gains none.
	Agings []int
}

func (c *Config) leaseSlots() int {
	if c.LeaseSlots == 0 {
		return 2
	}
	return c.LeaseSlots
}

// deadline is when an attempt that begins now has to be over: a limit of the job's own goes before the queue's. 0 is
// never.
func (c *Config) deadline(lane, limit, now int) int {
	if queue := c.QueueOf(lane); limit <= 0 && queue < len(c.Deadlines) {
		limit = c.Deadlines[queue]
	}
	if limit <= 0 {
		return 0
	}
	return now + limit
}

// Lanes is how many lanes the queues have together.
func (c *Config) Lanes() int { return len(c.Queues) * c.LanesOfQueue() }

func (c *Config) shards() int { return max(c.Shards, 1) }

// LanesOfQueue is how many lanes each queue has.
func (c *Config) LanesOfQueue() int { return Priorities * c.shards() }

// Lane numbers the first lane of a queue and a priority: queue by queue, the first priority first, shard by shard.
// ok is false when there is no such lane.
func (c *Config) Lane(queue string, priority int) (lane int, ok bool) {
	return c.ShardLane(queue, priority, 0)
}

// ShardLane numbers the lane of a queue, a priority and a shard.
func (c *Config) ShardLane(queue string, priority, shard int) (lane int, ok bool) {
	q := slices.Index(c.Queues, queue)
	if q < 0 || priority < 1 || priority > Priorities || shard < 0 || shard >= c.shards() {
		return 0, false
	}
	return c.laneAt(q, priority, shard), true
}

func (c *Config) laneAt(queue, priority, shard int) int {
	return (queue*Priorities+priority-1)*c.shards() + shard
}

// QueueOf is the queue of a lane, by its place in Queues.
func (c *Config) QueueOf(lane int) int { return lane / c.LanesOfQueue() }

// PriorityOf is the priority of a lane.
func (c *Config) PriorityOf(lane int) int { return lane/c.shards()%Priorities + 1 }

// ShardOf is the shard of a lane, from 0.
func (c *Config) ShardOf(lane int) int { return lane % c.shards() }

// LaneName is the lane as people write it, "a/2", and "a/2/1" in a shard that isn't the first.
func (c *Config) LaneName(lane int) string {
	name := fmt.Sprintf("%s/%d", c.Queues[c.QueueOf(lane)], c.PriorityOf(lane))
	if shard := c.ShardOf(lane); shard > 0 {
		name += fmt.Sprintf("/%d", shard)
	}
	return name
}

// Ring is N child tables used in turn. The slot of a generation is generation mod N, so a row is always
// placed by its generation: a slot number alone would confuse two laps (hazard 3).
//
// With four slots, generation 6 and pruned 4:
//
//	generation   0 1 2 3   4 5    6         7
//	             pruned    sealed current   next
//	slot         0 1 2 3   0 1    2         3: free, for 3 is pruned
type Ring struct {
	// Generation is being written. Rows live only in generations Pruned to Generation.
	Generation int
	// Pruned is the first generation not yet truncated: all before it are. The generations from Pruned up to,
	// not including, Generation are sealed.
	//
	// Invariant: 0 <= Pruned <= Generation < Pruned + N. A rotation past that would write into a slot that
	// still holds a sealed generation.
	Pruned int
}

// Sealed says whether a generation was rotated away from and not yet pruned.
func (r Ring) Sealed(gen int) bool { return r.Pruned <= gen && gen < r.Generation }

// Vars are the single numbers of a state: the three rings and what the sequences will give next. In a database a ring's
// cursor is the newest row of its ledger, since rows are only added there as well.
type Vars struct {
	Queue, Claims, Leases Ring
	// A number that a rolled back transaction took is never given again, as in a database.
	NextJob, NextBatch, NextReceipt int
	// Paused has a bit for each queue that an operator has paused, in the order of Config.Queues.
	Paused int
}

// Pauses says whether the queue is paused.
func (v Vars) Pauses(c *Config, queue string) bool {
	q := slices.Index(c.Queues, queue)
	return q >= 0 && v.paused(q)
}

func (v Vars) paused(queue int) bool { return v.Paused>>queue&1 == 1 }

// Rollup is a queue's permanent count of what pruning removed. It never decreases (P2).
type Rollup struct{ Completed, Failed int }

// AttemptID, in text job/run_lease, names one attempt for ever: run_lease never falls or resets, so the pair is never used again (P3).
type AttemptID struct{ Job, Lease int }

// EntryRow is a ready row. A job that becomes available again is a new row with a new Seq; the old row stays
// where it is, handed out, until its generation is pruned.
type EntryRow struct {
	Lane, Seq int
	Gen       int // the queue generation that holds the row
	Job       int
	// Lease and Attempt are the values before this row's claim: its claim gets each plus one.
	Lease, Attempt int
	MaxAttempts    int
	// Tx is the caller's open transaction that wrote the row, 0 once it is committed. An uncommitted row is
	// seen by nobody (P1), and keeps its generation from being pruned (P5).
	Tx int
	// Batch is the attempt evidence: the claim batch that handed the row out, or a number of the same sequence for a
	// position that was spent without a claim; 0 while it waits. It is written
	// once, and the only thing that says whether a row may be claimed (hazard 1).
	Batch int
	// Limit is the job's own time limit, as in [Enqueue]; one that isn't 0 makes the row's claim row-local.
	Limit int
	// Since is when the job became available, in this row or in one that it was moved from: what its waiting counts from.
	Since int
}

// Visible says whether the row is committed.
func (e EntryRow) Visible() bool { return e.Tx == 0 }

// Waiting says whether a claim may hand the row out.
func (e EntryRow) Waiting() bool { return e.Tx == 0 && e.Batch == 0 }

// Outcome is how a claim ended; Open while it did not.
type Outcome uint8

// The outcomes of this slice. All but Open are closures, and a closure is written once.
const (
	Open Outcome = iota
	Completed
	Failed
	Rescued
	DeadlineExpired
	TriedAgain // by Retry: "retried"
	Snoozed
	Cancelled
	CallbackTimedOut // the answer that a parked attempt waited for didn't come in time
	DeadLettered     // by Fail, or by Retry out of attempts: "dlq"
)

var outcomeNames = [...]string{"open", "completed", "failed", "rescued", "deadline_expired", "retried", "snoozed", "cancelled", "callback_timeout", "dlq"}

func (o Outcome) String() string { return outcomeNames[o] }

// ClaimRow is the record that an attempt was handed out, with its closure beside it.
//
// It never changes but for its closure, which is another row in a database. While it is there, it answers for its
// attempt: open, or over and how. Once it is pruned the attempt is over, since only closed claims are pruned.
type ClaimRow struct {
	Receipt int // its identity, in hand-out order over all queues
	Batch   int // the call's batch that it belongs to: one for each lane and ready generation
	Gen     int // the claim generation that holds the row
	// Lane, Seq and ReadyGen place the ready row. An open claim keeps ReadyGen from being pruned, since its
	// outcome will live there.
	Lane, Seq, ReadyGen int
	// Lease and Attempt are those of this attempt: one more than the ready row has.
	Job, Lease, Attempt int
	MaxAttempts         int
	ClaimedAt           int // what a rescue compares its cutoff with: in this slice the only sign of life
	Outcome             Outcome
	// Local is 1 for a row-local claim, which is a batch of its own; 0 for one of a batch. The closure has the same
	// shape, so it needs no column.
	Local int
	// Tx is the caller's open transaction that has completed the attempt, at ClosedAt; 0 for none. To everybody else the
	// attempt is open, but nobody can close it before that transaction ends, nor any other of its batch (P3).
	Tx, ClosedAt int
	// Deadline is when the attempt has to be over, 0 for never. All of a batch share it.
	Deadline int
}

// ID is the attempt that the claim handed out.
func (c ClaimRow) ID() AttemptID { return AttemptID{c.Job, c.Lease} }

// AttemptRow is what a running attempt has told of itself. There is none of an attempt that is over.
type AttemptRow struct {
	Job, Lease int
	Heartbeat  int // the newest
	Percent    int // of its work that is done, as last told
	// Leased says that the attempt was parked once: whoever closes it then has a lease to look for, and its success isn't
	// compact history.
	Leased bool
	// Early are the callbacks that came before their park, a bit for each token: kept until the park asks (hazard 33).
	Early int
	// Callback is the token of the callback that was delivered last, 0 for none.
	Callback int
}

// LeaseRow is a parked attempt, which waits for an answer from outside: there is one exactly while it waits. Sequential
// waits of one attempt are rows one after the other, each in the generation that was current at its park (hazard 6).
type LeaseRow struct {
	Job, Lease int
	Lane       int
	Gen        int // the lease generation that holds the row
	Token      int // whose callback ends the wait
	Timeout    int // when the wait has to be over, 0 for never
}

// ID is the attempt that waits.
func (l LeaseRow) ID() AttemptID { return AttemptID{l.Job, l.Lease} }

// ID is the attempt that the row is of.
func (a AttemptRow) ID() AttemptID { return AttemptID{a.Job, a.Lease} }

// TerminalRow is a job's end, completed or failed. A narrow one lives in the generation of its ready row, which it
// needs for the job's body; a wide one has its own body, and lives where it was written.
type TerminalRow struct {
	Lane, Seq, Gen      int // those of the ready row; Gen of a wide row is its own
	Job, Lease, Attempt int // the attempt that ended it
	MaxAttempts         int
	State               Outcome // Completed, Failed or Cancelled
	FinalizedAt         int     // what a failed row's retention counts from
	Limit               int     // of the ready row, as in EntryRow
	// Leased says that a success is a row of its own, since its attempt had a lease; it is compact otherwise.
	Leased bool
	// Wide says that the row needs no ready row: a prune has carried it on, or its job was cancelled outside of the ring.
	// It stays wide, and a failed one is carried again.
	Wide bool
}

// place is where the row says that its job is.
func (t TerminalRow) place() JobState {
	switch t.State {
	case Failed:
		return JobFailed
	case Cancelled:
		return JobCancelled
	}
	return JobCompleted
}

// Policy is what an operator has decided for a queue.
type Policy struct {
	// DLQ is 1 when jobs of the queue that fail are held for an operator instead of getting a failed row.
	DLQ int
	// Shards are over how many shards jobs that come are spread; 0 is 1. Others may still have jobs.
	Shards int
}

func (p Policy) shards() int { return max(p.Shards, 1) }

// DLQRow is a failed job that is held for an operator: in no ring, so that no prune takes it, with a body of its own.
type DLQRow struct {
	Job, Lane      int
	Lease, Attempt int // of the attempt that ended it
	MaxAttempts    int
	FinalizedAt    int // when it failed
	At             int // when it came here: what its retention counts from
	Limit          int // as in EntryRow
}

// RemovedRow says that an operator has taken a job's end away, so that nobody takes the job for lost. It stands in a
// generation that is pruned no sooner than any ready row of the job: once both are gone nothing asks for it.
type RemovedRow struct{ Job, Lane, Gen int }

// DeferredRow is a job that is in no ring: it may not run before RunAt, first or again, or was written by a caller's transaction whose
// snapshot is too old to check a ring's cursor, and is due at once.
type DeferredRow struct {
	Job, Lane      int
	Lease, Attempt int // as they will be in the ready row
	MaxAttempts    int
	State          JobState // JobScheduled or JobRetryable: why it waits
	RunAt          int      // when it is due
	Limit          int      // as in EntryRow
	Tx             int      // as in EntryRow
}

// Isolation is a caller's transaction's isolation level.
type Isolation string

// The levels that a caller may come with. PostgreSQL's fourth, READ UNCOMMITTED, is its READ COMMITTED.
const (
	ReadCommitted  Isolation = "rc"
	RepeatableRead Isolation = "rr"
	Serializable   Isolation = "ser"
)

// TxRow is a caller's transaction that is open.
type TxRow struct {
	ID        int
	Isolation Isolation
}
