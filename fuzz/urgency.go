package fuzz

import (
	"slices"

	"github.com/awa-engine/awa/model"
)

// urgency makes more of moments that don't come often: a spent slot that only an open producer keeps, or that holds failed
// rows; somebody who waits, and has waited for too long; a queue whose failures are held.
func (g *generator) urgency(s model.Store, name string) int {
	leases := s.Vars().Leases
	switch {
	case name == "PruneQueue" && (heldByProducer(s) || carries(s)):
		return 12
	case name == "PruneClaims" && s.ClaimSlot(s.Vars().Claims.Pruned).Open > 0:
		return 2
	case name == "EnqueueTx" && len(s.Txs()) > 1 && slices.ContainsFunc(s.Uniques(), func(u model.UniqueRow) bool { return u.Tx != 0 }):
		return 3
	case name == "Job" && (len(s.Leases()) > 0 || len(deferred(s, model.JobRetryable)) > 0), name == "Park" && g.theme == themeWaits:
		return 3
	case name == "Resume" && slices.ContainsFunc(s.AttemptStates(), func(a model.AttemptRow) bool { return a.Callback != 0 }):
		return 3
	case (name == "Resume" || name == "Cancel" || name == "Snooze") && len(s.Leases()) > 0, name == "Park" && hasEarly(s):
		return 2
	case name == "CallbackTimeout" && completes(s):
		return 8
	case name == "CallbackTimeout" && slices.ContainsFunc(s.Leases(), func(l model.LeaseRow) bool { return l.Timeout != 0 && l.Timeout <= g.now }):
		return 5
	case name == "RotateLeases" && len(s.Leases()) > 0, name == "PruneLeases" && leases.Sealed(leases.Pruned):
		return 5
	case name == "RescueDeadline" && len(s.Leases()) > 0:
		return 3 // a deadline asks nobody whether they wait
	case name == "Commit" && completes(s):
		return 16 // else others wait, and are passed over, for most of the sequence
	case (name == "RescueStale" || name == "RescueDeadline" || name == "Heartbeat" || name == "Progress") && completes(s):
		return 4
	case name == "CompleteTx" && !completes(s):
		return 5 + 20*min(len(s.Leases()), 1)
	case (name == "RetryFailed" || name == "MoveToDLQ") && hasWide(s):
		return 40
	case name == "SetShards" && s.Policy(0).Shards <= 1:
		return 5 // a queue with several shards is what such a world is for
	case name == "SetDLQ" && g.theme == themeOperator && s.Policy(0).DLQ == 0:
		return 4
	}
	return 1
}

// idle says that an operation would find nothing to do. That is an answer, too, but one that comes often enough.
func idle(s model.Store, name string) bool {
	v := s.Vars()
	switch name {
	case "Claim":
		return !someWait(s)
	case "Promote":
		return !slices.ContainsFunc(s.DeferredRows(), func(d model.DeferredRow) bool { return d.Tx == 0 })
	case "RotateQueue":
		return !turns(v.Queue, func(gen int) bool { return s.QueueSlot(gen).Committed > 0 })
	case "RotateClaims":
		return !turns(v.Claims, func(gen int) bool { return s.ClaimSlot(gen).Claims > 0 })
	case "RotateLeases":
		return !turns(v.Leases, func(gen int) bool { return s.LeaseSlot(gen).Waiting > 0 })
	case "PruneQueue":
		return !v.Queue.Sealed(v.Queue.Pruned)
	case "PruneClaims":
		return !v.Claims.Sealed(v.Claims.Pruned)
	case "PruneLeases":
		return !v.Leases.Sealed(v.Leases.Pruned)
	case "Complete", "CompleteTx", "Fail", "Retry", "Snooze", "Heartbeat", "Progress", "Park", "RescueStale", "RescueDeadline":
		for range s.OpenClaims() {
			return false
		}
		return true
	}
	return false
}

// turns says whether a ring has a reason to turn: a generation that holds something.
func turns(r model.Ring, holds func(gen int) bool) bool {
	for gen := r.Pruned; gen <= r.Generation; gen++ {
		if holds(gen) {
			return true
		}
	}
	return false
}

// someWait says whether a claim could find something.
func someWait(s model.Store) bool {
	for lane := range s.Config().Lanes() {
		for range s.Waiting(lane) {
			return true
		}
	}
	return false
}

// heldByProducer says whether the oldest sealed slot is kept by uncommitted rows alone.
func heldByProducer(s model.Store) bool {
	ring := s.Vars().Queue
	slot := s.QueueSlot(ring.Pruned)
	return ring.Sealed(ring.Pruned) && slot.Uncommitted > 0 && slot.Waiting == 0 && slot.OpenClaims == 0
}

// carries says whether the oldest sealed slot is spent and holds failed rows.
func carries(s model.Store) bool {
	ring := s.Vars().Queue
	slot := s.QueueSlot(ring.Pruned)
	if !ring.Sealed(ring.Pruned) || slot.Uncommitted+slot.Waiting+slot.OpenClaims > 0 {
		return false
	}
	for t := range s.TerminalsIn(ring.Pruned) {
		if t.State == model.Failed {
			return true
		}
	}
	return false
}

func hasFailed(s model.Store) bool {
	return slices.ContainsFunc(s.Terminals(), func(t model.TerminalRow) bool { return t.State == model.Failed })
}

func hasWide(s model.Store) bool {
	return slices.ContainsFunc(s.Terminals(), func(t model.TerminalRow) bool { return t.State == model.Failed && t.Wide })
}
