package soak

import (
	"errors"
	"fmt"
	"time"
)

// Plan says what is run. The zero value is the whole of it.
type Plan struct {
	// Duration is how long the load lasts. Zero means 10 minutes; at least 3 seconds, a second for each third.
	Duration time.Duration
	// Clients is how many enqueue, claim and close at once. Zero means 4.
	Clients int
	// Rate is how many jobs a second are enqueued. Zero means as many as the clients can.
	Rate float64
	// Pinned keeps another session's snapshot open through the load.
	Pinned bool
	// AuditAtEnd leaves out the audits of each second, which take a share of the machine that grows with the tables: for loads
	// that are to show how fast the engine is.
	AuditAtEnd bool
	// Settle is how long the server's autovacuum has, after the load, to bring the dead tuples under their limit. Zero means
	// no limit: less than a minute shows nothing, since by default it comes by once a minute.
	Settle time.Duration
	// Seed draws what each job's fate is; the same seed draws the same fates, though not the same interleavings.
	Seed uint64
}

const (
	turnEvery     = 250 * time.Millisecond // rotation and prune of each ring
	sweepEvery    = time.Second            // rescue, deadlines, timeouts
	promoteEvery  = 100 * time.Millisecond
	operatorEvery = 2 * time.Second
	auditEvery    = time.Second
	watchEvery    = time.Second
	drainLimit    = time.Minute
)

func (p Plan) withDefaults() (Plan, error) {
	if p.Duration == 0 {
		p.Duration = 10 * time.Minute
	}
	if p.Clients == 0 {
		p.Clients = 4
	}
	var errs []error
	if p.Duration < 3*time.Second {
		errs = append(errs, fmt.Errorf("a load of %s has no thirds", p.Duration))
	}
	if p.Clients < 1 || p.Clients > 64 {
		errs = append(errs, fmt.Errorf("%d clients: must be 1 to 64", p.Clients))
	}
	if p.Rate < 0 {
		errs = append(errs, fmt.Errorf("%v jobs a second", p.Rate))
	}
	if p.Settle < 0 {
		errs = append(errs, fmt.Errorf("settling for %s", p.Settle))
	}
	return p, errors.Join(errs...)
}
