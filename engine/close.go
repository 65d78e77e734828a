package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// closing is a request to close attempts, as Complete and Fail make it. Rescue shares its statements.
type closing struct {
	e        *Engine
	op       string
	receipts []Receipt
	messages map[int64]string // by receipt id; Fail only
	closed   map[int64]bool   // by receipt id: what this call closed
}

// place names where the rows of an attempt stand: its receipt and closure in the claim's generation, its evidence and
// history in its ready row's.
type place struct{ claim, ready int64 }

// members are the receipts that one statement closes, by claim batch.
type members map[int64][]int64

func (c *closing) check() error {
	if len(c.receipts) > maxSweep {
		return invalid(c.op, fmt.Sprintf("%d receipts", len(c.receipts)), "at most %d", maxSweep)
	}
	for i, r := range c.receipts {
		if r.batch <= 0 || r.index < 0 || r.index >= receiptsPerBatch || r.claimGeneration < 0 || r.readyGeneration < 0 {
			return invalid(c.op, fmt.Sprintf("receipt %d of the call", i), "not a receipt of a claim")
		}
	}
	return nil
}

// run closes all attempts of the call that are open, in one transaction. Waiting is bounded by ctx and by what others
// do under the same keys: a completion or failure of attempts of the same claim batch, or their rescue.
func (c *closing) run(ctx context.Context) ([]Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(c.receipts) == 0 {
		return nil, nil
	}
	err := c.e.transact(ctx, c.op, func(t *txn) (bool, error) {
		c.closed = map[int64]bool{}
		err := c.close(ctx, t)
		return len(c.closed) > 0, err
	})
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(c.receipts))
	for i, r := range c.receipts {
		results[i].Receipt = r
		if c.closed[r.id()] {
			delete(c.closed, r.id()) // a second mention finds the attempt over, as a second call would (hazard 28)
			continue
		}
		results[i].Err = &Error{Op: c.op, Value: "attempt " + r.String(), Err: ErrStale}
	}
	return results, nil
}

// close takes the keys, then the children, and only then looks: whatever another closer committed while this one waited
// is visible to the statements that decide (P3).
func (c *closing) close(ctx context.Context, t *txn) error {
	groups := map[place]members{}
	var batches []int64
	for _, r := range c.receipts {
		p := place{r.claimGeneration, r.readyGeneration}
		if groups[p] == nil {
			groups[p] = members{}
		}
		groups[p][r.batch] = append(groups[p][r.batch], r.id())
		batches = append(batches, r.batch)
	}
	places := slices.SortedFunc(maps.Keys(groups), comparePlaces)

	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(c.e.sql.get("plan_settings", children{}))
	b.Queue(c.e.sql.get("lock_keys", children{}), batchKeys(c.e.cfg.Schema, batches))
	c.e.queueChildLocks(&b, places)
	for _, p := range places {
		c.queueStatement(&b, p, groups[p])
	}
	return send(ctx, t, &b)
}

// comparePlaces orders by claim generation, so that closure rows are written slot by slot.
func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.claim, b.claim), cmp.Compare(a.ready, b.ready))
}

// queueChildLocks names every child that closing at these places writes: claim children first, each slot once.
func (e *Engine) queueChildLocks(b *pgx.Batch, places []place) {
	var claims, readies []int
	for _, p := range places {
		claims = append(claims, e.claim.slot(p.claim))
		readies = append(readies, e.queue.slot(p.ready))
	}
	for _, s := range sortedSet(claims) {
		b.Queue(e.sql.get("lock_closures", children{Claim: s}))
	}
	for _, s := range sortedSet(readies) {
		b.Queue(e.sql.get("lock_history", children{Queue: s}))
	}
}

func sortedSet(s []int) []int {
	slices.Sort(s)
	return slices.Compact(s)
}

// queueStatement closes the members at one place and writes their history.
func (c *closing) queueStatement(b *pgx.Batch, p place, m members) {
	batches := slices.Sorted(maps.Keys(m))
	asked := make([]string, len(batches))
	for i, id := range batches {
		asked[i] = spansOf(m[id]).String()
	}
	at := children{Claim: c.e.claim.slot(p.claim), Queue: c.e.queue.slot(p.ready)}
	name, args := "complete", []any{p.claim, []int64{p.ready}, batches, asked, c.e.now()}
	if c.messages != nil {
		var ids []int64
		for _, id := range batches {
			ids = append(ids, m[id]...)
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = c.messages[id]
		}
		name, args = "fail", append(args, ids, texts)
	}
	b.Queue(c.e.sql.get(name, at), args...).Query(func(rows pgx.Rows) error {
		var text string
		var closed, written int64
		_, err := pgx.ForEachRow(rows, []any{&text, &written}, func() error {
			done, err := parseSpans(text)
			if err != nil {
				return err
			}
			closed += done.size()
			for _, ids := range m {
				for _, id := range ids {
					if done.contains(id) {
						c.closed[id] = true
					}
				}
			}
			return nil
		})
		if err == nil && closed != written {
			// A closure without its history would lose the job's outcome (P2): roll back rather than go on.
			err = fmt.Errorf("%w: %d attempts closed but %d outcomes written in ready generation %d", ErrCorrupt, closed, written, p.ready)
		}
		return err
	})
}
