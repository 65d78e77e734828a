package model

import (
	"fmt"
	"slices"
)

// The properties of waits.

// P3: a parked attempt has nobody who could give a sign of life; the stale sweep leaves it alone, however old it is.
func waitingIsNotStale(p Step) error {
	if _, ok := p.Action.(RescueStale); !ok {
		return nil
	}
	for _, l := range p.Pre.Leases() {
		if after, ok := p.Post.Lease(l.ID()); !ok || after != l {
			return fmt.Errorf("attempt %s waits, and was taken for dead", l.ID())
		}
	}
	return nil
}

func sweepsBesideWaiting(p Step) bool {
	_, ok := p.Action.(RescueStale)
	return ok && len(p.Pre.Leases()) > 0
}

// P3, hazard 33: a callback that was taken is there until its park, and is delivered by it; the park of a token whose
// callback is there never waits. A wait ends by its callback, or with its attempt.
func callbacksArrive(p Step) error {
	for _, before := range p.Pre.AttemptStates() {
		after, open := p.Post.AttemptState(before.ID())
		for token := 1; token <= MaxToken; token++ {
			bit := 1 << token
			if open && before.Early&bit != 0 && after.Early&bit == 0 && after.Callback != token {
				return fmt.Errorf("callback %d of attempt %s was kept for its park, and is lost", token, before.ID())
			}
		}
	}
	for _, l := range p.Pre.Leases() {
		state, open := p.Post.AttemptState(l.ID())
		if _, still := p.Post.Lease(l.ID()); open && !still && state.Callback != l.Token {
			return fmt.Errorf("attempt %s goes on, and callback %d has not come", l.ID(), l.Token)
		}
	}
	resume, ok := p.Action.(Resume)
	if !ok || p.Result == WaitStale {
		return nil
	}
	state, _ := p.Post.AttemptState(resume.Attempt)
	if _, parked := p.Post.Lease(resume.Attempt); state.Callback != resume.Token && state.Early&(1<<resume.Token) == 0 ||
		p.Result == Resumed && (parked || state.Heartbeat < resume.Now) {
		return fmt.Errorf("%s answers %s, and the state is %+v", resume, p.Result, state)
	}
	return nil
}

// callbackMatters: one is there, or is waited for.
func callbackMatters(p Step) bool {
	return len(p.Pre.Leases()) > 0 || slices.ContainsFunc(p.Pre.AttemptStates(), func(a AttemptRow) bool { return a.Early != 0 })
}

// P3: a sweep of timeouts closes what has waited too long and nothing else, and leaves such a one only for its limit.
func timeoutsAreKept(p Step) error {
	sweep, ok := p.Action.(CallbackTimeout)
	if !ok {
		return nil
	}
	closed := newlyRescued(p)
	r := p.Result.(RescuedCount)
	if r.closed() != len(closed) || len(closed) > sweep.Limit {
		return fmt.Errorf("%s answers %s and closed %d", sweep, r, len(closed))
	}
	late := func(l LeaseRow) bool { return l.Timeout != 0 && l.Timeout <= sweep.Now }
	for _, c := range closed {
		if l, parked := p.Pre.Lease(c.ID()); !parked || !late(l) {
			return fmt.Errorf("attempt %s was closed by %s, and its wait is %+v", c.ID(), sweep, l)
		}
	}
	for _, l := range p.Post.Leases() {
		if late(l) && !kept(p.Pre, l.ID()) && len(closed)+r.Busy < sweep.Limit {
			return fmt.Errorf("the wait of attempt %s timed out at %d, and %s left it", l.ID(), l.Timeout, sweep)
		}
	}
	return nil
}

// timeoutMatters: the sweep closed one attempt and left another open.
func timeoutMatters(p Step) bool {
	_, ok := p.Action.(CallbackTimeout)
	return ok && rescued(p) && slices.ContainsFunc(p.Post.Claims(), func(c ClaimRow) bool { return c.Outcome == Open })
}
