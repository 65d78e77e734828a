package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// rounds injects the faults, one round after the other.
func (d *driver) rounds(ctx context.Context) error {
	began := time.Now()
	for n := 1; n <= d.cfg.Rounds || time.Since(began) < d.cfg.Duration; n++ {
		for _, f := range d.cfg.Faults {
			if err := d.untilFlowing(ctx, d.moment()); err != nil {
				return fmt.Errorf("round %d: %w", n, err)
			}
			at := d.watch.now()
			inject := d.killServer
			if f == WorkerKill {
				inject = d.killWorker
			}
			over, err := inject(ctx, at)
			if err != nil {
				return fmt.Errorf("round %d: %w", n, err)
			}
			if ok, err := d.untilRecovered(ctx, at, over); err != nil || !ok {
				return err // what didn't recover is for the judge; there is no point in another round
			}
		}
	}
	return d.untilFlowing(ctx, 0) // as before the first
}

// moment draws how long the load must have been flowing when the fault comes.
func (d *driver) moment() time.Duration {
	return time.Duration(d.rng.IntN(int(window/time.Millisecond))) * time.Millisecond
}

// untilFlowing returns when the load has been flowing for so long, and is at this moment.
func (d *driver) untilFlowing(ctx context.Context, long time.Duration) error {
	wanted := d.cfg.MinRate + d.cfg.MinRate/20 // the judge counts to the fault itself, a moment later
	deadline := time.Now().Add(d.cfg.FlowWithin)
	best := 0
	var since time.Time // flowing since
	for {
		if err := d.look(); err != nil {
			return err
		}
		rate := d.flow.rate(d.watch.now())
		best = max(best, rate)
		switch {
		case rate < wanted:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= long:
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: at best %d jobs/s in %s, %d were to flow", ErrTooLittle, best, d.cfg.FlowWithin, d.cfg.MinRate)
		}
		if !pause(ctx, pollEvery) {
			return ctx.Err()
		}
	}
}

// look reads the journals and makes sure that every worker lives.
func (d *driver) look() error {
	for i, p := range d.alive {
		if p.ended() {
			d.alive = slices.Delete(d.alive, i, i+1)
			return errors.Join(errDied, d.tell(p.death(p.err)))
		}
	}
	return d.flow.read()
}

// killServer returns when the server runs again, and says when it was gone.
func (d *driver) killServer(ctx context.Context, at int64) (over int64, err error) {
	if err := d.server.Kill(); err != nil {
		return 0, err
	}
	over = d.watch.now()
	if err := d.tell(event{At: at, Over: over, What: eventFault, Fault: ServerKill}); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := d.server.Restart(ctx); err != nil {
		return 0, err
	}
	return over, d.tell(event{What: eventServer, Note: fmt.Sprintf("again, %.2f s after its start", time.Since(began).Seconds())})
}

// killWorker kills one worker of any role and starts another in its place.
func (d *driver) killWorker(_ context.Context, at int64) (over int64, err error) {
	i := d.rng.IntN(len(d.alive))
	p := d.alive[i]
	p.kill()
	over = d.watch.now()
	p.order() // closes our end of the pipe
	d.alive = slices.Delete(d.alive, i, i+1)
	if err := d.tell(event{At: at, Over: over, What: eventFault, Fault: WorkerKill, Who: p.spec.Name}); err != nil {
		return 0, err
	}
	return over, d.startWorker(p.spec.Role)
}

// untilRecovered waits for the first claim that began after the fault and handed something out.
func (d *driver) untilRecovered(ctx context.Context, fault, over int64) (bool, error) {
	deadline := time.Now().Add(d.cfg.RecoverWithin)
	defer d.flow.forget()
	for {
		if err := d.look(); err != nil {
			return false, err
		}
		if at, ok := recovered(d.flow.claimed, over); ok {
			note := fmt.Sprintf("%.2f s after the fault", time.Duration(at-fault).Seconds())
			return true, d.tell(event{At: at, What: eventRecovered, Note: note})
		}
		if time.Now().After(deadline) {
			return false, d.tell(event{What: eventNever, Note: fmt.Sprintf("within %s", d.cfg.RecoverWithin)})
		}
		if !pause(ctx, pollEvery) {
			return false, ctx.Err()
		}
	}
}
