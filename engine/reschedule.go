package engine

import (
	"context"
	"slices"
	"time"
)

// A Retrial is an attempt that ended in an error and is to be tried again.
type Retrial struct {
	Receipt Receipt
	// Message goes into the job's error history, as in Failure.
	Message string
	// After is how long the job waits, by the server's clock, at most a century. Zero means the backoff: a second after
	// the first try, then twice as long each time, an hour at most. Microseconds count; less than one is one.
	After time.Duration
}

// Retry closes attempts and lets their jobs wait, retryable, until Promote makes them available again; it is batched like
// Complete and behaves like it in every respect. A job that has used up its MaxAttempts fails instead, as by Fail: its
// Result says JobFailed or JobDLQ, not JobRetryable. When a receipt is given twice, the first mention counts.
func (e *Engine) Retry(ctx context.Context, retrials []Retrial) ([]Result, error) {
	c := closing{
		e: e, op: "Retry", to: JobRetryable,
		messages: map[int64]string{}, delays: map[int64]time.Duration{},
	}
	for r := range slices.Values(retrials) {
		if err := checkDuration(c.op, "After", r.After); err != nil {
			return nil, err
		}
		c.receipts = append(c.receipts, r.Receipt)
		if _, twice := c.messages[r.Receipt.id()]; twice {
			continue
		}
		c.messages[r.Receipt.id()] = storableText(r.Message)
		if r.After > 0 {
			r.After = max(r.After, time.Microsecond) // what the server would round to none means the backoff there
		}
		c.delays[r.Receipt.id()] = r.After
	}
	return c.run(ctx)
}

// A Snoozing is an attempt whose work is to be done later.
type Snoozing struct {
	Receipt Receipt
	// For is how long the job waits, by the server's clock, at most a century; zero makes it due at once.
	For time.Duration
}

// Snooze closes attempts, through no fault of the job's, and lets the jobs wait, scheduled: the try is given back, so that
// a job may be snoozed any number of times. Its RunLease is not: the next attempt has a new one. Snooze is batched like
// Complete and behaves like it in every respect. When a receipt is given twice, the first mention counts.
func (e *Engine) Snooze(ctx context.Context, snoozings []Snoozing) ([]Result, error) {
	c := closing{e: e, op: "Snooze", to: JobScheduled, delays: map[int64]time.Duration{}}
	for s := range slices.Values(snoozings) {
		if err := checkDuration(c.op, "For", s.For); err != nil {
			return nil, err
		}
		c.receipts = append(c.receipts, s.Receipt)
		if _, twice := c.delays[s.Receipt.id()]; !twice {
			c.delays[s.Receipt.id()] = s.For
		}
	}
	return c.run(ctx)
}
