package model

import (
	"errors"
	"fmt"
	"iter"
)

// Store holds a state. The rules are written once, over these reads and writes; [Flat] and [Mutable] are the two
// stores, and a test holds them together.
//
// A slice that a Store returns is only for reading, and only until the next write.
type Store interface {
	Config() *Config

	// The single numbers.
	Vars() Vars
	SetVars(Vars)
	LastSeq(lane int) int
	SetLastSeq(lane, seq int)
	Rollup(queue int) Rollup
	SetRollup(queue int, r Rollup)

	// Writes. A Put with the key of a row that is there (lane and seq, receipt, job, transaction) replaces it;
	// terminal rows have no key: writing one job's end twice leaves two, for an invariant to find.
	PutEntry(EntryRow)
	DropEntry(EntryRow)
	PutClaim(ClaimRow)
	AddTerminal(TerminalRow)
	PutDeferred(DeferredRow)
	DropDeferred(DeferredRow)
	PutTx(TxRow)
	DropTx(id int)
	DropQueueGeneration(gen int)
	DropClaimGeneration(gen int)

	// One row by its name.
	Tx(id int) (TxRow, bool)
	NewestEntry(job int) (EntryRow, bool) // the job's ready row with the highest lease
	Claim(AttemptID) (ClaimRow, bool)
	Terminal(job int) (TerminalRow, bool)
	Deferred(job int) (DeferredRow, bool)

	// Rows in the order that a rule takes them.
	Waiting(lane int) iter.Seq[EntryRow] // by seq
	OpenClaims() iter.Seq[ClaimRow]      // by claim generation, claimed_at, receipt
	Due(now int) iter.Seq[DeferredRow]   // committed, with run_at <= now, by run_at, job
	EntriesOfTx(tx int) []EntryRow
	DeferredOfTx(tx int) []DeferredRow
	TerminalsIn(gen int) iter.Seq[TerminalRow]

	// Numbers of rows.
	QueueSlot(gen int) QueueSlot
	ClaimSlot(gen int) ClaimSlot
	Tally(queue int) Tally

	// Whole tables, in the order of their keys; terminal rows by lane, seq, lease.
	Entries() []EntryRow
	Claims() []ClaimRow
	Terminals() []TerminalRow
	DeferredRows() []DeferredRow
	Txs() []TxRow
}

// QueueSlot is what a prune or a rotation asks of one queue generation.
type QueueSlot struct {
	Committed   int // ready rows, committed
	Waiting     int // of those, not handed out
	Uncommitted int // ready rows of open transactions
	OpenClaims  int // open claims of its ready rows, wherever those claims live
}

// ClaimSlot is what a prune or a rotation asks of one claim generation.
type ClaimSlot struct{ Claims, Open int }

// Tally is one queue's numbers of committed rows, table by table: what Counts adds and subtracts.
type Tally struct {
	Entries, HandedOut int
	Claims, Closures   int
	Completed, Failed  int
	Deferred           int
}

// ErrDisabled is wrapped by every error of [Apply]: the action can't happen in this state, and nothing changed.
var ErrDisabled = errors.New("disabled")

func disabled(a Action, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", a, ErrDisabled, fmt.Sprintf(format, args...))
}

// Apply runs one action. It is total: an action that can't happen gives an error that wraps [ErrDisabled] and
// says why, and leaves the state as it was. An answer such as "stale" or "skipped_active" is a result, not an
// error.
func Apply(s Store, a Action) (Result, error) { return a.apply(s) }
