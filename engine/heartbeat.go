package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Heartbeat says that attempts are being worked on: RescueStale counts their age from their newest sign of life, which is
// their claim, their newest heartbeat, or the callback that ended their wait. A deadline it doesn't move. The results come in the order of the receipts: an
// attempt that is over is ErrStale, and the worker should stop (P3); one that somebody is closing at this moment is
// ErrClosing, and the others of the call are not kept waiting for that. At most 10,000 receipts.
//
// Repeating a call is safe. Errors: ErrInvalid for a zero Receipt; otherwise see SafeToRetry.
func (e *Engine) Heartbeat(ctx context.Context, receipts []Receipt) ([]Result, error) {
	h := beating{closing: closing{e: e, op: "Heartbeat", receipts: receipts}}
	h.statement = func(at children) string { return e.sql.get("heartbeat", at) }
	return h.run(ctx)
}

// ProgressReport is how far an attempt is.
type ProgressReport struct {
	// Percent is 0 to 100.
	Percent int
	// Message may be any bytes, as in Failure; empty keeps the last one.
	Message string
	// Metadata is JSON of at most Config.MaxArgsBytes; nil keeps the last one.
	Metadata json.RawMessage

	_ struct{}
}

// Progress says how far the attempt is, and counts as a heartbeat. Job shows it while the attempt is open; it is gone
// when the attempt is over. The error is ErrStale when the attempt was over before, and ErrClosing, ErrInvalid or as
// SafeToRetry says.
func (e *Engine) Progress(ctx context.Context, receipt Receipt, p ProgressReport) error {
	const op = "Progress"
	if p.Percent < 0 || p.Percent > 100 {
		return invalid(op, fmt.Sprintf("Percent %d", p.Percent), "outside 0..100")
	}
	var message, metadata *string
	if p.Message != "" {
		text := storableText(p.Message)
		message = &text
	}
	if p.Metadata != nil {
		if err := checkArgs(op, p.Metadata, e.cfg.MaxArgsBytes); err != nil {
			return err
		}
		text := string(p.Metadata)
		metadata = &text
	}
	h := beating{
		closing: closing{e: e, op: op, receipts: []Receipt{receipt}}, args: []any{p.Percent, message, metadata},
	}
	h.statement = func(at children) string { return e.sql.get("progress", at) }
	results, err := h.run(ctx)
	if err != nil {
		return err
	}
	return results[0].Err
}

// beating writes states. It goes by the places of the attempts, as closing does, and finds what is open by the same
// statement; but nobody is waited for.
type beating struct {
	closing
	statement func(children) string
	args      []any
}

func (h *beating) run(ctx context.Context) ([]Result, error) {
	if err := h.check(); err != nil || len(h.receipts) == 0 {
		return nil, err
	}
	busy := map[int64]bool{}
	err := h.e.transact(ctx, h.op, func(t *txn) (bool, error) {
		h.closed = map[Receipt]JobState{}
		clear(busy)
		if err := h.tryKeys(ctx, t, busy); err != nil {
			return false, err
		}
		err := h.beat(ctx, t, busy)
		return len(h.closed) > 0, err
	})
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(h.receipts))
	for i, r := range h.receipts {
		results[i].Receipt = r
		_, open := h.closed[r]
		switch {
		case open:
		case busy[r.batch]:
			results[i].Err = &Error{Op: h.op, Value: "attempt " + r.String(), Err: ErrClosing}
		default:
			results[i].Err = &Error{Op: h.op, Value: "attempt " + r.String(), Err: ErrStale}
		}
	}
	return results, nil
}

// tryKeys takes the keys of the claims, beside other heartbeats; busy are the batches that somebody is closing.
func (h *beating) tryKeys(ctx context.Context, t *txn, busy map[int64]bool) error {
	batches := map[int64]bool{}
	for _, r := range h.receipts {
		batches[r.batch] = true
	}
	order := slices.Sorted(maps.Keys(batches))
	keys := make([]int64, len(order))
	for i, batch := range order {
		keys[i] = key(h.e.cfg.Schema, keyBatch, batch)
	}
	var got []bool
	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(h.e.sql.get("plan_settings", children{}))
	b.Queue(h.e.sql.get("try_shared_keys", children{}), keys).QueryRow(func(row pgx.Row) error { return row.Scan(&got) })
	if err := send(ctx, t, &b); err != nil {
		return err
	}
	for i, ok := range got {
		if !ok {
			busy[order[i]] = true
		}
	}
	return nil
}

// beat writes the states of what is open; closed then holds what was found open.
func (h *beating) beat(ctx context.Context, t *txn, busy map[int64]bool) error {
	groups := map[place]members{}
	for _, r := range h.receipts {
		if busy[r.batch] {
			continue
		}
		if groups[placeOf(r)] == nil {
			groups[placeOf(r)] = members{}
		}
		groups[placeOf(r)].add(r)
	}
	var b pgx.Batch
	for _, p := range slices.SortedFunc(maps.Keys(groups), comparePlaces) {
		h.queue(&b, h.statement, p, groups[p], h.args...)
	}
	return send(ctx, t, &b)
}
