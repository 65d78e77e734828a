package engine

import "context"

// Complete closes attempts as done and writes their history, in one transaction. The results come in the order of the receipts; an attempt that was over before is ErrStale and left alone (P3);
// so is the second mention of a receipt.
// When the error is nil, everything reported done is durable as the server's settings make it. At most 10,000 receipts.
//
// Repeating a call is safe, also after ErrAmbiguous: what the lost call closed is then reported as ErrStale. Errors:
// ErrInvalid for a zero Receipt; ErrAmbiguous; otherwise see SafeToRetry.
func (e *Engine) Complete(ctx context.Context, receipts []Receipt) ([]Result, error) {
	c := closing{e: e, op: "Complete", to: JobCompleted, receipts: receipts}
	return c.run(ctx)
}
