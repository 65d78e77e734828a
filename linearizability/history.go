package linearizability

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// historyFile is the history's name in its folder.
const historyFile = "history.jsonl"

// A line of a history has one of these.
type line struct {
	Run    *runFacts `json:"run,omitempty"`    // the first line
	Call   *call     `json:"call,omitempty"`   // in the order of the returns
	Rows   []row     `json:"rows,omitempty"`   // ready rows, as they stood before their slot was pruned, or in the end
	Claims []handed  `json:"claims,omitempty"` // claim records, likewise
	End    *ending   `json:"end,omitempty"`    // the last line
}

type runFacts struct {
	Plan   Plan   `json:"plan"`
	Server string `json:"server"`
}

// An op is a kind of call.
type op string

const (
	opEnqueue      op = "enqueue"
	opEnqueueMany  op = "enqueue_many"
	opEnqueueTx    op = "enqueue_tx"
	opClaim        op = "claim"
	opComplete     op = "complete"
	opFail         op = "fail"
	opJob          op = "job"
	opPromote      op = "promote"
	opRescue       op = "rescue_stale"
	opRotateQueue  op = "rotate_queue"
	opRotateClaims op = "rotate_claims"
	opPruneQueue   op = "prune_queue"
	opPruneClaims  op = "prune_claims"
)

// An outcome is what a client knows of its call.
type outcome string

const (
	outcomeOK         outcome = "ok"
	outcomeNotDone    outcome = "not_done"    // an error that isn't ambiguous: by the engine's word nothing was changed
	outcomeUnknown    outcome = "unknown"     // ambiguous, and not settled
	outcomeCommitted  outcome = "committed"   // ambiguous, and Settle says that it committed
	outcomeAborted    outcome = "aborted"     // ambiguous, and Settle says that it didn't
	outcomeRolledBack outcome = "rolled_back" // by the client, on purpose
)

// never is the return of a call whose transaction may still be at work, for all that is known.
const never = int64(1) << 62

// A call is one call of a client or of maintenance. Times are nanoseconds since the run's start, by one monotonic clock.
// Return is when the caller had its answer; after an error, when it was certain that the call's transaction had ended,
// whatever its end: nothing of the call happens later.
type call struct {
	Client  int     `json:"client"` // maintenance has the numbers after the clients'
	Op      op      `json:"op"`
	Call    int64   `json:"call"`
	Written int64   `json:"written,omitempty"` // enqueue_tx: EnqueueTx returned; the commit was called after it
	Return  int64   `json:"return"`
	Outcome outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"`
	Code    string  `json:"code,omitempty"` // SQLSTATE, or a family of the engine's errors

	Queue    string `json:"queue,omitempty"`
	Limit    int    `json:"limit,omitempty"`
	Jobs     []job  `json:"jobs,omitempty"`     // enqueued
	Deferred bool   `json:"deferred,omitempty"` // enqueued by a transaction with an old snapshot

	Attempts []attempt `json:"attempts,omitempty"` // handed out, or to be closed
	Seen     *seen     `json:"seen,omitempty"`     // by job

	Status   string `json:"status,omitempty"` // of a rotation or a prune
	Requeued int    `json:"requeued,omitempty"`
	Failed   int    `json:"failed,omitempty"`
	Promoted int    `json:"promoted,omitempty"`
}

// A job is one job of an enqueue. The id is 0 when the call returned none.
type job struct {
	ID       int64  `json:"id,omitempty"`
	Mark     string `json:"mark"` // stands in the job's arguments
	Queue    string `json:"queue"`
	Priority int    `json:"priority"`
	Max      int    `json:"max"`
}

// An attempt is one hand-out of a job. Try, Priority and Mark are of a claim's answer; Stale is of a close's.
type attempt struct {
	Job      int64  `json:"job"`
	Lease    int64  `json:"lease"`
	Try      int    `json:"try,omitempty"`
	Priority int    `json:"priority,omitempty"`
	Mark     string `json:"mark,omitempty"`
	Stale    bool   `json:"stale,omitempty"`
}

type attemptID struct{ job, lease int64 }

func (a attempt) id() attemptID { return attemptID{a.Job, a.Lease} }

func (a attemptID) String() string { return fmt.Sprintf("%d/%d", a.job, a.lease) }

// seen is what Job said.
type seen struct {
	Job     int64  `json:"job"`
	State   string `json:"state"`
	Lease   int64  `json:"lease,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
}

// A row is a ready row: its place in its lane, and how often the job had been handed out before it.
type row struct {
	Job      int64  `json:"job"`
	Lease    int64  `json:"lease"`
	Queue    string `json:"queue"`
	Priority int    `json:"priority"`
	Seq      int64  `json:"seq"`
	Mark     string `json:"mark"`
}

// handed is a claim record with its closures' outcomes, joined by "+"; empty while it was open.
type handed struct {
	Job     int64  `json:"job"`
	Lease   int64  `json:"lease"`
	Outcome string `json:"outcome,omitempty"`
}

// ending is what the database said when everything stood still.
type ending struct {
	At      int64             `json:"at"`
	Drained bool              `json:"drained"`
	Counts  map[string]counts `json:"counts"`          // by queue
	Audit   []string          `json:"audit,omitempty"` // what the engine's audit found wrong
	Unread  int               `json:"unread"`          // jobs not known to be over that were too many to be read
}

type counts struct {
	Available       int64 `json:"available"`
	Scheduled       int64 `json:"scheduled"`
	Retryable       int64 `json:"retryable,omitempty"`
	Running         int64 `json:"running"`
	Waiting         int64 `json:"waiting,omitempty"`
	Completed       int64 `json:"completed"`
	Failed          int64 `json:"failed"`
	Cancelled       int64 `json:"cancelled,omitempty"`
	DLQ             int64 `json:"dlq,omitempty"`
	PrunedCompleted int64 `json:"pruned_completed"`
	PrunedFailed    int64 `json:"pruned_failed"`
}

// A recorder writes a history. Safe for concurrent use. Its first error ends it and is close's.
type recorder struct {
	start time.Time

	mu  sync.Mutex
	f   *os.File
	w   *bufio.Writer
	enc *json.Encoder
	err error
}

func openRecorder(dir string) (*recorder, error) {
	f, err := os.OpenFile(filepath.Join(dir, historyFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriter(f)
	return &recorder{start: time.Now(), f: f, w: w, enc: json.NewEncoder(w)}, nil
}

func (r *recorder) now() int64 { return int64(time.Since(r.start)) }

func (r *recorder) write(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.enc.Encode(l)
	}
}

func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.w.Flush(), r.f.Close())
}

// A history is everything that a judgement rests on.
type history struct {
	run    runFacts
	calls  []*call
	rows   []row
	claims []handed
	end    *ending // nil when the run didn't come that far
}

// fileOf finds the history in a folder; a path to a file stays what it is.
func fileOf(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, historyFile)
	}
	return path
}

// readHistory reads a file, or the one of a folder.
func readHistory(path string) (h history, err error) {
	path = fileOf(path)
	f, err := os.Open(path)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	dec := json.NewDecoder(bufio.NewReader(f))
	for n := 1; ; n++ {
		var l line
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return h, nil
		} else if err != nil {
			return h, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		switch {
		case (l.Run != nil) != (n == 1):
			return h, fmt.Errorf("%s, line %d: a history begins with its run, and has one", path, n)
		case h.end != nil:
			return h, fmt.Errorf("%s, line %d: after the end", path, n)
		case l.Run != nil:
			h.run = *l.Run
		case l.Call != nil:
			h.calls = append(h.calls, l.Call)
		}
		h.rows, h.claims, h.end = append(h.rows, l.Rows...), append(h.claims, l.Claims...), l.End
	}
}

// IsHistory tells whether a file, or a folder, is one that a run left and Judge can judge.
func IsHistory(path string) bool {
	f, err := os.Open(fileOf(path))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
	var first line
	return json.NewDecoder(f).Decode(&first) == nil && first.Run != nil
}
