package linearizability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awa-engine/awa/engine"
)

const (
	claimMost = 16 // jobs of one claim, but in the drain
	calmCalls = 12 // rounds of a client that is alone
	holdMost  = 40 // attempts that a client holds before it has to close some
)

// A board is what the clients know of each other's jobs.
type board struct {
	mu     sync.Mutex
	recent [512]int64 // ids, among them such as were rolled back
	next   int
	live   map[int64]bool // committed, and not known to be over
}

func newBoard() *board { return &board{live: map[int64]bool{}} }

func (b *board) add(jobs []job, live bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range jobs {
		b.recent[b.next%len(b.recent)] = j.ID
		b.next++
		if live {
			b.live[j.ID] = true
		}
	}
}

func (b *board) over(attempts []attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range attempts {
		if !a.Stale {
			delete(b.live, a.Job)
		}
	}
}

// busy says whether there is anything to claim, as far as is known.
func (b *board) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.live) > 0
}

// pick is a job that somebody enqueued lately; 0 when there is none.
func (b *board) pick(rng *rand.Rand) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == 0 {
		return 0
	}
	return b.recent[rng.IntN(min(b.next, len(b.recent)))]
}

// late is an attempt that its client closes about when it becomes stale: the race of a completion against a rescue.
type late struct {
	receipt engine.Receipt
	until   time.Time
}

// A client makes one call at a time. What it does next is drawn.
type client struct {
	*run
	id   int
	p    *process
	rng  *rand.Rand
	held []engine.Receipt
	late []late
	past []engine.Receipt // closed, the newest
	made int              // batches of jobs, for their marks
}

func (r *run) newClient(id int, p *process) *client {
	return &client{run: r, id: id, p: p, rng: rand.New(rand.NewPCG(r.cfg.Seed, uint64(id)+1))}
}

// work makes the client's share of the calls. Then, while all others rest, the first client claims alone, so that its
// claims can be judged without an excuse; and all drain the queues until drained is done.
func (c *client) work(ctx, drained context.Context, calls int, rest *rest) error {
	for range calls {
		if ctx.Err() != nil {
			break
		}
		if err := c.step(ctx); err != nil {
			return err
		}
		c.told()
	}
	rest.arrive()
	if c.id == 0 && rest.wait(ctx) {
		if err := c.alone(ctx); err != nil {
			return err
		}
		rest.end()
	}
	rest.over(ctx)
	for drained.Err() == nil {
		moved, err := c.drain(ctx)
		if err != nil {
			return err
		}
		if !moved && !pause(drained, 40*time.Millisecond) {
			break
		}
	}
	return nil
}

// alone enqueues and claims, a little at a time: more comes than goes, so that there is always something to choose from.
func (c *client) alone(ctx context.Context) error {
	for range calmCalls {
		if err := c.enqueue(ctx, opEnqueueMany, 1+c.rng.IntN(8)); err != nil {
			return err
		}
		for _, q := range queues {
			if err := c.claim(ctx, q, 1+c.rng.IntN(4)); err != nil {
				return err
			}
		}
		if err := c.close(ctx, opComplete, c.take(len(c.held))); err != nil {
			return err
		}
	}
	return nil
}

// A rest is when all clients but one wait.
type rest struct {
	working atomic.Int64
	begun   chan struct{} // closed when no client works any more
	ended   chan struct{} // closed when they may go on
}

func newRest(clients int) *rest {
	r := &rest{begun: make(chan struct{}), ended: make(chan struct{})}
	r.working.Store(int64(clients))
	return r
}

func (r *rest) arrive() {
	if r.working.Add(-1) == 0 {
		close(r.begun)
	}
}

func (r *rest) end() { close(r.ended) }

// wait waits for all to arrive, over for the end; wait is false when ctx is done before that.
func (r *rest) wait(ctx context.Context) bool {
	select {
	case <-r.begun:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *rest) over(ctx context.Context) {
	select {
	case <-r.ended:
	case <-ctx.Done():
	}
}

// step makes one call, or lets the client die and come back.
func (c *client) step(ctx context.Context) error {
	if due := c.dueLate(); len(due) > 0 {
		return c.close(ctx, opComplete, due)
	}
	if len(c.held) >= holdMost {
		return c.close(ctx, opComplete, c.take(len(c.held)))
	}
	switch n := c.rng.IntN(1000); {
	case n < 120:
		return c.enqueue(ctx, opEnqueue, 1)
	case n < 190:
		return c.enqueue(ctx, opEnqueueMany, 1+c.rng.IntN(8))
	case n < 280:
		return c.enqueueTx(ctx, 1+c.rng.IntN(4))
	case n < 350:
		return c.look(ctx)
	case n < 360:
		return c.die(ctx)
	case n < 510:
		return c.claim(ctx, queues[c.rng.IntN(len(queues))], 1+c.rng.IntN(claimMost))
	case n < 550 && len(c.past) > 0: // once more, which must change nothing (P3)
		return c.close(ctx, opFail, []engine.Receipt{c.past[c.rng.IntN(len(c.past))]})
	case len(c.held) == 0 && c.board.busy():
		return c.claim(ctx, queues[c.rng.IntN(len(queues))], claimMost)
	case len(c.held) == 0:
		return c.enqueue(ctx, opEnqueueMany, 1+c.rng.IntN(8))
	case n < 620:
		return c.close(ctx, opFail, c.take(1+c.rng.IntN(2)))
	default:
		some := c.take(1 + c.rng.IntN(len(c.held)))
		if c.rng.IntN(50) == 0 { // one of them twice, of which the second must be told that it is stale (hazard 28)
			some = append(some, some[c.rng.IntN(len(some))])
		}
		return c.close(ctx, opComplete, some)
	}
}

// take takes n attempts out of the client's hands.
func (c *client) take(n int) []engine.Receipt {
	n = min(n, len(c.held))
	taken := append([]engine.Receipt(nil), c.held[:n]...)
	c.held = c.held[n:]
	return taken
}

func (c *client) dueLate() (due []engine.Receipt) {
	now := time.Now()
	rest := c.late[:0]
	for _, l := range c.late {
		if now.After(l.until) {
			due = append(due, l.receipt)
		} else {
			rest = append(rest, l)
		}
	}
	c.late = rest
	return due
}

// die forgets every attempt: nobody but a rescue gives those jobs back (P2). The client comes back as a process that
// knows no hints, on the connections of the old one.
func (c *client) die(ctx context.Context) error {
	c.held, c.late = nil, nil
	fresh, err := engine.Open(ctx, c.p.pool, engine.Config{Schema: c.p.schema})
	if err != nil {
		return err
	}
	again := *c.p
	again.eng, again.queue = fresh, fresh
	if again.wrap != nil {
		again.queue = again.wrap(fresh)
	}
	c.p = &again
	return nil
}

// drain claims and completes; it says whether there was anything to do.
func (c *client) drain(ctx context.Context) (moved bool, err error) {
	const limit = 50
	c.held = append(c.held, c.dueLate()...)
	for i := range queues {
		if err := c.claim(ctx, queues[(i+c.id)%len(queues)], limit); err != nil {
			return false, err
		}
	}
	if len(c.held) == 0 {
		return false, nil
	}
	return true, c.close(ctx, opComplete, c.take(len(c.held)))
}

// newJobs draws jobs. A quarter of the batches goes to one lane, so that its order can be seen within a batch, too.
func (c *client) newJobs(n int) ([]job, []engine.JobParams) {
	c.made++
	jobs, params := make([]job, n), make([]engine.JobParams, n)
	oneLane := c.rng.IntN(4) == 0
	for i := range jobs {
		if i == 0 || !oneLane {
			jobs[i] = job{Queue: queues[c.rng.IntN(len(queues))], Priority: 1 + c.rng.IntN(4)}
		} else {
			jobs[i] = job{Queue: jobs[0].Queue, Priority: jobs[0].Priority}
		}
		jobs[i].Max = 1 + c.rng.IntN(3)
		jobs[i].Mark = fmt.Sprintf("%d.%d.%d", c.id, c.made, i)
		params[i] = engine.JobParams{
			Queue: jobs[i].Queue, Kind: "k", Priority: jobs[i].Priority, MaxAttempts: jobs[i].Max,
			Args: fmt.Appendf(nil, `{"mark": %q}`, jobs[i].Mark),
		}
	}
	return jobs, params
}
