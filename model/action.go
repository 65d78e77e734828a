package model

// Action is one operation with its arguments: one line of the operation format. The set is closed; the name and
// the keys of a line are the same in the engine's traces, the specs and here.
//
// Now is logical time. Nothing else tells an action what time it is.
type Action interface {
	Name() string
	String() string
	apply(Store) (Result, error)
}

// Enqueue adds Count jobs in a transaction of its own.
type Enqueue struct {
	Queue    string
	Priority int
	Count    int
	Attempts int // max_attempts of each job
	Now      int
}

// Begin opens a caller's transaction.
type Begin struct {
	Tx        int
	Isolation Isolation
}

// EnqueueTx adds jobs in a caller's transaction.
type EnqueueTx struct {
	Tx       int
	Queue    string
	Priority int
	Count    int
	Attempts int
	Now      int
}

// Commit ends a caller's transaction: its jobs exist.
type Commit struct{ Tx int }

// Rollback ends a caller's transaction: its jobs never existed.
type Rollback struct{ Tx int }

// Promote moves up to Limit due deferred jobs to ready.
type Promote struct{ Limit, Now int }

// Claim hands out up to Limit jobs of a queue.
type Claim struct {
	Queue      string
	Limit, Now int
}

// Complete closes attempts whose work is done.
type Complete struct {
	Attempts []AttemptID
	Now      int
}

// Fail closes attempts whose work failed for good.
type Fail struct {
	Attempts []AttemptID
	Now      int
}

// RescueStale closes attempts that were claimed before Now-Older and routes their jobs on.
type RescueStale struct{ Older, Limit, Now int }

// RotateQueue and RotateClaims move a ring on by one generation.
type (
	RotateQueue  struct{ Now int }
	RotateClaims struct{ Now int }
)

// PruneQueue truncates the oldest sealed queue generation, when it is spent and holds no failed row that is
// younger than Retention.
type PruneQueue struct{ Retention, Now int }

// PruneClaims truncates the oldest sealed claim generation when it is spent.
type PruneClaims struct{ Now int }

// CountsOf asks for a queue's counts; its text name is Counts.
type CountsOf struct{ Queue string }

// JobOf asks where a job is; its text name is Job.
type JobOf struct{ Job int }

// Reopen is a new process: what it remembered (claim cursors, registered queues) is lost. All of that is hints,
// so the state doesn't change.
type Reopen struct{}
