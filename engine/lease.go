package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A Wait is what an attempt parks for.
type Wait struct {
	// Token is whose callback ends the wait: one of the attempt's own. The zero Token lets Park make one.
	Token Token
	// Timeout is how long the wait may take, by the server's clock, at most a century; CallbackTimeout closes the attempt
	// then. Zero means no bound but the attempt's deadline.
	Timeout time.Duration

	_ struct{}
}

// Parked says what became of a Park.
type Parked struct {
	Token Token
	// Delivered says that the callback has come already: the attempt doesn't wait, and goes on with Payload.
	Delivered bool
	Payload   json.RawMessage
}

// Park lets an open attempt wait for an answer from outside: whoever has the token brings it by Resume, from any process.
// Until then the job is waiting. Nobody needs to be there for it: a parked attempt has no heartbeat and is never stale, so
// that its worker may forget it. Its timeout, its deadline, Cancel, and whatever closes attempts end it. An attempt may
// wait any number of times, one wait after the other.
//
// A callback that came before its park is delivered by it at once (hazard 33). Repeating a call with the same Token is
// safe: it finds the wait as it is, or what has come meanwhile.
//
// Errors: ErrStale when the attempt is over; ErrWrongState when it waits for another token; ErrInvalid; ErrAmbiguous;
// otherwise see SafeToRetry. Waiting for the call itself is bounded by ctx and by who closes attempts of the same claim.
func (e *Engine) Park(ctx context.Context, receipt Receipt, w Wait) (Parked, error) {
	const op = "Park"
	if w.Token == (Token{}) {
		w.Token = receipt.NewToken()
	}
	if err := checkDuration(op, "Timeout", w.Timeout); err != nil {
		return Parked{}, err
	}
	if w.Token.receipt != receipt {
		return Parked{}, invalid(op, "Token", "of another attempt than %s", receipt)
	}
	var timeout *time.Duration
	if w.Timeout > 0 {
		timeout = &w.Timeout
	}
	out := Parked{Token: w.Token}
	p := waiting{e: e, op: op, token: w.Token, parks: true}
	err := p.run(ctx, func(t *txn, s waitState) (moved, commit bool, err error) {
		out.Delivered, out.Payload = false, nil
		switch {
		case s.waitsForIt(w.Token):
			return false, false, nil
		case s.parked():
			return false, false, &Error{Op: op, Value: "attempt " + receipt.String(), Err: ErrWrongState}
		case s.wasDelivered(w.Token):
			out.Delivered, out.Payload = true, s.payload
			return false, false, nil
		case s.early != nil:
			out.Delivered, out.Payload = true, s.early
			return false, true, p.deliver(ctx, t, s.early)
		}
		return !s.current, true, p.park(ctx, t, s, timeout)
	})
	if err != nil {
		return Parked{}, err
	}
	return out, nil
}

// A ResumeStatus says what a callback did.
type ResumeStatus string

// The outcomes of a Resume.
const (
	// Resumed: the attempt was waiting for this token and goes on.
	Resumed ResumeStatus = "resumed"
	// ResumeKept: the attempt doesn't wait for this token yet; its Park will be told at once.
	ResumeKept ResumeStatus = "kept"
	// ResumeRepeated: the callback of this token came before; its payload stays what it was.
	ResumeRepeated ResumeStatus = "repeated"
)

// maxEarly bounds the callbacks that wait for their park, of one attempt: a worker gives out few tokens at a time.
const maxEarly = 16

// Resume brings the answer that the token's attempt waits for: JSON of at most Config.MaxArgsBytes, nil means null. The
// same attempt then goes on: Job shows the payload, the token has its receipt, and RescueStale owns it again, counting from
// now. Whoever brings the answer needs to know nothing else, and needn't be a worker.
//
// A callback may come before its park, and is kept for it, up to 16 of one attempt. It may come again: only the first one
// counts, and repeating a call is safe. A token that was delivered before another one of the same attempt is no longer
// told apart from one that is yet to be parked; its repetition is kept, and does nothing.
//
// Errors: ErrStale when the attempt is over, and the token with it; ErrWrongState when too many callbacks wait for their
// park; ErrInvalid; ErrAmbiguous; otherwise see SafeToRetry.
func (e *Engine) Resume(ctx context.Context, token Token, payload json.RawMessage) (ResumeStatus, error) {
	const op = "Resume"
	if payload == nil {
		payload = json.RawMessage("null")
	}
	if err := checkArgs(op, payload, e.cfg.MaxArgsBytes); err != nil {
		return "", err
	}
	var status ResumeStatus
	w := waiting{e: e, op: op, token: token}
	err := w.run(ctx, func(t *txn, s waitState) (moved, commit bool, err error) {
		switch {
		case s.waitsForIt(token):
			status = Resumed
			return false, true, w.resume(ctx, t, s, payload)
		case s.wasDelivered(token), s.early != nil:
			status = ResumeRepeated
			return false, false, nil
		case s.keeps >= maxEarly:
			return false, false, &Error{Op: op, Value: fmt.Sprintf("attempt %s with %d callbacks before their parks", token.receipt, s.keeps), Err: ErrWrongState}
		}
		status = ResumeKept
		return false, true, w.keep(ctx, t, payload)
	})
	if err != nil {
		return "", err
	}
	return status, nil
}

// CallbackTimeout closes up to budget (1 to 10,000) attempts that are parked and whose wait has timed out, and routes their
// jobs on like RescueStale, with which it shares everything else.
func (e *Engine) CallbackTimeout(ctx context.Context, budget int) (RescueOutcome, error) {
	return e.rescue(ctx, sweep{
		e: e, op: "CallbackTimeout", kind: byTimeout, outcome: "callback_timeout", message: "the callback didn't come in time",
	}, budget)
}
