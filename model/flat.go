package model

import (
	"cmp"
	"iter"
	"slices"
)

// Flat is the store for exploration and for comparison: every table a sorted slice, every question a scan. It is
// cheap to copy and has a compact encoding, which is what millions of small states need. The zero value is not
// ready for use: see [NewFlat].
//
// Its Put methods are also how a reader of a real database builds a state out of rows.
type Flat struct {
	config  *Config // shared by all states of a world, and never written
	vars    Vars
	lastSeq []int    // by lane
	rollups []Rollup // by queue

	policies []Policy // by queue

	// The tables. Each is sorted by its key at all times: put and drop rely on it, and two stores with equal rows
	// have equal tables, whatever the order in which the rows came.
	entries   []EntryRow
	claims    []ClaimRow
	terminals []TerminalRow
	deferred  []DeferredRow
	txs       []TxRow
	states    []AttemptRow
	leases    []LeaseRow
	uniques   []UniqueRow
	dlq       []DLQRow
	removed   []RemovedRow
}

var _ Store = (*Flat)(nil)

// NewFlat is the empty state of a fresh installation.
func NewFlat(config *Config) *Flat {
	return &Flat{
		config:  config,
		vars:    Vars{NextJob: 1, NextBatch: 1, NextReceipt: 1},
		lastSeq: make([]int, config.Lanes()),
		rollups: make([]Rollup, len(config.Queues)),

		policies: make([]Policy, len(config.Queues)),
	}
}

// Snapshot copies any store's state, with what is not committed. Nothing is shared but the configuration.
func Snapshot(s Store) *Flat {
	f := NewFlat(s.Config())
	f.vars = s.Vars()
	for lane := range f.lastSeq {
		f.lastSeq[lane] = s.LastSeq(lane)
	}
	for queue := range f.rollups {
		f.rollups[queue], f.policies[queue] = s.Rollup(queue), s.Policy(queue)
	}
	f.entries = append(f.entries, s.Entries()...)
	f.claims = append(f.claims, s.Claims()...)
	f.terminals = append(f.terminals, s.Terminals()...)
	f.deferred = append(f.deferred, s.DeferredRows()...)
	f.txs = append(f.txs, s.Txs()...)
	f.states = append(f.states, s.AttemptStates()...)
	f.leases = append(f.leases, s.Leases()...)
	f.uniques = append(f.uniques, s.Uniques()...)
	f.dlq = append(f.dlq, s.DLQRows()...)
	f.removed = append(f.removed, s.RemovedRows()...)
	return f
}

// CopyFrom makes f a copy of another state, reusing what f holds.
func (f *Flat) CopyFrom(from *Flat) {
	f.config, f.vars = from.config, from.vars
	f.lastSeq = append(f.lastSeq[:0], from.lastSeq...)
	f.rollups = append(f.rollups[:0], from.rollups...)
	f.policies = append(f.policies[:0], from.policies...)
	f.entries = append(f.entries[:0], from.entries...)
	f.claims = append(f.claims[:0], from.claims...)
	f.terminals = append(f.terminals[:0], from.terminals...)
	f.deferred = append(f.deferred[:0], from.deferred...)
	f.txs = append(f.txs[:0], from.txs...)
	f.states = append(f.states[:0], from.states...)
	f.leases = append(f.leases[:0], from.leases...)
	f.uniques = append(f.uniques[:0], from.uniques...)
	f.dlq = append(f.dlq[:0], from.dlq...)
	f.removed = append(f.removed[:0], from.removed...)
}

// The single numbers.

func (f *Flat) Config() *Config               { return f.config }
func (f *Flat) Vars() Vars                    { return f.vars }
func (f *Flat) SetVars(v Vars)                { f.vars = v }
func (f *Flat) LastSeq(lane int) int          { return f.lastSeq[lane] }
func (f *Flat) SetLastSeq(lane, seq int)      { f.lastSeq[lane] = seq }
func (f *Flat) Rollup(queue int) Rollup       { return f.rollups[queue] }
func (f *Flat) SetRollup(queue int, r Rollup) { f.rollups[queue] = r }
func (f *Flat) Policy(queue int) Policy       { return f.policies[queue] }
func (f *Flat) SetPolicy(queue int, p Policy) { f.policies[queue] = p }

// Writes. Every key of a table is compared by the table's own order, below.

func (f *Flat) PutEntry(e EntryRow)       { f.entries = put(f.entries, e, byPosition) }
func (f *Flat) DropEntry(e EntryRow)      { f.entries = drop(f.entries, e, byPosition) }
func (f *Flat) PutClaim(c ClaimRow)       { f.claims = put(f.claims, c, byReceipt) }
func (f *Flat) PutDeferred(d DeferredRow) { f.deferred = put(f.deferred, d, byJob) }

func (f *Flat) DropDeferred(d DeferredRow) { f.deferred = drop(f.deferred, d, byJob) }
func (f *Flat) PutUnique(u UniqueRow)      { f.uniques = put(f.uniques, u, byUnique) }
func (f *Flat) DropUnique(u UniqueRow)     { f.uniques = drop(f.uniques, u, byUnique) }
func (f *Flat) PutDLQ(d DLQRow)            { f.dlq = put(f.dlq, d, byHeld) }
func (f *Flat) DropDLQ(d DLQRow)           { f.dlq = drop(f.dlq, d, byHeld) }
func (f *Flat) AddRemoved(r RemovedRow)    { f.removed = put(f.removed, r, byRemoved) }
func (f *Flat) PutTx(t TxRow)              { f.txs = put(f.txs, t, byID) }
func (f *Flat) DropTx(id int)              { f.txs = drop(f.txs, TxRow{ID: id}, byID) }

func (f *Flat) PutAttemptState(a AttemptRow) { f.states = put(f.states, a, byAttempt) }

// DropAttemptState looks first: most attempts have none.
func (f *Flat) DropAttemptState(id AttemptID) {
	if a, ok := f.AttemptState(id); ok {
		f.states = drop(f.states, a, byAttempt)
	}
}

func (f *Flat) PutLease(l LeaseRow) { f.leases = put(f.leases, l, byWait) }

// DropLease looks first, as DropAttemptState does.
func (f *Flat) DropLease(id AttemptID) {
	if l, ok := f.Lease(id); ok {
		f.leases = drop(f.leases, l, byWait)
	}
}

// AddTerminal never replaces: see [Store].
func (f *Flat) AddTerminal(t TerminalRow) {
	i, _ := slices.BinarySearchFunc(f.terminals, t, byEnd)
	f.terminals = slices.Insert(f.terminals, i, t)
}

// DropTerminal looks for the whole row: where a wrong rule made two, the other one stays.
func (f *Flat) DropTerminal(t TerminalRow) {
	if i := slices.Index(f.terminals, t); i >= 0 {
		f.terminals = slices.Delete(f.terminals, i, i+1)
	}
}

// DropQueueGeneration asks nothing: that the generation is spent, the rule has proven.
func (f *Flat) DropQueueGeneration(gen int) {
	f.entries = slices.DeleteFunc(f.entries, func(e EntryRow) bool { return e.Gen == gen })
	f.terminals = slices.DeleteFunc(f.terminals, func(t TerminalRow) bool { return t.Gen == gen })
	f.removed = slices.DeleteFunc(f.removed, func(r RemovedRow) bool { return r.Gen == gen })
}

// DropClaimGeneration takes open claims too, if it is told to: for the invariants to find.
func (f *Flat) DropClaimGeneration(gen int) {
	f.claims = slices.DeleteFunc(f.claims, func(c ClaimRow) bool { return c.Gen == gen })
}

// DropLeaseGeneration takes leases that are there, too, if it is told to.
func (f *Flat) DropLeaseGeneration(gen int) {
	f.leases = slices.DeleteFunc(f.leases, func(l LeaseRow) bool { return l.Gen == gen })
}

// One row by its name. Where a wrong rule made two, the last one answers.

func (f *Flat) Tx(id int) (TxRow, bool) {
	return last(f.txs, func(t TxRow) bool { return t.ID == id })
}

func (f *Flat) NewestEntry(job int) (newest EntryRow, ok bool) {
	for _, e := range f.entries {
		if e.Job == job && (!ok || e.Lease > newest.Lease) {
			newest, ok = e, true
		}
	}
	return newest, ok
}

func (f *Flat) Claim(id AttemptID) (ClaimRow, bool) {
	return last(f.claims, func(c ClaimRow) bool { return c.ID() == id })
}

func (f *Flat) AttemptState(id AttemptID) (AttemptRow, bool) {
	return last(f.states, func(a AttemptRow) bool { return a.ID() == id })
}

func (f *Flat) Lease(id AttemptID) (LeaseRow, bool) {
	return last(f.leases, func(l LeaseRow) bool { return l.ID() == id })
}

func (f *Flat) Terminal(job int) (TerminalRow, bool) {
	return last(f.terminals, func(t TerminalRow) bool { return t.Job == job })
}

func (f *Flat) Deferred(job int) (DeferredRow, bool) {
	return last(f.deferred, func(d DeferredRow) bool { return d.Job == job })
}

func (f *Flat) DLQ(job int) (DLQRow, bool) {
	return last(f.dlq, func(d DLQRow) bool { return d.Job == job })
}

// Rows in the order that a rule takes them. Entries are in the order of their lanes already; claims and deferred
// jobs are sorted when they are asked for, which is cheap for the few that a small world has.

func (f *Flat) Waiting(lane int) iter.Seq[EntryRow] {
	return where(f.entries, func(e EntryRow) bool { return e.Lane == lane && e.Waiting() })
}

func (f *Flat) OpenClaims() iter.Seq[ClaimRow] {
	open := where(f.claims, func(c ClaimRow) bool { return c.Outcome == Open })
	return slices.Values(slices.SortedFunc(open, byAge))
}

func (f *Flat) Expiring() iter.Seq[ClaimRow] {
	open := where(f.claims, func(c ClaimRow) bool { return c.Outcome == Open && c.Deadline != 0 })
	return slices.Values(slices.SortedFunc(open, byDeadline))
}

func (f *Flat) Due(now int) iter.Seq[DeferredRow] {
	due := where(f.deferred, func(d DeferredRow) bool { return d.Tx == 0 && d.RunAt <= now })
	return slices.Values(slices.SortedFunc(due, byDue))
}

func (f *Flat) EntriesOfTx(tx int) []EntryRow {
	return slices.Collect(where(f.entries, func(e EntryRow) bool { return e.Tx == tx }))
}

func (f *Flat) DeferredOfTx(tx int) []DeferredRow {
	return slices.Collect(where(f.deferred, func(d DeferredRow) bool { return d.Tx == tx }))
}

func (f *Flat) ClosedByTx(tx int) []ClaimRow {
	return slices.Collect(where(f.claims, func(c ClaimRow) bool { return c.Tx == tx }))
}

func (f *Flat) TerminalsIn(gen int) iter.Seq[TerminalRow] {
	return where(f.terminals, func(t TerminalRow) bool { return t.Gen == gen })
}

// Numbers of rows, counted from the rows each time: nothing is kept that could be wrong. The mutable store keeps
// them, and is compared with these.

func (f *Flat) QueueSlot(gen int) QueueSlot {
	var slot QueueSlot
	for _, e := range f.entries {
		if e.Gen == gen {
			slot.Committed += one(e.Visible())
			slot.Waiting += one(e.Waiting())
			slot.Uncommitted += one(!e.Visible())
		}
	}
	for _, c := range f.claims {
		slot.OpenClaims += one(c.ReadyGen == gen && c.Outcome == Open)
	}
	return slot
}

func (f *Flat) ClaimSlot(gen int) ClaimSlot {
	var slot ClaimSlot
	for _, c := range f.claims {
		slot.Claims += one(c.Gen == gen)
		slot.Open += one(c.Gen == gen && c.Outcome == Open)
	}
	return slot
}

func (f *Flat) LeaseSlot(gen int) LeaseSlot {
	var slot LeaseSlot
	for _, l := range f.leases {
		slot.Waiting += one(l.Gen == gen)
	}
	return slot
}

func (f *Flat) Tally(queue int) Tally {
	var t Tally
	for _, e := range f.entries {
		if f.config.QueueOf(e.Lane) == queue {
			t.Entries += one(e.Visible())
			t.HandedOut += one(e.Batch != 0)
		}
	}
	for _, c := range f.claims {
		if f.config.QueueOf(c.Lane) == queue {
			t.Claims++
			t.Closures += one(c.Outcome != Open)
		}
	}
	for _, row := range f.terminals {
		if f.config.QueueOf(row.Lane) == queue {
			t.Completed += one(row.State == Completed)
			t.Failed += one(row.State == Failed)
			t.Cancelled += one(row.State == Cancelled)
		}
	}
	for _, d := range f.deferred {
		if f.config.QueueOf(d.Lane) == queue && d.Tx == 0 {
			t.Scheduled += one(d.State == JobScheduled)
			t.Retryable += one(d.State == JobRetryable)
		}
	}
	for _, l := range f.leases {
		t.Waiting += one(f.config.QueueOf(l.Lane) == queue)
	}
	for _, d := range f.dlq {
		t.DLQ += one(f.config.QueueOf(d.Lane) == queue)
	}
	return t
}

// Whole tables.

func (f *Flat) Entries() []EntryRow         { return f.entries }
func (f *Flat) Claims() []ClaimRow          { return f.claims }
func (f *Flat) Terminals() []TerminalRow    { return f.terminals }
func (f *Flat) DeferredRows() []DeferredRow { return f.deferred }
func (f *Flat) DLQRows() []DLQRow           { return f.dlq }
func (f *Flat) RemovedRows() []RemovedRow   { return f.removed }
func (f *Flat) Txs() []TxRow                { return f.txs }
func (f *Flat) AttemptStates() []AttemptRow { return f.states }
func (f *Flat) Leases() []LeaseRow          { return f.leases }
func (f *Flat) Uniques() []UniqueRow        { return f.uniques }

// The orders of the tables, and of what rules take from them.

func byPosition(a, b EntryRow) int {
	return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Seq, b.Seq))
}

// byReceipt is the order of handing out as well: receipts come from one sequence.
func byReceipt(a, b ClaimRow) int { return cmp.Compare(a.Receipt, b.Receipt) }

// byAge is the order in which a rescue takes claims: slot by slot, so that the oldest slot is free first.
func byAge(a, b ClaimRow) int {
	return cmp.Or(cmp.Compare(a.Gen, b.Gen), cmp.Compare(a.Local, b.Local), cmp.Compare(a.ClaimedAt, b.ClaimedAt), cmp.Compare(a.Receipt, b.Receipt))
}

// byDeadline is the order of the other rescue.
func byDeadline(a, b ClaimRow) int {
	return cmp.Or(cmp.Compare(a.Gen, b.Gen), cmp.Compare(a.Local, b.Local), cmp.Compare(a.Deadline, b.Deadline), cmp.Compare(a.Receipt, b.Receipt))
}

// byEnd also orders two ends of one position, which only a wrong rule makes.
func byEnd(a, b TerminalRow) int {
	return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Lease, b.Lease))
}

func byJob(a, b DeferredRow) int { return cmp.Compare(a.Job, b.Job) }

// byDue is the order in which deferred jobs are promoted.
func byDue(a, b DeferredRow) int {
	return cmp.Or(cmp.Compare(a.RunAt, b.RunAt), cmp.Compare(a.Job, b.Job))
}

func byAttempt(a, b AttemptRow) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Lease, b.Lease))
}

// byWait: an attempt waits for one thing at a time.
func byWait(a, b LeaseRow) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Lease, b.Lease))
}

func byHeld(a, b DLQRow) int { return cmp.Compare(a.Job, b.Job) }

func byRemoved(a, b RemovedRow) int { return cmp.Compare(a.Job, b.Job) }

func byID(a, b TxRow) int { return cmp.Compare(a.ID, b.ID) }
