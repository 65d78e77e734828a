package linearizability

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// A Plan says what a run does; with the same seed the clients decide alike, though the schedule differs. Zero fields
// have defaults.
type Plan struct {
	Clients int    `json:"clients"` // concurrent ones; 16 when zero
	Ops     int    `json:"ops"`     // calls of all clients together, before the queues are drained; 20,000 when zero
	Seed    uint64 `json:"seed"`

	TurnEvery   time.Duration `json:"turn_every_ns"`   // both rings rotate and are pruned; 250 ms when zero
	RescueEvery time.Duration `json:"rescue_every_ns"` // by each of two leaders; 100 ms when zero
	StaleAfter  time.Duration `json:"stale_after_ns"`  // age at which an attempt is rescued; 300 ms when zero
	DrainWithin time.Duration `json:"drain_within_ns"` // bound on the end; 30 s when zero
	Disturb     int           `json:"disturb"`         // one call in so many loses its connection or its patience; 100 when zero

	QueueSlots int `json:"queue_slots"` // 6 when zero: small, so that the rings go round
	ClaimSlots int `json:"claim_slots"` // 3 when zero
}

// queues are what the jobs go into.
var queues = [...]string{"mail", "invoices"}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// withDefaults fills what is zero and refuses what shows nothing.
func (p Plan) withDefaults() (Plan, error) {
	orDefault(&p.Clients, 16)
	orDefault(&p.Ops, 20_000)
	orDefault(&p.TurnEvery, 250*time.Millisecond)
	orDefault(&p.RescueEvery, 100*time.Millisecond)
	orDefault(&p.StaleAfter, 300*time.Millisecond)
	orDefault(&p.DrainWithin, 30*time.Second)
	orDefault(&p.Disturb, 100)
	orDefault(&p.QueueSlots, 6)
	orDefault(&p.ClaimSlots, 3)
	for _, c := range []struct {
		what        string
		n, low, top int
	}{
		{"clients", p.Clients, 2, 128},
		{"operations", p.Ops, 100, 1_000_000},
		{"disturbed: one call in", p.Disturb, 10, 1_000_000},
		{"turn every, in ms", int(p.TurnEvery.Milliseconds()), 10, 60_000},
		{"stale after, in ms", int(p.StaleAfter.Milliseconds()), 50, 60_000},
	} {
		if c.n < c.low || c.n > c.top {
			return p, fmt.Errorf("linearizability: %s %d: outside %d..%d", c.what, c.n, c.low, c.top)
		}
	}
	return p, nil
}

// String is the plan in a line, for reports.
func (p Plan) String() string {
	return fmt.Sprintf("%d clients, %d operations, rings of %d and %d slots turned each %s, stale after %s, one call in %d disturbed",
		p.Clients, p.Ops, p.QueueSlots, p.ClaimSlots, p.TurnEvery, p.StaleAfter, p.Disturb)
}

// A Queue is what the clients use of an engine.
type Queue interface {
	Enqueue(ctx context.Context, job engine.JobParams) (int64, error)
	EnqueueMany(ctx context.Context, jobs []engine.JobParams) ([]int64, error)
	EnqueueTx(ctx context.Context, tx pgx.Tx, jobs ...engine.JobParams) ([]int64, error)
	Claim(ctx context.Context, queue string, limit int) ([]engine.Attempt, error)
	Complete(ctx context.Context, receipts []engine.Receipt) ([]engine.Result, error)
	Fail(ctx context.Context, failures []engine.Failure) ([]engine.Result, error)
	Job(ctx context.Context, id int64) (engine.Job, error)
}

// Config is a plan and where it is carried out.
type Config struct {
	Plan
	Server *pgtest.Server // required; the run makes a schema on it and drops it
	// Dir is where the history goes; empty means a new temporary folder, which a run without a finding removes.
	Dir string
	// Picture, when set, is a file to which a picture is written: of the first job that fits no life, or, when all fit,
	// of the busiest.
	Picture string
	// Wrap, when set, stands between the clients of one process and their engine: to see, or to plant a defect.
	Wrap func(Queue) Queue
	// Progress, when set, is called after each call of a client.
	Progress func(calls int)
}
