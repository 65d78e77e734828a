package model

// Action is one operation with its arguments: one line of the operation format. The set is closed; the name and
// the keys of a line are the same in the engine's traces, the specs and here.
//
// Now is logical time. Nothing else tells an action what time it is, so a saved line means the same for ever.
type Action interface {
	Name() string
	String() string
	apply(Store) (Result, error)
}

// Enqueue adds Count jobs in a transaction of its own, at the end of one lane, visible at once (P1, P5). Jobs that may
// not run before RunAt are deferred until then.
//
// The answer is [Enqueued]. Disabled without such a lane, or with a count or attempts less than 1.
type Enqueue struct {
	Queue    string
	Priority int // 1 to Priorities; 1 is handed out first
	Count    int
	Attempts int // max_attempts of each job
	RunAt    int // optional; only a time after Now says anything
	// Unique, when it isn't 0, is a key that one job holds: all of the call are that job, which may be there already. Held
	// are the terminal states in which it keeps the key. The answer is [UniqueBusy] where another transaction has taken it.
	Unique, Held int
	Now          int
	// Limit is each job's own time limit, which makes its claims row-local: 0 for none, OwnClaim for a claim of its own
	// without one.
	Limit int
	// Ordering, when it isn't 0, is a key: of a call's jobs and all others with the same key each comes into one shard of its
	// priority, as long as the queue has as many shards. Without one the queue must have one shard: which it would be else is
	// a process's choice.
	Ordering int
}

// OwnClaim stands where a time limit stands: the job's claims are row-local, its deadline is its queue's.
const OwnClaim = -1

// Begin opens a caller's transaction, under a number that is free until it ends.
//
// The answer is [OK]. Disabled while that number is open.
type Begin struct {
	Tx        int
	Isolation Isolation
}

// EnqueueTx adds jobs in a caller's transaction: their ids and their places in the lane are taken now, but nobody
// sees them before Commit (P1). An older snapshot than READ COMMITTED defers them all, due at Now if not at RunAt.
//
// The answer is [Enqueued]. Disabled as Enqueue is, and when the transaction isn't open.
type EnqueueTx struct {
	Tx       int
	Queue    string
	Priority int
	Count    int
	Attempts int
	RunAt    int
	// Unique and Held are those of [Enqueue]; an older snapshot than READ COMMITTED can't see who holds a key, which the
	// server refuses, so that it is disabled there.
	Unique, Held int
	Now          int
	Limit        int // as in Enqueue
	Ordering     int // as in Enqueue
}

// Commit ends a caller's transaction: its jobs exist. The answer is [OK]; disabled when it isn't open.
type Commit struct{ Tx int }

// Rollback ends a caller's transaction: its jobs never existed. The answer is [OK]; disabled when it isn't open.
type Rollback struct{ Tx int }

// Promote moves up to Limit deferred jobs that are due at Now to the end of their lanes, by (run_at, job).
//
// The answer is [Promoted]. Disabled with a limit less than 1.
type Promote struct{ Limit, Now int }

// Claim hands out up to Limit jobs of a queue: best priority first, in a lane by seq (P4). It waits for nobody, and an
// empty answer is an answer.
//
// The answer is [Claimed]. Disabled without such a queue, or with a limit less than 1.
type Claim struct {
	Queue      string
	Limit, Now int
}

// Complete closes attempts whose work is done, and writes their history in the same transaction.
//
// The answer is [Closed], attempt by attempt; there is nothing that disables it.
type Complete struct {
	Attempts []AttemptID
	Now      int
}

// CompleteTx completes attempts in a caller's transaction: they are done if and only if it commits. Until then it keeps the
// claims that it closes something of to itself: who else would close, park or resume there waits, which is to say that it is
// disabled; a sweep passes them over, and a heartbeat says so.
//
// The answer is [Closed]. Disabled when the transaction isn't open, when it isn't READ COMMITTED (a snapshot from before can't
// see who closed what), and where it would wait.
type CompleteTx struct {
	Tx       int
	Attempts []AttemptID
	Now      int
}

// Fail closes attempts whose work failed for good, and answers as [Complete] does.
type Fail struct {
	Attempts []AttemptID
	Now      int
}

// Retry closes attempts whose work failed and is to be tried again: the job waits, retryable, for Delay or, when that is
// 0, for [Backoff]. One that has used its attempts up fails, and is told so.
//
// The answer is [Closed], as of [Complete].
type Retry struct {
	Attempts []AttemptID
	Delay    int // optional
	Now      int
}

// Snooze closes attempts whose work is to be done later, through nobody's fault: the attempt is given back, and the job
// waits, scheduled, for Delay.
//
// The answer is [Closed], as of [Complete].
type Snooze struct {
	Attempts   []AttemptID
	Delay, Now int
}

// Cancel ends jobs that aren't over, wherever they are: one that waits in the ring or outside of it never runs again, and
// one that runs is taken from its worker, which is told that it is stale when it comes back.
//
// The answer is [Cancellation], job by job; there is nothing that disables it.
type Cancel struct {
	Jobs []int
	Now  int
}

// Heartbeat says that attempts are worked on: a new sign of life for each that is open.
//
// The answer is [Closed]: stale as there, and closing nothing; there is nothing that disables it.
type Heartbeat struct {
	Attempts []AttemptID
	Now      int
}

// Progress says how far attempts are, and is a sign of life; it answers as [Heartbeat] does.
type Progress struct {
	Attempts []AttemptID
	Percent  int
	Now      int
}

// Park lets an open attempt wait for the callback that has Token, for at most Timeout if that isn't 0. It needs no heartbeat
// while it waits. A callback that has come already is delivered at once.
//
// The answer is a [WaitAnswer]. Disabled with a token outside of 1 to [MaxToken], or a negative timeout.
type Park struct {
	Attempt AttemptID
	Token   int
	Timeout int
	Now     int
}

// Resume is the callback of an attempt's token: the wait is over, and the same attempt goes on. One that comes before its
// park is kept for it.
//
// The answer is a [WaitAnswer]. Disabled with a token outside of 1 to [MaxToken].
type Resume struct {
	Attempt AttemptID
	Token   int
	Now     int
}

// CallbackTimeout closes parked attempts whose timeout is Now or before, up to Limit of them, and routes their jobs on as
// [RescueStale] does.
//
// The answer is [RescuedCount]. Disabled with a limit less than 1.
type CallbackTimeout struct{ Limit, Now int }

// RescueStale closes attempts whose newest sign of life, the claim or a heartbeat, is before Now-Older, up to Limit of them, oldest first, and routes
// their jobs on. A parked attempt is never stale. It can't see whether a worker lives: what it closes may still be worked on, and is told so later.
//
// The answer is [RescuedCount]. Disabled with a limit less than 1.
type RescueStale struct{ Older, Limit, Now int }

// RescueDeadline closes attempts whose deadline is Now or before, up to Limit of them, whether anybody works on them
// or not, and routes their jobs on as [RescueStale] does.
//
// The answer is [RescuedCount]. Disabled with a limit less than 1.
type RescueDeadline struct{ Limit, Now int }

// RotateQueue, RotateClaims and RotateLeases move a ring on by one generation, so that the one before can be pruned one day. The
// answer is a [Status]; nothing disables them.
type (
	RotateQueue  struct{ Now int }
	RotateClaims struct{ Now int }
	RotateLeases struct{ Now int }
)

// PruneQueue truncates the oldest sealed queue generation, when it is spent. Failed rows that are younger than
// Retention are carried to the current generation (P8; 0 turns it off). The answer is a [QueuePrune]; nothing disables it.
type PruneQueue struct{ Retention, Now int }

// PruneClaims truncates the oldest sealed claim generation when each of its claims is closed. The answer is a
// [Status]; nothing disables it.
type PruneClaims struct{ Now int }

// PruneLeases truncates the oldest sealed lease generation when nobody waits in it. The answer is a [Status]; nothing
// disables it.
type PruneLeases struct{ Now int }

// RetryFailed makes failed jobs available again, up to Limit of them, lowest id first: those of a queue, or those of a
// kind (every job here is of kind "k"), or those that are named.
//
// The answer is [Retried]. Disabled with a limit less than 1, without such a queue, or unless it names exactly one of
// the three.
type RetryFailed struct {
	Queue, Kind string
	Jobs        []int
	Limit, Now  int
}

// SetDLQ decides whether jobs of a queue that fail from now on are held for an operator (On=1) or get a failed row (0).
//
// The answer is [OK]. Disabled without such a queue, or with another number.
type SetDLQ struct {
	Queue string
	On    int
}

// SetShards spreads jobs of a queue that come from now on over so many shards. Others are drained.
//
// The answer is [OK]. Disabled without such a queue, or with a number that isn't 1 to Config.Shards.
type SetShards struct {
	Queue  string
	Shards int
}

// MoveToDLQ takes failed rows out and holds their jobs for an operator: up to Limit of them, lowest id first, chosen as by
// [RetryFailed].
//
// The answer is [Moved]. Disabled as RetryFailed is.
type MoveToDLQ struct {
	Queue, Kind string
	Jobs        []int
	Limit, Now  int
}

// RetryFromDLQ makes jobs that are held available again, as [RetryFailed] does with failed ones.
//
// The answer is [Retried]. Disabled as RetryFailed is.
type RetryFromDLQ struct {
	Queue, Kind string
	Jobs        []int
	Limit, Now  int
}

// PurgeDLQ takes jobs that are held away for good, up to Limit of them: those that are named, or those that came before
// Now-Older, the first to come first.
//
// The answer is [Purged]. Disabled with a limit less than 1, or unless Older is positive or there are Jobs, and one of both.
type PurgeDLQ struct {
	Jobs              []int
	Older, Limit, Now int
}

// DeleteTerminal takes the ends of jobs away: nobody is told of them any more, and they are counted nowhere.
//
// The answer is [Deletion]; nothing disables it.
type DeleteTerminal struct{ Jobs []int }

// PauseQueue keeps a queue's jobs from being handed out, until ResumeQueue; all else goes on. The answer of both is [OK], also
// for a queue that is paused, or isn't. Disabled without such a queue.
type PauseQueue struct {
	Queue string
	Now   int
}

// ResumeQueue ends what PauseQueue began.
type ResumeQueue struct{ Queue string }

// SetPriority gives jobs that wait, available, scheduled or retryable, another priority of their queue: each comes to the end
// of its new lane, in the order of the request. One that has it already keeps its place.
//
// The answer is [Relocation], job by job. Disabled without such a priority.
type SetPriority struct {
	Jobs     []int
	Priority int
}

// MoveJob puts jobs that wait into another queue, at the priority that they have. Otherwise it is like [SetPriority].
//
// The answer is [Relocation], job by job. Disabled without such a queue.
type MoveJob struct {
	Jobs  []int
	Queue string
}

// TrimLedger forgets what no operation asks for any more: nothing that a state tells of. The answer is [OK].
type TrimLedger struct{}

// FoldCounts adds up what is kept of the numbers of ends: nothing that a state tells of, where each end is counted by being
// there. The answer is [OK].
type FoldCounts struct{}

// TrimKeys forgets the unique keys of jobs of which nothing is left. The answer is [Trimmed].
type TrimKeys struct{}

// CountsOf asks for a queue's counts; its text name is Counts. The answer is [Counts].
type CountsOf struct{ Queue string }

// JobOf asks where a job is; its text name is Job. The answer is a [JobView], also for a job that never was.
type JobOf struct{ Job int }

// JobAttempts asks for the attempts of a job that are remembered. The answer is an [AttemptHistory].
type JobAttempts struct{ Job int }

// ListJobs asks for jobs by what they are: those that have all that is given, up to Limit of them, in the order of their
// numbers and after the job After, the highest first unless OldestFirst is 1.
//
// The answer is [Listed]. Disabled with a limit less than 1, a negative After, or without such a queue.
type ListJobs struct {
	State, Queue string
	Jobs         []int
	After        int
	OldestFirst  int
	Limit        int
}

// Reopen is a new process: what it remembered (claim cursors, registered queues) is lost. All of that is hints,
// so the state doesn't change, and what the engine does next must not either.
type Reopen struct{}
