package chaos

import (
	"context"
	"encoding/json"
	"time"

	"github.com/awa-engine/awa/engine"
)

const claimLimit = 100

// held are attempts that a claimer closes too late, about when they become stale: the race of a completion against a
// rescue.
type held struct {
	receipts []engine.Receipt
	until    time.Time
}

// claimAndClose claims, works, and closes: most attempts complete, some fail, some are closed late, and some never.
func (w *worker) claimAndClose() error {
	back := newBackoff()
	var late []held
	for w.stop.Err() == nil {
		for len(late) > 0 && time.Now().After(late[0].until) {
			if err := w.close(opComplete, late[0].receipts); err != nil {
				return err
			}
			late = late[1:]
		}
		attempts, got, err := w.claim(queues[w.rng.IntN(len(queues))])
		if err != nil {
			return err
		}
		if got != outcomeOK || len(attempts) == 0 {
			back.wait(w.stop)
			continue
		}
		back.reset()
		h, err := w.work(attempts)
		if err != nil {
			return err
		}
		if len(h.receipts) > 0 {
			late = append(late, h)
		}
	}
	for _, h := range late {
		if err := w.close(opComplete, h.receipts); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) claim(queue string) (attempts []engine.Attempt, got outcome, err error) {
	got, err = w.call(line{Op: opClaim, Queue: queue, Count: claimLimit}, func(ctx context.Context, end *line) (err error) {
		attempts, err = w.eng.Claim(ctx, queue, claimLimit)
		for _, a := range attempts {
			var args job
			if err := json.Unmarshal(a.Args, &args); err != nil {
				return err
			}
			end.Attempts = append(end.Attempts, attempt{a.Receipt.JobID(), a.Receipt.RunLease(), args.Mark})
		}
		return err
	})
	return attempts, got, err
}

// work decides what becomes of the attempts and closes those that are closed now.
func (w *worker) work(attempts []engine.Attempt) (late held, err error) {
	var good, bad []engine.Receipt
	for _, a := range attempts {
		switch n := w.rng.IntN(400); {
		case n == 0: // forgotten
		case n < 5:
			late.receipts = append(late.receipts, a.Receipt)
		case n < 25:
			bad = append(bad, a.Receipt)
		default:
			good = append(good, a.Receipt)
		}
	}
	late.until = time.Now().Add(w.spec.StaleAfter + time.Duration(w.rng.IntN(400)-100)*time.Millisecond)
	if err := w.close(opComplete, good); err != nil {
		return late, err
	}
	if err := w.close(opFail, bad); err != nil {
		return late, err
	}
	if w.rng.IntN(20) == 0 { // and once more, which must change nothing (P3)
		err = w.close(opFail, good)
	}
	return late, err
}

// close repeats until the answer is known, as the engine says is safe, or until the worker has been told to stop for so
// long that the server can't be there any more.
func (w *worker) close(as op, receipts []engine.Receipt) error {
	if len(receipts) == 0 {
		return nil
	}
	asked := make([]attempt, len(receipts))
	failures := make([]engine.Failure, len(receipts))
	for i, r := range receipts {
		asked[i] = attempt{job: r.JobID(), lease: r.RunLease()}
		failures[i] = engine.Failure{Receipt: r, Message: "as drawn"}
	}
	back := newBackoff()
	var last time.Time // to repeat, once the worker was told to stop
	for {
		got, err := w.call(line{Op: as, Attempts: asked}, func(ctx context.Context, end *line) error {
			var results []engine.Result
			var err error
			if as == opFail {
				results, err = w.eng.Fail(ctx, failures)
			} else {
				results, err = w.eng.Complete(ctx, receipts)
			}
			for i, r := range results {
				if engine.Stale(r.Err) {
					end.Stale = append(end.Stale, asked[i])
				}
			}
			return err
		})
		if err != nil || got == outcomeOK {
			return err
		}
		switch {
		case w.stop.Err() == nil:
		case last.IsZero():
			last = time.Now().Add(stopLimit)
		case time.Now().After(last):
			return nil
		}
		back.wait(context.WithoutCancel(w.stop))
	}
}
