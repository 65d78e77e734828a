package engine

import (
	"context"
	"slices"
)

// A Failure is an attempt that ended in an error.
type Failure struct {
	Receipt Receipt
	// Message goes into the job's error history. It may be any bytes: what can't be stored is replaced by U+FFFD, and
	// it is cut at 8 KiB.
	Message string
}

// Fail closes attempts as failed for good and writes a failed row for each, in one transaction, or holds the job in the DLQ
// where the queue says so (SetDLQ): then its Result says JobDLQ. It is batched like Complete and behaves like it in every
// respect. When a receipt is given twice, the first message counts.
func (e *Engine) Fail(ctx context.Context, failures []Failure) ([]Result, error) {
	c := closing{e: e, op: "Fail", to: JobFailed, messages: map[int64]string{}}
	for f := range slices.Values(failures) {
		c.receipts = append(c.receipts, f.Receipt)
		if _, twice := c.messages[f.Receipt.id()]; !twice {
			c.messages[f.Receipt.id()] = storableText(f.Message)
		}
	}
	return c.run(ctx)
}
