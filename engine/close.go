package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// closing is a request to close attempts, as Complete, Fail, Retry and Snooze make it. Rescue shares its statements.
type closing struct {
	e        *Engine
	op       string
	to       JobState // where the jobs are to go
	receipts []Receipt
	messages map[int64]string        // by receipt id; nil where the statement takes none
	delays   map[int64]time.Duration // by receipt id; nil where the statement takes none
	closed   map[Receipt]JobState    // what this call closed, and where the jobs went
	callers  bool                    // in a caller's transaction, which may stay open
	stateful bool                    // some of their claims have attempts with a state
}

// place names where the rows of an attempt stand: its receipt and closure in the claim's generation, its evidence and
// history in its ready row's. The shape of the claim is part of it: claims of the two shapes stand in two tables.
type place struct {
	claim, ready int64
	local        bool
}

// placeOf is the place of the receipt's attempt.
func placeOf(r Receipt) place { return place{r.claimGeneration, r.readyGeneration, r.local} }

// members are the receipts that one statement closes, by claim batch and index.
type members map[member]map[int32]Receipt

// A member names a claim batch; where two receipts of the call name different attempts at one index of it, of which one
// can't be right, they go into different rounds.
type member struct {
	batch int64
	round int
}

// add puts the receipt in, once.
func (m members) add(r Receipt) {
	for at := (member{batch: r.batch}); ; at.round++ {
		if m[at] == nil {
			m[at] = map[int32]Receipt{}
		}
		other, taken := m[at][r.index]
		if !taken {
			m[at][r.index] = r
		}
		if !taken || other == r {
			return
		}
	}
}

// inOrder returns the keys in the order of batches.
func (m members) inOrder() []member {
	return slices.SortedFunc(maps.Keys(m), func(a, b member) int {
		return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.round, b.round))
	})
}

// ids returns the receipts' identities, sorted, each once.
func (m members) ids() []int64 {
	var ids []int64
	for _, receipts := range m {
		for _, r := range receipts {
			ids = append(ids, r.id())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// attempts is what open_members compares with the claim: the first index, then the job ids from there on, then the run
// leases; 0 where an index isn't asked for.
func attempts(receipts map[int32]Receipt) string {
	lo, hi := int32(receiptsPerBatch), int32(0)
	for i := range receipts {
		lo, hi = min(lo, i), max(hi, i)
	}
	n := int(hi - lo + 1)
	numbers := make([]int64, 1+2*n)
	numbers[0] = int64(lo)
	for i, r := range receipts {
		numbers[1+i-lo], numbers[1+n+int(i-lo)] = r.job, r.runLease
	}
	text := make([]byte, 0, 8*len(numbers))
	for i, v := range numbers {
		text = strconv.AppendInt(append(text, "{,"[min(i, 1)]), v, 10)
	}
	return string(append(text, '}'))
}

func (c *closing) check() error {
	if len(c.receipts) > maxSweep {
		return invalid(c.op, fmt.Sprintf("%d receipts", len(c.receipts)), "at most %d", maxSweep)
	}
	for i, r := range c.receipts {
		if err := checkReceipt(c.op, fmt.Sprintf("receipt %d of the call", i), r); err != nil {
			return err
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
		c.closed = map[Receipt]JobState{}
		c.stateful = false
		err := c.close(ctx, t)
		return len(c.closed) > 0, err
	})
	if err != nil {
		return nil, err
	}
	return c.results(), nil
}

// results tells what became of each receipt of the call.
func (c *closing) results() []Result {
	results := make([]Result, len(c.receipts))
	for i, r := range c.receipts {
		results[i].Receipt = r
		if to, ok := c.closed[r]; ok {
			results[i].State = to
			delete(c.closed, r) // a second mention finds the attempt over, as a second call would (hazard 28)
			continue
		}
		results[i].Err = &Error{Op: c.op, Value: "attempt " + r.String(), Err: ErrStale}
	}
	return results
}

// close takes the keys, then the children, and only then looks: whatever another closer committed while this one waited
// is visible to the statements that decide (P3).
func (c *closing) close(ctx context.Context, t *txn) error {
	groups := map[place]members{}
	var batches []int64
	for _, r := range c.receipts {
		p := placeOf(r)
		if groups[p] == nil {
			groups[p] = members{}
		}
		groups[p].add(r)
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
	if err := send(ctx, t, &b); err != nil || !c.stateful {
		return err
	}
	var over []int64
	for r := range c.closed {
		over = append(over, r.id())
	}
	return c.e.forget(ctx, t, over, c.callers)
}

// forget takes away what is told of attempts that this transaction has closed, and the leases of those that have one: found
// by the attempts, in whatever slot they stand (hazard 6).
func (e *Engine) forget(ctx context.Context, t *txn, receipts []int64, callers bool) error {
	rows, err := t.Query(ctx, e.sql.get("forget", children{}), receipts)
	if err != nil {
		return err
	}
	var jobs, leases []int64
	var job, lease int64
	var leased bool
	if _, err := pgx.ForEachRow(rows, []any{&job, &lease, &leased}, func() error {
		if leased {
			jobs, leases = append(jobs, job), append(leases, lease)
		}
		return nil
	}); err != nil || len(jobs) == 0 {
		return err
	}
	if callers {
		return e.releaseIn(ctx, t, jobs, leases)
	}
	_, err = t.Exec(ctx, e.sql.get("release", children{}), jobs, leases)
	return err
}

// releaseIn takes leases away and locks no other child of the ring than theirs. The attempts' keys are held: a lease that was
// found stays where it is, and keeps its slot from being pruned.
func (e *Engine) releaseIn(ctx context.Context, t *txn, jobs, leases []int64) error {
	look, err := t.Begin(ctx)
	if err != nil {
		return err
	}
	rows, err := look.Query(ctx, e.sql.get("find_leases", children{}), jobs, leases)
	if err != nil {
		return err
	}
	var b pgx.Batch
	var slot int
	var job, lease int64
	_, err = pgx.ForEachRow(rows, []any{&slot, &job, &lease}, func() error {
		b.Queue(e.sql.get("unpark", children{Lease: slot}), job, lease)
		return nil
	})
	if err != nil {
		return err
	}
	if err := look.Rollback(ctx); err != nil || b.Len() == 0 {
		return err
	}
	return send(ctx, t, &b)
}

// comparePlaces orders by claim generation, so that closure rows are written slot by slot.
func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.claim, b.claim), compareShapes(a.local, b.local), cmp.Compare(a.ready, b.ready))
}

// compareShapes puts batches before row-local claims.
func compareShapes(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// queueChildLocks names every child that closing at these places writes: claim children first, each slot once.
func (e *Engine) queueChildLocks(b *pgx.Batch, places []place) {
	var claims []children
	var readies []int
	for _, p := range places {
		claims = append(claims, children{Claim: e.claim.slot(p.claim), Local: p.local})
		readies = append(readies, e.queue.slot(p.ready))
	}
	order := func(a, b children) int {
		return cmp.Or(cmp.Compare(a.Claim, b.Claim), compareShapes(a.Local, b.Local))
	}
	slices.SortFunc(claims, order)
	for _, c := range slices.CompactFunc(claims, func(a, b children) bool { return order(a, b) == 0 }) {
		b.Queue(e.sql.get("lock_closures", c))
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
	name := "complete"
	switch c.to {
	case JobFailed:
		name = "fail"
	case JobRetryable:
		name = "retry"
	case JobScheduled:
		name = "snooze"
	case JobCancelled:
		name = "cancel_running"
	}
	c.queue(b, func(at children) string { return c.e.sql.get(name, at) }, p, m, c.details(m)...)
}

// queue runs a statement on those of the members at one place that are open.
func (c *closing) queue(b *pgx.Batch, statement func(children) string, p place, m members, more ...any) {
	order := m.inOrder()
	batches, asked := make([]int64, len(order)), make([]string, len(order))
	for i, at := range order {
		batches[i], asked[i] = at.batch, attempts(m[at])
	}
	at := children{Claim: c.e.claim.slot(p.claim), Queue: c.e.queue.slot(p.ready), Local: p.local}
	args := append([]any{p.claim, []int64{p.ready}, batches, asked, c.e.now()}, more...)
	b.Queue(statement(at), args...).Query(func(rows pgx.Rows) error {
		var text, failedText, heldText string
		var place int
		var stateful bool
		var closed, written int64
		_, err := pgx.ForEachRow(rows, []any{&place, &text, &failedText, &heldText, &written, &stateful}, func() error {
			c.stateful = c.stateful || stateful
			done, err := parseSpans(text)
			if err != nil {
				return err
			}
			failed, err := parseSpans(failedText)
			if err != nil {
				return err
			}
			held, err := parseSpans(heldText)
			if err != nil {
				return err
			}
			closed += done.size()
			for _, r := range m[order[place-1]] {
				switch id := r.id(); {
				case !done.contains(id): // another round of the batch may have closed the receipt, of another attempt
				case held.contains(id):
					c.closed[r] = JobDLQ
				case failed.contains(id):
					c.closed[r] = JobFailed
				default:
					c.closed[r] = c.to
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

// details are the parameters that say something of each attempt: receipt ids, sorted, and beside them what the statement
// finds by them.
func (c *closing) details(m members) []any {
	if c.messages == nil && c.delays == nil {
		return nil
	}
	ids := m.ids()
	args := []any{ids}
	if c.messages != nil {
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = c.messages[id]
		}
		args = append(args, texts)
	}
	if c.delays != nil {
		micros := make([]int64, len(ids))
		for i, id := range ids {
			micros[i] = c.delays[id].Microseconds()
		}
		args = append(args, micros)
	}
	return args
}
