package model

import (
	"fmt"
	"slices"
)

// The invariants of the rings, and of what open transactions hold in them.

// P2, hazard 3: a ring never writes into a slot whose last generation was not pruned. The two would share a table,
// and the next truncation would take both.
func ringIsNotOverrun(s Store) error {
	v := s.Vars()
	check := func(name string, r Ring, slots int) error {
		if r.Pruned < 0 || r.Pruned > r.Generation || r.Generation-slots >= r.Pruned {
			return fmt.Errorf("%s of %d slots writes generation %d, but only those before %d are pruned",
				name, slots, r.Generation, r.Pruned)
		}
		return nil
	}
	if err := check("the queue ring", v.Queue, s.Config().QueueSlots); err != nil {
		return err
	}
	if err := check("the claim ring", v.Claims, s.Config().ClaimSlots); err != nil {
		return err
	}
	return check("the lease ring", v.Leases, s.Config().leaseSlots())
}

// aRingIsFull: the next rotation would overrun.
func aRingIsFull(s Store) bool {
	v, c := s.Vars(), s.Config()
	return v.Queue.Generation+1-c.QueueSlots >= v.Queue.Pruned || v.Claims.Generation+1-c.ClaimSlots >= v.Claims.Pruned ||
		v.Leases.Generation+1-c.leaseSlots() >= v.Leases.Pruned
}

// P2: what was truncated is gone as a whole, and nothing was written there since (a late writer, hazard 3), nor ahead
// of the ring.
func rowsAreInUnprunedGenerations(s Store) error {
	v := s.Vars()
	outside := func(r Ring, gen int) bool { return gen < r.Pruned || gen > r.Generation }
	for _, e := range s.Entries() {
		if outside(v.Queue, e.Gen) {
			return fmt.Errorf("the ready row of job %d is in generation %d", e.Job, e.Gen)
		}
	}
	for _, t := range s.Terminals() {
		if outside(v.Queue, t.Gen) {
			return fmt.Errorf("the end of job %d is in generation %d", t.Job, t.Gen)
		}
	}
	for _, r := range s.RemovedRows() {
		if outside(v.Queue, r.Gen) {
			return fmt.Errorf("that the end of job %d was removed stands in generation %d", r.Job, r.Gen)
		}
	}
	for _, c := range s.Claims() {
		if outside(v.Claims, c.Gen) {
			return fmt.Errorf("the claim of attempt %s is in generation %d", c.ID(), c.Gen)
		}
	}
	for _, l := range s.Leases() {
		if outside(v.Leases, l.Gen) {
			return fmt.Errorf("the lease of attempt %s is in generation %d", l.ID(), l.Gen)
		}
	}
	return nil
}

// rowsAndPruned: something was pruned and something is there, in the same ring.
func rowsAndPruned(s Store) bool {
	v := s.Vars()
	return v.Queue.Pruned > 0 && len(s.Entries()) > 0 || v.Claims.Pruned > 0 && len(s.Claims()) > 0 ||
		v.Leases.Pruned > 0 && len(s.Leases()) > 0
}

// P2: while an attempt is open its claim isn't pruned, nor the generation that its outcome will be written to.
func openClaimKeepsItsSlots(s Store) error {
	v := s.Vars()
	for c := range s.OpenClaims() {
		if c.Gen < v.Claims.Pruned || c.ReadyGen < v.Queue.Pruned {
			return fmt.Errorf("attempt %s is open, but its claim generation %d or its ready generation %d is pruned",
				c.ID(), c.Gen, c.ReadyGen)
		}
	}
	return nil
}

// P5: the generation that an open producer wrote to waits for it, however long that takes. Its rows are not seen, so
// no proof that looks at rows protects them: the lock that the producer holds on the table does.
func openProducerKeepsItsSlot(s Store) error {
	for _, e := range s.Entries() {
		if !e.Visible() && e.Gen < s.Vars().Queue.Pruned {
			return fmt.Errorf("transaction %d has a row in generation %d, which is pruned", e.Tx, e.Gen)
		}
	}
	return nil
}

// P1: nobody but its producer knows of a row that is not committed.
func uncommittedIsUnseen(s Store) error {
	for _, e := range s.Entries() {
		if e.Visible() {
			continue
		}
		if _, open := s.Tx(e.Tx); !open || e.Batch != 0 || e.Lease != 0 {
			return fmt.Errorf("job %d of transaction %d was seen, or the transaction is not open", e.Job, e.Tx)
		}
		if slices.ContainsFunc(places(s), func(p place) bool { return p.job == e.Job }) {
			return fmt.Errorf("job %d of the open transaction %d is already somewhere", e.Job, e.Tx)
		}
	}
	return nil
}

// P1, hazard 3: only READ COMMITTED may write into a ring; a transaction that can't see the ring turn defers.
func oldSnapshotStaysOutOfTheRing(s Store) error {
	for _, e := range s.Entries() {
		if tx, ok := s.Tx(e.Tx); ok && tx.Isolation != ReadCommitted {
			return fmt.Errorf("transaction %d is %s and wrote a ready row", tx.ID, tx.Isolation)
		}
	}
	for _, d := range s.DeferredRows() {
		if _, ok := s.Tx(d.Tx); d.Tx != 0 && !ok {
			return fmt.Errorf("transaction %d deferred job %d and is not open", d.Tx, d.Job)
		}
	}
	return nil
}

// hasOldSnapshotRow: someone who must not write into the ring has written.
func hasOldSnapshotRow(s Store) bool {
	return slices.ContainsFunc(s.DeferredRows(), func(d DeferredRow) bool {
		tx, ok := s.Tx(d.Tx)
		return ok && tx.Isolation != ReadCommitted
	})
}
