package model

import (
	"cmp"
	"slices"
)

// Park lets an attempt wait for an answer from outside, Resume brings the answer, CallbackTimeout ends waits that took too
// long. A wait is a lease; the attempt stays open through all of it, so that what closes attempts needs no other rule: it
// takes the lease away with the claim, and with it the token (P3).

// WaitAnswer says what became of a Park or a Resume.
type WaitAnswer string

// The answers of Park and Resume. All but Parked, Delivered, Resumed and Kept say that nothing was changed.
const (
	Parked WaitAnswer = "parked"
	// Delivered: the callback has come already, before the park or since an earlier call of it; the attempt goes on.
	Delivered WaitAnswer = "delivered"
	Resumed   WaitAnswer = "resumed"
	// Kept: the attempt doesn't wait for this token yet; its park will find the callback (hazard 33).
	Kept WaitAnswer = "kept"
	// Repeated: the callback of this token has come before.
	Repeated WaitAnswer = "repeated"
	// WaitsAlready: the attempt waits for another token.
	WaitsAlready WaitAnswer = "waits_already"
	// WaitStale: the attempt is over.
	WaitStale WaitAnswer = "stale"
)

func (WaitAnswer) isResult()        {}
func (a WaitAnswer) String() string { return string(a) }

// Park asks for the callback before it waits: one that came first would never come again.
func (a Park) apply(s Store) (Result, error) {
	if a.Token < 1 || a.Token > MaxToken || a.Timeout < 0 {
		return nil, disabled(a, "a token is 1 to %d, and no timeout is negative", MaxToken)
	}
	c, ok := s.Claim(a.Attempt)
	if !ok || c.Outcome != Open {
		return WaitStale, nil
	}
	if l, waits := s.Lease(a.Attempt); waits {
		if l.Token == a.Token {
			return Parked, nil // asked again: the wait that began goes on as it is
		}
		return WaitsAlready, nil
	}
	row := stateOf(s, a.Attempt)
	if row.Callback == a.Token {
		return Delivered, nil
	}
	row.Heartbeat = max(row.Heartbeat, a.Now)
	if bit := 1 << a.Token; row.Early&bit != 0 {
		row.Early &^= bit
		row.Callback = a.Token
		s.PutAttemptState(row)
		return Delivered, nil
	}
	row.Leased = true
	s.PutAttemptState(row)
	l := LeaseRow{Job: c.Job, Lease: c.Lease, Lane: c.Lane, Gen: s.Vars().Leases.Generation, Token: a.Token}
	if a.Timeout > 0 {
		l.Timeout = a.Now + a.Timeout
	}
	s.PutLease(l)
	return Parked, nil
}

// MaxToken is the highest name of a callback here: those that wait for their park are bits of a number.
const MaxToken = 30

// Resume is the newest sign of life of the attempt: from here on the stale sweep owns it again (hazard 24).
func (a Resume) apply(s Store) (Result, error) {
	if a.Token < 1 || a.Token > MaxToken {
		return nil, disabled(a, "a token is 1 to %d", MaxToken)
	}
	c, ok := s.Claim(a.Attempt)
	if !ok || c.Outcome != Open {
		return WaitStale, nil
	}
	row := stateOf(s, a.Attempt)
	if l, waits := s.Lease(a.Attempt); waits && l.Token == a.Token {
		s.DropLease(a.Attempt)
		row.Heartbeat = max(row.Heartbeat, a.Now)
		row.Callback = a.Token
		s.PutAttemptState(row)
		return Resumed, nil
	}
	if row.Callback == a.Token || row.Early&(1<<a.Token) != 0 {
		return Repeated, nil
	}
	// Whoever answers early is not the worker: it is no sign of life.
	row.Early |= 1 << a.Token
	s.PutAttemptState(row)
	return Kept, nil
}

// stateOf is what the attempt has told, or the beginning of it.
func stateOf(s Store, id AttemptID) AttemptRow {
	row, known := s.AttemptState(id)
	if !known {
		row = AttemptRow{Job: id.Job, Lease: id.Lease}
	}
	return row
}

// CallbackTimeout closes attempts whose wait has taken too long, in the order of their claims.
func (a CallbackTimeout) apply(s Store) (Result, error) {
	if a.Limit < 1 {
		return nil, disabled(a, "the limit is less than 1")
	}
	var late []ClaimRow
	for _, l := range s.Leases() {
		if c, ok := s.Claim(l.ID()); ok && c.Outcome == Open && l.Timeout != 0 && l.Timeout <= a.Now {
			late = append(late, c)
		}
	}
	slices.SortFunc(late, byClaim)
	return giveBack(s, late, a.Limit, CallbackTimedOut, a.Now), nil
}

// byClaim is the order of the third rescue.
func byClaim(a, b ClaimRow) int {
	return cmp.Or(cmp.Compare(a.Gen, b.Gen), cmp.Compare(a.Local, b.Local), cmp.Compare(a.Receipt, b.Receipt))
}

// waits says whether the attempt of an open claim is parked.
func waits(s Store, id AttemptID) bool {
	_, parked := s.Lease(id)
	return parked
}

// RotateLeases counts leases; where nobody waits there is nothing to move away from.
func (a RotateLeases) apply(s Store) (Result, error) {
	v := s.Vars()
	rows := 0
	for gen := v.Leases.Pruned; gen <= v.Leases.Generation; gen++ {
		rows += s.LeaseSlot(gen).Waiting
	}
	status := rotate(&v.Leases, s.Config().leaseSlots(), rows == 0)
	s.SetVars(v)
	return status, nil
}

// PruneLeases needs an empty slot: a lease is gone when its wait is over, and while it isn't nothing else knows of it.
func (a PruneLeases) apply(s Store) (Result, error) {
	v := s.Vars()
	gen := v.Leases.Pruned
	if !v.Leases.Sealed(gen) {
		return Nothing, nil
	}
	if s.LeaseSlot(gen).Waiting > 0 {
		return SkippedActive, nil
	}
	s.DropLeaseGeneration(gen)
	v.Leases.Pruned++
	s.SetVars(v)
	return Pruned, nil
}
