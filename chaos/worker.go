package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// A role is what a worker process does.
type role string

const (
	roleProducer   role = "producer"
	roleClaimer    role = "claimer"
	roleMaintainer role = "maintainer"
)

// workerSpec is what a worker is told, in a file.
type workerSpec struct {
	Name       string        `json:"name"`
	Role       role          `json:"role"`
	Journal    string        `json:"journal"`
	DSN        string        `json:"dsn"`
	Seed       uint64        `json:"seed"`
	Rate       float64       `json:"rate"` // jobs per second, of a producer
	StaleAfter time.Duration `json:"stale_after_ns"`
}

const (
	engineSchema = "awa"
	callLimit    = 20 * time.Second // of one call; the server may be down for a part of it
	settleLimit  = 20 * time.Second // of finding out what became of a commit
	stopLimit    = 10 * time.Second // from the order to stop to the end, with a server that answers
)

// RunWorker is the whole life of a worker process: it works until its standard input ends, then finishes what it holds.
// The input is the other end of a pipe that the driver holds, so that no worker outlives a driver that died.
func RunWorker(ctx context.Context, file string, stdin io.Reader) error {
	signal.Ignore(os.Interrupt) // a terminal's ^C is for the driver, which then ends its workers
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec workerSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with its input, or else with the process
		_, _ = io.Copy(io.Discard, stdin) // any end is the order to stop
		cancel()
	}()

	cfg, err := pgxpool.ParseConfig(spec.DSN)
	if err != nil {
		return err
	}
	cfg.MaxConns = 4
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	journal, err := openLog(spec.Journal)
	if err != nil {
		return err
	}
	w := &worker{
		spec: spec, pool: pool, journal: journal, watch: startWatch(), stop: stop,
		rng: rand.New(rand.NewPCG(spec.Seed, 0)),
	}
	if !w.open() {
		return journal.close()
	}
	switch spec.Role {
	case roleProducer:
		err = w.produce()
	case roleClaimer:
		err = w.claimAndClose()
	case roleMaintainer:
		err = w.maintain()
	default:
		err = fmt.Errorf("role %q: unknown", spec.Role)
	}
	return errors.Join(err, journal.close())
}

// worker is one worker process at work. It makes one call at a time.
type worker struct {
	spec    workerSpec
	pool    *pgxpool.Pool
	eng     *engine.Engine
	journal *log
	watch   stopwatch
	rng     *rand.Rand
	stop    context.Context // done: begin nothing new
	calls   int64
}

// open opens the engine; the server may be down at the moment. False: told to stop before it answered.
func (w *worker) open() bool {
	back := newBackoff()
	for {
		ctx, cancel := context.WithTimeout(w.stop, callLimit)
		eng, err := engine.Open(ctx, w.pool, engine.Config{Schema: engineSchema})
		cancel()
		if err == nil {
			w.eng = eng
			return true
		}
		if !back.wait(w.stop) {
			return false
		}
	}
}

// call makes one call between its two lines of the journal. act gets the line that is written when it returned, and a
// context that outlives the order to stop: what was begun is finished. The error returned is the journal's.
func (w *worker) call(begin line, act func(context.Context, *line) error) (outcome, error) {
	w.calls++
	begin.Call, begin.At = w.calls, w.watch.now()
	if err := w.journal.write(begin); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.stop), callLimit)
	defer cancel()
	end := line{Call: begin.Call, Op: begin.Op}
	err := act(ctx, &end)
	if end.Outcome == "" {
		end.Outcome, end.Settle = w.outcomeOf(err)
	}
	if err != nil {
		end.Error, end.Code = err.Error(), codeOf(err)
	}
	end.At = w.watch.now()
	return end.Outcome, w.journal.write(end)
}

// outcomeOf takes the engine at its word: only an ambiguous error leaves anything open, and that one is settled. trouble
// is what Settle last said when it had no answer.
func (w *worker) outcomeOf(err error) (got outcome, trouble string) {
	if err == nil {
		return outcomeOK, ""
	}
	if !engine.Ambiguous(err) {
		return outcomeNotDone, ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.stop), settleLimit)
	defer cancel()
	back := newBackoff()
	for {
		committed, failed := w.eng.Settle(ctx, err)
		if failed != nil {
			trouble = failed.Error()
		}
		switch {
		case failed == nil && committed:
			return outcomeCommitted, trouble
		case failed == nil:
			return outcomeAborted, trouble
		case engine.Ambiguous(failed) || !back.wait(ctx): // it can't be known, or not now
			return outcomeUnknown, trouble
		}
	}
}

// codeOf is the SQLSTATE of an error, or its family where the judge looks at that.
func codeOf(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		return "corrupt"
	case errors.Is(err, engine.ErrInvalid):
		return "invalid"
	case errors.As(err, &pg):
		return pg.Code
	}
	return ""
}

// A backoff waits longer each time, from 5 to 250 ms: after a crash the server is back in less than a second.
type backoff struct{ next time.Duration }

func newBackoff() *backoff { return &backoff{5 * time.Millisecond} }

// wait says whether to go on: false when ctx is done.
func (b *backoff) wait(ctx context.Context) bool {
	d := b.next
	b.next = min(2*b.next, 250*time.Millisecond)
	return pause(ctx, d)
}

func (b *backoff) reset() { *b = *newBackoff() }

// pause waits; false when ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
