package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
)

// waiting is a Park or a Resume under way. Both take the key of the attempt's claim, as closers do, and look only then: so
// of a park, a callback, a timeout and a completion of one attempt each sees what the one before has done (hazard 5).
type waiting struct {
	e     *Engine
	op    string
	token Token
	parks bool

	leaseAt window // of the lease ring, read before the lock on its current child
}

// A waitState is what stands of an attempt's waits, under its key.
type waitState struct {
	lane      int32
	slot      *int            // of its lease, wherever that is (hazard 6); nil when it doesn't wait
	waitsFor  []byte          // the lease's token
	delivered []byte          // the token whose callback was delivered last
	payload   json.RawMessage // and what it brought
	early     json.RawMessage // what this token's callback brought before its park; nil: nothing
	keeps     int             // how many callbacks wait for their park
	current   bool            // the lease ring stands where it stood
}

// parked says whether the attempt waits, waitsForIt whether for this token, wasDelivered whether its callback was the last
// to be delivered.
func (s waitState) parked() bool { return s.slot != nil }

func (s waitState) waitsForIt(t Token) bool   { return s.parked() && bytes.Equal(s.waitsFor, t.nonce[:]) }
func (s waitState) wasDelivered(t Token) bool { return bytes.Equal(s.delivered, t.nonce[:]) }

// run repeats decide while it says that the ring moved on. An attempt that isn't open is stale: its token with it (P3).
func (w *waiting) run(ctx context.Context, decide func(*txn, waitState) (moved, commit bool, err error)) error {
	r := w.token.receipt
	if err := checkReceipt(w.op, "receipt "+r.String(), r); err != nil {
		return err
	}
	return w.e.untilCurrent(ctx, w.op, func(t *txn) (moved, commit bool, err error) {
		s, open, err := w.look(ctx, t)
		if err != nil {
			return false, false, err
		}
		if !open {
			return false, false, &Error{Op: w.op, Value: "attempt " + r.String(), Err: ErrStale}
		}
		return decide(t, s)
	})
}

// look takes the key, and for a park the current child of the lease ring, and looks in a later statement.
func (w *waiting) look(ctx context.Context, t *txn) (s waitState, open bool, err error) {
	e, r := w.e, w.token.receipt
	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(e.sql.get("plan_settings", children{}))
	b.Queue(e.sql.get("read_window", children{Ring: e.lease})).QueryRow(func(row pgx.Row) error { return row.Scan(&w.leaseAt) })
	b.Queue(e.sql.get("lock_keys", children{}), batchKeys(e.cfg.Schema, []int64{r.batch}))
	if err := send(ctx, t, &b); err != nil {
		return s, false, err
	}
	b = pgx.Batch{}
	if w.parks {
		b.Queue(e.sql.get("lock_lease", w.at(w.leaseAt.current())))
	}
	asked := attempts(map[int32]Receipt{r.index: r})
	at := children{Claim: e.claim.slot(r.claimGeneration), Local: r.local}
	b.Queue(e.sql.get("look_at_wait", at), r.claimGeneration, []int64{r.readyGeneration}, []int64{r.batch}, []string{asked},
		w.token.nonce[:], w.leaseAt.current()).Query(func(rows pgx.Rows) error {
		var payload, early *string
		_, err := pgx.ForEachRow(rows, []any{&s.lane, &s.slot, &s.waitsFor, &s.delivered, &payload, &early, &s.keeps, &s.current}, func() error {
			open, s.payload, s.early = true, asJSON(payload), asJSON(early)
			return nil
		})
		return err
	})
	return s, open, send(ctx, t, &b)
}

func asJSON(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}

// at names the lease child of a generation.
func (w *waiting) at(generation int64) children {
	return children{Lease: w.e.lease.slot(generation)}
}

// park writes the lease into the current slot, unless the ring has left it: nothing is written then.
func (w *waiting) park(ctx context.Context, t *txn, s waitState, timeout *time.Duration) error {
	if !s.current {
		return nil
	}
	r := w.token.receipt
	var b pgx.Batch
	b.Queue(w.e.sql.get("park", w.at(w.leaseAt.current())), w.leaseAt.current(), r.job, r.runLease, r.id(), r.claimGeneration, r.readyGeneration,
		w.e.now(), timeout, s.lane, r.local, w.token.nonce[:])
	b.Queue(w.e.sql.get("park_state", children{}), r.job, r.runLease, r.id(), w.e.now())
	return send(ctx, t, &b)
}

// resume takes the lease away, in the child in which it was found, and delivers.
func (w *waiting) resume(ctx context.Context, t *txn, s waitState, payload json.RawMessage) error {
	r := w.token.receipt
	if _, err := t.Exec(ctx, w.e.sql.get("unpark", children{Lease: *s.slot}), r.job, r.runLease); err != nil {
		return err
	}
	return w.deliver(ctx, t, payload)
}

// deliver makes the token's callback the one that came last: a sign of life of the attempt (hazard 24).
func (w *waiting) deliver(ctx context.Context, t *txn, payload json.RawMessage) error {
	r := w.token.receipt
	_, err := t.Exec(ctx, w.e.sql.get("deliver", children{}), r.job, r.runLease, r.id(), w.e.now(), w.token.nonce[:], string(payload))
	return err
}

// keep keeps a callback for its park. It is no sign of life: it didn't come from who has the attempt.
func (w *waiting) keep(ctx context.Context, t *txn, payload json.RawMessage) error {
	r := w.token.receipt
	_, err := t.Exec(ctx, w.e.sql.get("keep_early", children{}), r.job, r.runLease, r.id(), w.token.nonce[:], string(payload))
	return err
}
