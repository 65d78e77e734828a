package engine

import (
	"encoding/json"
	"fmt"
	"time"
)

// receiptsPerBatch is the room that a claim batch has for receipts: receipt = batch * receiptsPerBatch + index. The
// schema's comments state the same number.
const receiptsPerBatch = 4096

// A Receipt says which attempt was handed out. It is opaque: keep it with the work and present it to close the attempt.
// The zero Receipt is invalid. Receipts are comparable; two are equal when they are of the same attempt.
type Receipt struct {
	claimGeneration int64
	batch           int64 // claim batch
	readyGeneration int64 // where the job's ready row, the evidence and the history stand
	job             int64
	runLease        int64
	lane            int32
	index           int32 // within the batch
	local           bool  // the claim's shape: row-local, or one of a batch. A closure has the shape of its claim
}

// JobID returns the job's id.
func (r Receipt) JobID() int64 { return r.job }

// RunLease returns the attempt's number, which grows by one with each claim of the job and never falls. (JobID, RunLease)
// names one attempt for ever.
func (r Receipt) RunLease() int64 { return r.runLease }

// String returns "job/run lease".
func (r Receipt) String() string { return fmt.Sprintf("%d/%d", r.job, r.runLease) }

// id is the receipt's identity, unique in the schema for ever.
func (r Receipt) id() int64 { return r.batch*receiptsPerBatch + int64(r.index) }

// An Attempt is a job handed out once.
type Attempt struct {
	Receipt   Receipt
	Queue     string
	Kind      string
	Args      json.RawMessage
	Priority  int       // of the job's lane
	Attempt   int       // this try's number among MaxAttempts, from 1
	Max       int       // MaxAttempts of the job
	CreatedAt time.Time // when the job was first enqueued
	// Deadline is when RescueDeadline may close the attempt; nil when it has none.
	Deadline *time.Time
}

// A Result is the outcome for one receipt of a call. Results come in the order of the request and carry their receipt.
type Result struct {
	Receipt Receipt
	// Err is nil when this call closed the attempt, and ErrStale when it was over before: then nothing was changed.
	Err error
	// State is where the job went when this call closed the attempt: a Retry of a job without attempts left fails it.
	State JobState
}
