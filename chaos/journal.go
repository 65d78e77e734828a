package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An op is a kind of call that workers make.
type op string

const (
	opEnqueueTx   op = "enqueue_tx" // with business rows in the same transaction
	opEnqueueMany op = "enqueue_many"
	opClaim       op = "claim"
	opComplete    op = "complete"
	opFail        op = "fail"
	opPromote     op = "promote"
	opRescue      op = "rescue"
	opRotateQueue op = "rotate_queue"
	opRotateClaim op = "rotate_claims"
	opPruneQueue  op = "prune_queue"
	opPruneClaim  op = "prune_claims"
)

// An outcome is what a worker knows of its call.
type outcome string

const (
	outcomeOK         outcome = "ok"          // acknowledged
	outcomeNotDone    outcome = "not_done"    // an error that isn't ambiguous: by the engine's word nothing was changed
	outcomeUnknown    outcome = "unknown"     // ambiguous, and not settled
	outcomeCommitted  outcome = "committed"   // ambiguous, and Settle says that it committed
	outcomeAborted    outcome = "aborted"     // ambiguous, and Settle says that it didn't
	outcomeRolledBack outcome = "rolled_back" // by the producer, on purpose
)

// A line is one line of a worker's journal. Each call has two: one before it is made, and one, with Outcome, when it
// returned. A line is written by one write to a file that is open for appending, so that what the worker knew survives
// its death at any moment.
type line struct {
	Call    int64   `json:"call"` // numbered from 1 in each process
	Op      op      `json:"op"`
	At      int64   `json:"at"`                // nanoseconds; of the call, and of the return in its own line
	Outcome outcome `json:"outcome,omitempty"` // empty in the line before the call
	Error   string  `json:"error,omitempty"`
	Code    string  `json:"code,omitempty"`   // SQLSTATE, or a family of the engine's errors
	Settle  string  `json:"settle,omitempty"` // the last error of Settle

	// Enqueueing. Jobs are marked Batch.0 to Batch.(Count-1).
	Batch string  `json:"batch,omitempty"`
	Queue string  `json:"queue,omitempty"`
	Count int     `json:"count,omitempty"` // also the limit of a claim and the budget of a rescue
	Max   int     `json:"max,omitempty"`   // attempts of each job
	IDs   []int64 `json:"ids,omitempty"`   // in the return, in the order of the marks

	// Attempts are those that a close asks for, in the line before the call, and those handed out, in a claim's return.
	Attempts []attempt `json:"attempts,omitempty"`
	// Stale are those that a close reported as over before it; it closed all others.
	Stale []attempt `json:"stale,omitempty"`

	// Maintenance.
	Status   string `json:"status,omitempty"`
	Requeued int    `json:"requeued,omitempty"`
	Failed   int    `json:"failed,omitempty"`
}

// An attempt is one hand-out of a job. Its mark is known where the job's arguments are: in a claim's return.
type attempt struct {
	job, lease int64
	mark       string
}

// MarshalText gives "job/lease", followed by a space and the mark when there is one.
func (a attempt) MarshalText() ([]byte, error) {
	text := fmt.Sprintf("%d/%d", a.job, a.lease)
	if a.mark != "" {
		text += " " + a.mark
	}
	return []byte(text), nil
}

func (a *attempt) UnmarshalText(text []byte) error {
	numbers, mark, _ := strings.Cut(string(text), " ")
	job, lease, ok := strings.Cut(numbers, "/")
	var err1, err2 error
	a.job, err1 = strconv.ParseInt(job, 10, 64)
	a.lease, err2 = strconv.ParseInt(lease, 10, 64)
	a.mark = mark
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("attempt %q: not job/lease", text)
	}
	return nil
}

func (a attempt) String() string { return fmt.Sprintf("%d/%d", a.job, a.lease) }

// mark names the job number i of a batch.
func mark(batch string, i int) string { return batch + "." + strconv.Itoa(i) }

// parseMark is the reverse of mark.
func parseMark(m string) (batch string, i int, ok bool) {
	dot := strings.LastIndexByte(m, '.')
	if dot < 0 {
		return "", 0, false
	}
	i, err := strconv.Atoi(m[dot+1:])
	return m[:dot], i, err == nil && i >= 0
}

// A stopwatch tells a time that all processes of one machine share and that doesn't jump within one of them: the wall
// clock at its start plus the monotonic time since.
type stopwatch struct{ start time.Time }

func startWatch() stopwatch { return stopwatch{time.Now()} }

func (s stopwatch) now() int64 { return s.start.UnixNano() + int64(time.Since(s.start)) }

// A log appends JSON lines to a file. Safe for concurrent use.
type log struct {
	mu sync.Mutex
	f  *os.File
}

func openLog(path string) (*log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &log{f: f}, nil
}

func (l *log) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.f.Write(append(b, '\n'))
	return err
}

func (l *log) close() error { return l.f.Close() }

// A tail reads the lines of a log that is still being written.
type tail struct {
	f    *os.File
	r    *bufio.Reader
	half []byte // of a line whose end isn't there yet
}

func openTail(path string) (*tail, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &tail{f: f, r: bufio.NewReader(f)}, nil
}

// next returns the next whole line; io.EOF when there is none yet.
func (t *tail) next() ([]byte, error) {
	part, err := t.r.ReadBytes('\n')
	t.half = append(t.half, part...)
	if err != nil {
		return nil, err
	}
	whole := t.half
	t.half = nil
	return whole, nil
}

func (t *tail) close() error { return t.f.Close() }

// readLog reads a whole log. A last line without its end, which is what a killed writer may leave, is left out.
func readLog[T any](path string) (all []T, err error) {
	t, err := openTail(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for n := 1; ; n++ {
		text, err := t.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var one T
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", path, n, err)
		}
		all = append(all, one)
	}
}
