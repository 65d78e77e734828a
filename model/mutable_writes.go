package model

import (
	"maps"
	"slices"
)

// The mutable store's writes. Each logs the write that undoes it, then changes the row and its indexes.
//
// Invariant: between two writes every index says of a row what the row's own index function would put there. So a
// row is always taken out of its indexes as it was, by the row that stood in the table, and put in as it is now.

// PutEntry: a row that is replaced keeps its home, and so its place among the job's rows.
func (m *Mutable) PutEntry(e EntryRow) {
	h, g := homeOf(e), m.queueGen(e.Gen)
	if old, replaced := g.entries[h]; replaced {
		m.journal.log(func() { m.PutEntry(old) })
		m.indexEntry(old, -1)
	} else {
		m.journal.log(func() { m.DropEntry(e) })
		m.entriesOfJob[e.Job] = append(m.entriesOfJob[e.Job], h)
	}
	g.entries[h] = e
	m.indexEntry(e, +1)
}

// DropEntry is for a rollback, and for what the undo of a PutEntry or the drop of a generation needs.
func (m *Mutable) DropEntry(e EntryRow) {
	h, g := homeOf(e), m.queueGen(e.Gen)
	old, ok := g.entries[h]
	if !ok {
		return
	}
	m.journal.log(func() { m.PutEntry(old) })
	delete(g.entries, h)
	m.indexEntry(old, -1)
	homes := slices.DeleteFunc(m.entriesOfJob[e.Job], func(other home) bool { return other == h })
	setOrDelete(m.entriesOfJob, e.Job, homes, len(homes))
}

// indexEntry counts a row in (+1) or out (-1), by what it is: unseen, waiting, or handed out.
func (m *Mutable) indexEntry(e EntryRow, by int) {
	slot, tally := &m.queueGen(e.Gen).slot, &m.tallies[m.config.QueueOf(e.Lane)]
	switch {
	case !e.Visible():
		slot.Uncommitted += by
		setMember(m.entriesOfTx, e.Tx, homeOf(e), by > 0)
	case e.Waiting():
		slot.Committed += by
		slot.Waiting += by
		tally.Entries += by
		m.waiting[e.Lane].set(homeOf(e), by > 0)
	default:
		slot.Committed += by
		tally.Entries += by
		tally.HandedOut += by
	}
}

// PutClaim adds a claim, or the closure of one that is there.
func (m *Mutable) PutClaim(c ClaimRow) {
	g := m.claimGen(c.Gen)
	if old, replaced := g.claims[c.Receipt]; replaced {
		m.journal.log(func() { m.PutClaim(old) })
		m.indexClaim(old, -1)
	} else {
		m.journal.log(func() { m.dropClaim(c) })
	}
	g.claims[c.Receipt] = c
	m.indexClaim(c, +1)
}

// dropClaim is no write of the Store's: no rule takes a single claim away. Undoing and truncating do.
func (m *Mutable) dropClaim(c ClaimRow) {
	g := m.claimGen(c.Gen)
	old := g.claims[c.Receipt]
	m.journal.log(func() { m.PutClaim(old) })
	delete(g.claims, c.Receipt)
	m.indexClaim(old, -1)
}

// indexClaim counts a claim in or out, by whether it is open.
func (m *Mutable) indexClaim(c ClaimRow, by int) {
	tally := &m.tallies[m.config.QueueOf(c.Lane)]
	tally.Claims += by
	if c.Outcome == Open {
		m.open.set(c, by > 0)
		if c.Deadline != 0 {
			m.expiring.set(c, by > 0)
		}
		m.claimGen(c.Gen).open += by
		n := m.openByReady[c.ReadyGen] + by
		setOrDelete(m.openByReady, c.ReadyGen, n, n)
	} else {
		tally.Closures += by
	}
	if c.Tx != 0 {
		setMember(m.closedByTx, c.Tx, c.ID(), by > 0)
	}
	if by > 0 {
		m.claimHome[c.ID()] = claimHome{c.Gen, c.Receipt}
	} else {
		delete(m.claimHome, c.ID())
	}
}

// AddTerminal never replaces: see [Store]. Its undo takes the last row of the bucket, since by then every later
// write is undone; the bucket itself may be another, when it was dropped and brought back in between.
func (m *Mutable) AddTerminal(t TerminalRow) {
	g := m.queueGen(t.Gen)
	before, had := m.terminalOf[t.Job]
	m.journal.log(func() {
		g := m.queueGen(t.Gen)
		g.terminals = g.terminals[:len(g.terminals)-1]
		m.countTerminal(t, -1)
		m.terminalOf[t.Job] = before
		if !had {
			delete(m.terminalOf, t.Job)
		}
	})
	g.terminals = append(g.terminals, t)
	m.countTerminal(t, +1)
	m.terminalOf[t.Job] = t
}

// DropTerminal puts the row back where it was in the bucket when it is undone, so that the undo of an AddTerminal before
// it finds its own row last.
func (m *Mutable) DropTerminal(t TerminalRow) {
	g := m.queueGen(t.Gen)
	at := slices.Index(g.terminals, t)
	if at < 0 {
		return
	}
	before, had := m.terminalOf[t.Job]
	m.journal.log(func() {
		g := m.queueGen(t.Gen)
		g.terminals = slices.Insert(g.terminals, at, t)
		m.countTerminal(t, +1)
		if had {
			m.terminalOf[t.Job] = before
		}
	})
	g.terminals = slices.Delete(g.terminals, at, at+1)
	m.countTerminal(t, -1)
	if before == t {
		delete(m.terminalOf, t.Job)
	}
}

func (m *Mutable) countTerminal(t TerminalRow, by int) {
	tally := &m.tallies[m.config.QueueOf(t.Lane)]
	switch t.State {
	case Completed:
		tally.Completed += by
	case Failed:
		tally.Failed += by
	case Cancelled:
		tally.Cancelled += by
	}
}

// PutDeferred adds a deferred job, or the same one once it is committed.
func (m *Mutable) PutDeferred(d DeferredRow) {
	if old, replaced := m.deferred[d.Job]; replaced {
		m.journal.log(func() { m.PutDeferred(old) })
		m.indexDeferred(old, -1)
	} else {
		m.journal.log(func() { m.DropDeferred(d) })
	}
	m.deferred[d.Job] = d
	m.indexDeferred(d, +1)
}

func (m *Mutable) DropDeferred(d DeferredRow) {
	old, ok := m.deferred[d.Job]
	if !ok {
		return
	}
	m.journal.log(func() { m.PutDeferred(old) })
	delete(m.deferred, d.Job)
	m.indexDeferred(old, -1)
}

// indexDeferred counts a deferred job in or out: unseen ones by their transaction, others by when they are due.
func (m *Mutable) indexDeferred(d DeferredRow, by int) {
	if d.Tx != 0 {
		setMember(m.deferredOfTx, d.Tx, d.Job, by > 0)
		return
	}
	m.due.set(d, by > 0)
	tally := &m.tallies[m.config.QueueOf(d.Lane)]
	if d.State == JobRetryable {
		tally.Retryable += by
	} else {
		tally.Scheduled += by
	}
}

func (m *Mutable) PutDLQ(d DLQRow) {
	if old, replaced := m.dlq[d.Job]; replaced {
		m.journal.log(func() { m.PutDLQ(old) })
		m.tallies[m.config.QueueOf(old.Lane)].DLQ--
	} else {
		m.journal.log(func() { m.DropDLQ(d) })
	}
	m.dlq[d.Job] = d
	m.tallies[m.config.QueueOf(d.Lane)].DLQ++
}

func (m *Mutable) DropDLQ(d DLQRow) {
	old, ok := m.dlq[d.Job]
	if !ok {
		return
	}
	m.journal.log(func() { m.PutDLQ(old) })
	delete(m.dlq, d.Job)
	m.tallies[m.config.QueueOf(old.Lane)].DLQ--
}

// AddRemoved is undone as AddTerminal is: by then the row is the bucket's last.
func (m *Mutable) AddRemoved(r RemovedRow) {
	m.journal.log(func() {
		g := m.queueGen(r.Gen)
		g.removed = g.removed[:len(g.removed)-1]
	})
	g := m.queueGen(r.Gen)
	g.removed = append(g.removed, r)
}

func (m *Mutable) PutAttemptState(a AttemptRow) {
	if old, replaced := m.states[a.ID()]; replaced {
		m.journal.log(func() { m.PutAttemptState(old) })
	} else {
		m.journal.log(func() { m.DropAttemptState(a.ID()) })
	}
	m.states[a.ID()] = a
}

func (m *Mutable) DropAttemptState(id AttemptID) {
	if old, ok := m.states[id]; ok {
		m.journal.log(func() { m.PutAttemptState(old) })
		delete(m.states, id)
	}
}

// PutLease adds a lease, or replaces it.
func (m *Mutable) PutLease(l LeaseRow) {
	if old, replaced := m.leases[l.ID()]; replaced {
		m.journal.log(func() { m.PutLease(old) })
		m.indexLease(old, -1)
	} else {
		m.journal.log(func() { m.DropLease(l.ID()) })
	}
	m.leases[l.ID()] = l
	m.indexLease(l, +1)
}

func (m *Mutable) DropLease(id AttemptID) {
	if old, ok := m.leases[id]; ok {
		m.journal.log(func() { m.PutLease(old) })
		delete(m.leases, id)
		m.indexLease(old, -1)
	}
}

func (m *Mutable) indexLease(l LeaseRow, by int) {
	m.tallies[m.config.QueueOf(l.Lane)].Waiting += by
	n := m.waitingIn[l.Gen] + by
	setOrDelete(m.waitingIn, l.Gen, n, n)
}

// DropLeaseGeneration takes what is there one by one: leases are few, and a right rule leaves none.
func (m *Mutable) DropLeaseGeneration(gen int) {
	for id, l := range maps.Clone(m.leases) {
		if l.Gen == gen {
			m.DropLease(id)
		}
	}
}

func (m *Mutable) PutUnique(u UniqueRow) {
	if old, replaced := m.uniques[u.Job]; replaced {
		m.journal.log(func() { m.PutUnique(old) })
	} else {
		m.journal.log(func() { m.DropUnique(u) })
	}
	m.uniques[u.Job] = u
}

func (m *Mutable) DropUnique(u UniqueRow) {
	if old, ok := m.uniques[u.Job]; ok {
		m.journal.log(func() { m.PutUnique(old) })
		delete(m.uniques, u.Job)
	}
}

func (m *Mutable) PutTx(t TxRow) {
	if old, replaced := m.txs[t.ID]; replaced {
		m.journal.log(func() { m.PutTx(old) })
	} else {
		m.journal.log(func() { m.DropTx(t.ID) })
	}
	m.txs[t.ID] = t
}

func (m *Mutable) DropTx(id int) {
	if old, ok := m.txs[id]; ok {
		m.journal.log(func() { m.PutTx(old) })
		delete(m.txs, id)
	}
}

// DropQueueGeneration takes the bucket out row by row, since each row has its indexes. It is undone as a whole, by
// putting back the rows of the bucket, which nobody else holds any more.
func (m *Mutable) DropQueueGeneration(gen int) {
	g, ok := m.queueGens[gen]
	if !ok {
		return
	}
	entries, terminals, removed := slices.Collect(maps.Values(g.entries)), g.terminals, g.removed
	m.journal.log(func() {
		for _, e := range entries {
			m.PutEntry(e)
		}
		for _, t := range terminals {
			m.AddTerminal(t)
		}
		for _, r := range removed {
			m.AddRemoved(r)
		}
	})
	m.journal.pause(func() {
		for _, e := range entries {
			m.DropEntry(e)
		}
	})
	for _, t := range terminals {
		m.countTerminal(t, -1)
		if m.terminalOf[t.Job] == t {
			delete(m.terminalOf, t.Job)
		}
	}
	delete(m.queueGens, gen)
}

// DropClaimGeneration does the same for claims.
func (m *Mutable) DropClaimGeneration(gen int) {
	g, ok := m.claimGens[gen]
	if !ok {
		return
	}
	claims := slices.Collect(maps.Values(g.claims))
	m.journal.log(func() {
		for _, c := range claims {
			m.PutClaim(c)
		}
	})
	m.journal.pause(func() {
		for _, c := range claims {
			m.dropClaim(c)
		}
	})
	delete(m.claimGens, gen)
}

func homeOf(e EntryRow) home { return home{e.Gen, e.Lane, e.Seq} }

// setMember puts a member into a set of sets, or takes it out; a set that is empty is not kept.
func setMember[K, M comparable](sets map[K]map[M]bool, key K, member M, in bool) {
	switch set := sets[key]; {
	case in && set == nil:
		sets[key] = map[M]bool{member: true}
	case in:
		set[member] = true
	default:
		delete(set, member)
		if len(set) == 0 {
			delete(sets, key)
		}
	}
}

// setOrDelete keeps a value in a map unless its size is 0, so that an index forgets what was pruned.
func setOrDelete[K comparable, V any](index map[K]V, key K, value V, size int) {
	if size == 0 {
		delete(index, key)
	} else {
		index[key] = value
	}
}
