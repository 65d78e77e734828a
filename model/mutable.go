package model

import (
	"iter"
	"maps"
	"slices"
)

// Mutable is the store for long lives: lockstep, chaos, histories of millions of operations. Every question that
// a rule asks is answered by a map or an ordered sequence, a generation is dropped in the time of its own rows,
// and any stretch of writes can be undone.
//
// Rows live in the bucket of their generation. Everything else here is an index over the buckets; the index
// functions of a row type add the row to each of its indexes or take it out of each.
type Mutable struct {
	config  *Config
	vars    Vars
	lastSeq []int
	rollups []Rollup

	policies []Policy

	// The tables. Deferred jobs and transactions belong to no generation, and have their keys.
	queueGens map[int]*queueGen
	claimGens map[int]*claimGen
	deferred  map[int]DeferredRow // by job
	txs       map[int]TxRow
	states    map[AttemptID]AttemptRow
	leases    map[AttemptID]LeaseRow
	uniques   map[int]UniqueRow // by job
	dlq       map[int]DLQRow    // by job

	// Numbers of rows by queue; invariant: what Flat counts.
	tallies []Tally

	// Ready rows: of a lane, those that wait; of a job, all (one for each time that it became available, so there
	// are few); of an open transaction, all that it wrote.
	waiting      []ordered[home]
	entriesOfJob map[int][]home
	entriesOfTx  map[int]map[home]bool

	// Claims: where an attempt's claim is; those that are open, in the order in which a rescue takes them; and how
	// many are open of the ready rows of a generation, wherever in the other ring those claims are.
	claimHome   map[AttemptID]claimHome
	open        ordered[ClaimRow]
	expiring    ordered[ClaimRow]
	openByReady map[int]int

	waitingIn map[int]int // leases by generation

	// The last terminal row of a job; right rules write one.
	terminalOf map[int]TerminalRow

	// Deferred jobs: those that are committed, in the order of promotion; of an open transaction, its jobs.
	due          ordered[DeferredRow]
	deferredOfTx map[int]map[int]bool

	// Claims that an open transaction has completed.
	closedByTx map[int]map[AttemptID]bool

	journal journal
}

// home says where a ready row is: its bucket, and its key there.
type home struct{ gen, lane, seq int }

type claimHome struct{ gen, receipt int }

// queueGen is one generation's tables: what one truncation takes away.
type queueGen struct {
	entries   map[home]EntryRow
	terminals []TerminalRow // in the order of their writing
	removed   []RemovedRow  // likewise
	slot      QueueSlot     // without OpenClaims, which the claims' side knows
}

type claimGen struct {
	claims map[int]ClaimRow // by receipt
	open   int              // how many of them are open
}

var _ Store = (*Mutable)(nil)

// NewMutable is the empty state of a fresh installation.
func NewMutable(config *Config) *Mutable {
	m := &Mutable{
		config:       config,
		vars:         NewFlat(config).vars,
		lastSeq:      make([]int, config.Lanes()),
		rollups:      make([]Rollup, len(config.Queues)),
		policies:     make([]Policy, len(config.Queues)),
		queueGens:    map[int]*queueGen{},
		claimGens:    map[int]*claimGen{},
		deferred:     map[int]DeferredRow{},
		txs:          map[int]TxRow{},
		states:       map[AttemptID]AttemptRow{},
		leases:       map[AttemptID]LeaseRow{},
		waitingIn:    map[int]int{},
		uniques:      map[int]UniqueRow{},
		dlq:          map[int]DLQRow{},
		tallies:      make([]Tally, len(config.Queues)),
		waiting:      make([]ordered[home], config.Lanes()),
		entriesOfJob: map[int][]home{},
		entriesOfTx:  map[int]map[home]bool{},
		claimHome:    map[AttemptID]claimHome{},
		open:         ordered[ClaimRow]{compare: byAge},
		expiring:     ordered[ClaimRow]{compare: byDeadline},
		openByReady:  map[int]int{},
		terminalOf:   map[int]TerminalRow{},
		due:          ordered[DeferredRow]{compare: byDue},
		deferredOfTx: map[int]map[int]bool{},
		closedByTx:   map[int]map[AttemptID]bool{},
	}
	for lane := range m.waiting {
		m.waiting[lane].compare = func(a, b home) int { return a.seq - b.seq }
	}
	return m
}

// The single numbers. Each write of one logs the value that it had.

func (m *Mutable) Config() *Config         { return m.config }
func (m *Mutable) Vars() Vars              { return m.vars }
func (m *Mutable) LastSeq(lane int) int    { return m.lastSeq[lane] }
func (m *Mutable) Rollup(queue int) Rollup { return m.rollups[queue] }

func (m *Mutable) SetVars(v Vars) {
	old := m.vars
	m.journal.log(func() { m.vars = old })
	m.vars = v
}

func (m *Mutable) SetLastSeq(lane, seq int) {
	old := m.lastSeq[lane]
	m.journal.log(func() { m.lastSeq[lane] = old })
	m.lastSeq[lane] = seq
}

func (m *Mutable) SetRollup(queue int, r Rollup) {
	old := m.rollups[queue]
	m.journal.log(func() { m.rollups[queue] = old })
	m.rollups[queue] = r
}

func (m *Mutable) Policy(queue int) Policy { return m.policies[queue] }

func (m *Mutable) SetPolicy(queue int, p Policy) {
	old := m.policies[queue]
	m.journal.log(func() { m.policies[queue] = old })
	m.policies[queue] = p
}

// One row by its name, from the index of that name.

func (m *Mutable) Tx(id int) (TxRow, bool) {
	t, ok := m.txs[id]
	return t, ok
}

func (m *Mutable) NewestEntry(job int) (newest EntryRow, ok bool) {
	for _, h := range m.entriesOfJob[job] {
		if e := m.entry(h); !ok || e.Lease > newest.Lease {
			newest, ok = e, true
		}
	}
	return newest, ok
}

// entry is a row by its home, which an index gave: so it is there.
func (m *Mutable) entry(h home) EntryRow { return m.queueGens[h.gen].entries[h] }

func (m *Mutable) Claim(id AttemptID) (ClaimRow, bool) {
	h, ok := m.claimHome[id]
	if !ok {
		return ClaimRow{}, false
	}
	return m.claimGens[h.gen].claims[h.receipt], true
}

func (m *Mutable) AttemptState(id AttemptID) (AttemptRow, bool) {
	a, ok := m.states[id]
	return a, ok
}

func (m *Mutable) Lease(id AttemptID) (LeaseRow, bool) {
	l, ok := m.leases[id]
	return l, ok
}

func (m *Mutable) Terminal(job int) (TerminalRow, bool) {
	t, ok := m.terminalOf[job]
	return t, ok
}

func (m *Mutable) Deferred(job int) (DeferredRow, bool) {
	d, ok := m.deferred[job]
	return d, ok
}

func (m *Mutable) DLQ(job int) (DLQRow, bool) {
	d, ok := m.dlq[job]
	return d, ok
}

// Rows in the order that a rule takes them, from the ordered indexes: a claim of one job costs the same with one
// waiting and with a million.

func (m *Mutable) Waiting(lane int) iter.Seq[EntryRow] {
	return func(yield func(EntryRow) bool) {
		for h := range m.waiting[lane].all() {
			if !yield(m.entry(h)) {
				return
			}
		}
	}
}

func (m *Mutable) OpenClaims() iter.Seq[ClaimRow] { return m.open.all() }
func (m *Mutable) Expiring() iter.Seq[ClaimRow]   { return m.expiring.all() }

func (m *Mutable) Due(now int) iter.Seq[DeferredRow] {
	return func(yield func(DeferredRow) bool) {
		for d := range m.due.all() {
			if d.RunAt > now || !yield(d) {
				return
			}
		}
	}
}

func (m *Mutable) EntriesOfTx(tx int) []EntryRow {
	var rows []EntryRow
	for h := range m.entriesOfTx[tx] {
		rows = append(rows, m.entry(h))
	}
	slices.SortFunc(rows, byPosition)
	return rows
}

func (m *Mutable) DeferredOfTx(tx int) []DeferredRow {
	var rows []DeferredRow
	for job := range m.deferredOfTx[tx] {
		rows = append(rows, m.deferred[job])
	}
	slices.SortFunc(rows, byJob)
	return rows
}

func (m *Mutable) ClosedByTx(tx int) []ClaimRow {
	var rows []ClaimRow
	for id := range m.closedByTx[tx] {
		c, _ := m.Claim(id)
		rows = append(rows, c)
	}
	slices.SortFunc(rows, byReceipt)
	return rows
}

func (m *Mutable) TerminalsIn(gen int) iter.Seq[TerminalRow] {
	return slices.Values(m.queueGen(gen).terminals)
}

// Numbers of rows, kept with each write. A prune that is refused costs nothing.

func (m *Mutable) Tally(queue int) Tally { return m.tallies[queue] }

func (m *Mutable) QueueSlot(gen int) QueueSlot {
	slot := m.queueGen(gen).slot
	slot.OpenClaims = m.openByReady[gen]
	return slot
}

func (m *Mutable) ClaimSlot(gen int) ClaimSlot {
	g := m.claimGen(gen)
	return ClaimSlot{Claims: len(g.claims), Open: g.open}
}

func (m *Mutable) LeaseSlot(gen int) LeaseSlot { return LeaseSlot{Waiting: m.waitingIn[gen]} }

// Whole tables, collected and sorted each time: for comparisons and snapshots, never for a rule.

func (m *Mutable) Entries() []EntryRow {
	var rows []EntryRow
	for _, g := range m.queueGens {
		rows = slices.AppendSeq(rows, maps.Values(g.entries))
	}
	slices.SortFunc(rows, byPosition)
	return rows
}

func (m *Mutable) Claims() []ClaimRow {
	var rows []ClaimRow
	for _, g := range m.claimGens {
		rows = slices.AppendSeq(rows, maps.Values(g.claims))
	}
	slices.SortFunc(rows, byReceipt)
	return rows
}

func (m *Mutable) Terminals() []TerminalRow {
	var rows []TerminalRow
	for _, g := range m.queueGens {
		rows = append(rows, g.terminals...)
	}
	slices.SortFunc(rows, byEnd)
	return rows
}

func (m *Mutable) DeferredRows() []DeferredRow {
	return slices.SortedFunc(maps.Values(m.deferred), byJob)
}

func (m *Mutable) AttemptStates() []AttemptRow {
	return slices.SortedFunc(maps.Values(m.states), byAttempt)
}

func (m *Mutable) Leases() []LeaseRow { return slices.SortedFunc(maps.Values(m.leases), byWait) }

func (m *Mutable) DLQRows() []DLQRow { return slices.SortedFunc(maps.Values(m.dlq), byHeld) }

func (m *Mutable) RemovedRows() []RemovedRow {
	var rows []RemovedRow
	for _, g := range m.queueGens {
		rows = append(rows, g.removed...)
	}
	slices.SortFunc(rows, byRemoved)
	return rows
}

func (m *Mutable) Uniques() []UniqueRow {
	return slices.SortedFunc(maps.Values(m.uniques), byUnique)
}

func (m *Mutable) Txs() []TxRow { return slices.SortedFunc(maps.Values(m.txs), byID) }

// queueGen and claimGen give a generation's bucket, made when it is first asked for. One that was dropped and is asked
// for again is an empty one: its rows are gone.

func (m *Mutable) queueGen(gen int) *queueGen {
	g, ok := m.queueGens[gen]
	if !ok {
		g = &queueGen{entries: map[home]EntryRow{}}
		m.queueGens[gen] = g
	}
	return g
}

func (m *Mutable) claimGen(gen int) *claimGen {
	g, ok := m.claimGens[gen]
	if !ok {
		g = &claimGen{claims: map[int]ClaimRow{}}
		m.claimGens[gen] = g
	}
	return g
}
