package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Result is an operation's answer. Its text is canonical: equal answers have equal texts.
type Result interface {
	String() string
	isResult()
}

// OK is the answer of an operation that has nothing to tell.
type OK struct{}

// Enqueued are the new jobs, in the order of their lane. Existing says that all are the job that held their key already.
type Enqueued struct {
	Jobs     []int
	Existing bool
}

// Promoted are the jobs that became ready, in the order of their promotion.
type Promoted struct{ Jobs []int }

// Handout is one job of a claim's answer.
type Handout struct{ Job, Lease, Attempt int }

// ID is the attempt that the handout started.
func (h Handout) ID() AttemptID { return AttemptID{h.Job, h.Lease} }

// Trimmed is how many rows were forgotten.
type Trimmed struct{ Rows int }

// Claimed are the attempts that a claim started, in hand-out order.
type Claimed struct{ Handouts []Handout }

// Closed answers whatever closes attempts that it is given, attempt by attempt in the order of the request.
type Closed struct{ Attempts []ClosedAttempt }

// ClosedAttempt says whether this call closed the attempt. Stale means that it was over before, or never was; Failed,
// that a job was to be tried again and had no attempt left; DLQ, that it failed and is held for an operator.
type ClosedAttempt struct {
	ID                 AttemptID
	Stale, Failed, DLQ bool
	Closing            bool // of a heartbeat: somebody is closing attempts of its batch, which it doesn't wait for
}

// Cancellation answers Cancel, job by job in the order of the request.
type Cancellation struct{ Jobs []CancelledJob }

// CancelledJob says what became of one job.
type CancelledJob struct {
	Job    int
	Answer CancelAnswer
}

// CancelAnswer says whether a job was cancelled, and if not, why.
type CancelAnswer string

// The answers of Cancel.
const (
	CancelOK         CancelAnswer = "ok"
	CancelWrongState CancelAnswer = "wrong_state" // over already
	CancelNotFound   CancelAnswer = "not_found"   // as JobNotFound
)

// Deletion answers DeleteTerminal, job by job in the order of the request. A job whose end it has taken away isn't found
// any more.
type Deletion struct{ Jobs []CancelledJob }

// Relocation answers SetPriority and MoveJob, job by job in the order of the request. A job that doesn't wait is in the wrong
// state.
type Relocation struct{ Jobs []CancelledJob }

// Listed answers ListJobs: the jobs of a page.
type Listed struct{ Jobs []ListedJob }

// ListedJob is a job of a page, with its lane.
type ListedJob struct {
	Job, Lane int
	JobView
}

// RescuedCount is how many attempts a rescue closed, by where their jobs went: back to ready, or to failed or the DLQ
// because they were used up. Busy are those that it passed over, since somebody was closing attempts of their batch.
type RescuedCount struct{ Requeued, Failed, DLQ, Busy int }

func (r RescuedCount) closed() int { return r.Requeued + r.Failed + r.DLQ }

// Moved answers MoveToDLQ: the jobs that are held now, and how many its scan found before it moved any.
type Moved struct {
	Jobs    []int
	Matched int
}

// Purged answers PurgeDLQ: the jobs that are gone, by their numbers.
type Purged struct{ Jobs []int }

// Status answers rotations and prunes.
type Status string

// What rotations and prunes answer. All but Rotated and Pruned say that nothing was changed, and why (P7).
const (
	Rotated Status = "rotated"
	// SkippedNextNotPruned: the generation that last used the next slot still stands there.
	SkippedNextNotPruned Status = "skipped_next_not_pruned"
	// SkippedIdle: no unpruned generation holds a row, so there is nothing to move away from.
	SkippedIdle Status = "skipped_idle"
	Pruned      Status = "pruned"
	// SkippedActive: the slot isn't spent yet; claims, closes and rescues will get it there.
	SkippedActive Status = "skipped_active"
	// Blocked: someone holds the slot's table, and nothing but their end helps.
	Blocked Status = "blocked"
	// Nothing: no generation is sealed.
	Nothing Status = "nothing"
)

// QueuePrune answers PruneQueue: a [Status], and how many failed rows were carried on, 0 unless it pruned.
type QueuePrune struct {
	Status  Status
	Carried int
}

// statusOf is what a rotation or prune says that it did.
func statusOf(r Result) (Status, bool) {
	switch r := r.(type) {
	case Status:
		return r, true
	case QueuePrune:
		return r.Status, true
	}
	return "", false
}

// Retried answers RetryFailed: the jobs that wait again, how many its scan found before it retried any, and, when it
// was asked of a queue, how many failed rows pruning has taken from that queue for ever; -1 otherwise.
type Retried struct {
	Jobs                  []int
	Matched, PrunedFailed int
}

// Counts are a queue's counts by state, and its rollups. What ended is counted among Completed and Failed while its
// row is there, and among the pruned ones for ever after: so their sum never falls (P9).
type Counts struct {
	Available, Scheduled, Running int
	Completed, Failed             int
	PrunedCompleted, PrunedFailed int
	// Retryable, Cancelled, Waiting and DLQ came later than saved answers: they are printed when they aren't zero, as optional keys are.
	Retryable, Cancelled, Waiting, DLQ int
}

// JobState is where a job is, as a reader is told.
type JobState string

// The states of this slice.
const (
	JobAvailable JobState = "available" // a claim may hand it out
	JobScheduled JobState = "scheduled" // deferred; Promote makes it available when it is due
	JobRetryable JobState = "retryable" // deferred after an attempt that failed
	JobRunning   JobState = "running"   // one attempt is open
	JobWaiting   JobState = "waiting"   // one attempt is open and parked
	JobCompleted JobState = "completed"
	JobFailed    JobState = "failed"
	JobCancelled JobState = "cancelled"
	JobDLQ       JobState = "dlq" // failed, and held for an operator
	// JobNotFound is said of a job that never was, was not committed, was pruned, or removed: nobody can tell them apart.
	JobNotFound JobState = "not_found"
)

// JobView is what a reader is told of one job: the state, the run_lease and attempt of its last claim, and while it waits
// when that times out.
type JobView struct {
	State          JobState
	Lease, Attempt int
	Timeout        int
}

func (OK) isResult()           {}
func (Enqueued) isResult()     {}
func (Promoted) isResult()     {}
func (Trimmed) isResult()      {}
func (Claimed) isResult()      {}
func (Closed) isResult()       {}
func (Cancellation) isResult() {}
func (Deletion) isResult()     {}
func (Relocation) isResult()   {}
func (Moved) isResult()        {}
func (Purged) isResult()       {}
func (RescuedCount) isResult() {}
func (Status) isResult()       {}
func (QueuePrune) isResult()   {}
func (Retried) isResult()      {}
func (Counts) isResult()       {}
func (JobView) isResult()      {}
func (Listed) isResult()       {}

func (OK) String() string { return "ok" }
func (r Enqueued) String() string {
	if r.Existing {
		return "existing=" + list(r.Jobs, strconv.Itoa)
	}
	return "jobs=" + list(r.Jobs, strconv.Itoa)
}
func (r Promoted) String() string { return "jobs=" + list(r.Jobs, strconv.Itoa) }
func (r Trimmed) String() string  { return fmt.Sprintf("rows=%d", r.Rows) }
func (r Status) String() string   { return string(r) }

func (r QueuePrune) String() string {
	if r.Carried > 0 {
		return fmt.Sprintf("%s carried=%d", r.Status, r.Carried)
	}
	return string(r.Status)
}

func (r Retried) String() string {
	text := fmt.Sprintf("retried=%s matched=%d", list(r.Jobs, strconv.Itoa), r.Matched)
	if r.PrunedFailed >= 0 {
		text += fmt.Sprintf(" pruned_failed=%d", r.PrunedFailed)
	}
	return text
}

func (r Claimed) String() string { return "claimed=" + list(r.Handouts, Handout.String) }
func (h Handout) String() string { return fmt.Sprintf("%d/%d/%d", h.Job, h.Lease, h.Attempt) }

func (r Closed) String() string { return "closed=" + list(r.Attempts, ClosedAttempt.String) }

func (c ClosedAttempt) String() string {
	switch {
	case c.Closing:
		return c.ID.String() + ":closing"
	case c.Stale:
		return c.ID.String() + ":stale"
	case c.Failed:
		return c.ID.String() + ":failed"
	case c.DLQ:
		return c.ID.String() + ":dlq"
	}
	return c.ID.String() + ":ok"
}

func (id AttemptID) String() string { return fmt.Sprintf("%d/%d", id.Job, id.Lease) }

func (r Cancellation) String() string { return "cancelled=" + list(r.Jobs, CancelledJob.String) }
func (c CancelledJob) String() string { return fmt.Sprintf("%d:%s", c.Job, c.Answer) }

func (r Deletion) String() string { return "deleted=" + list(r.Jobs, CancelledJob.String) }

func (r Relocation) String() string { return "placed=" + list(r.Jobs, CancelledJob.String) }

func (r Moved) String() string {
	return fmt.Sprintf("moved=%s matched=%d", list(r.Jobs, strconv.Itoa), r.Matched)
}
func (r Purged) String() string { return "purged=" + list(r.Jobs, strconv.Itoa) }

func (r RescuedCount) String() string {
	return fmt.Sprintf("requeued=%d failed=%d", r.Requeued, r.Failed) + given("dlq", r.DLQ) + given("busy", r.Busy)
}

func (c Counts) String() string {
	text := fmt.Sprintf("available=%d scheduled=%d running=%d completed=%d failed=%d pruned_completed=%d pruned_failed=%d",
		c.Available, c.Scheduled, c.Running, c.Completed, c.Failed, c.PrunedCompleted, c.PrunedFailed)
	for _, later := range []struct {
		name string
		n    int
	}{{"retryable", c.Retryable}, {"cancelled", c.Cancelled}, {"waiting", c.Waiting}, {"dlq", c.DLQ}} {
		if later.n != 0 {
			text += fmt.Sprintf(" %s=%d", later.name, later.n)
		}
	}
	return text
}

func (r Listed) String() string { return "listed=" + list(r.Jobs, ListedJob.String) }

func (v JobView) String() string {
	return fmt.Sprintf("state=%s lease=%d attempt=%d", v.State, v.Lease, v.Attempt) + given("timeout", v.Timeout)
}

// list is a comma separated list; an empty one is "none", so that no answer ends in a bare "=".
func list[T any](items []T, text func(T) string) string {
	if len(items) == 0 {
		return "none"
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = text(item)
	}
	return strings.Join(texts, ",")
}
