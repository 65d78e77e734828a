package model

import (
	"errors"
	"fmt"
	"iter"
)

// Store holds a state. The rules are written once, over these reads and writes; [Flat] and [Mutable] are the two
// stores, and a test holds them together.
//
// A slice or a sequence that a Store returns is only for reading, and only until the next write: a rule reads all that
// it takes before it writes. No method asks whether a write is right; that is the rules' business, and a wrong rule
// must be able to do wrong, or no invariant could ever find it.
type Store interface {
	// Config is the same for the whole life of the store, and nobody writes to it.
	Config() *Config

	// Vars are the rings and what the sequences will give next.
	Vars() Vars
	SetVars(Vars)
	// LastSeq is the highest seq that the lane ever gave, committed or not: a rollback leaves a hole, and a hole is
	// never filled again.
	LastSeq(lane int) int
	SetLastSeq(lane, seq int)
	// Rollup is what prunes have counted of a queue; only a prune writes it.
	Rollup(queue int) Rollup
	SetRollup(queue int, r Rollup)
	// Policy is what an operator has decided for a queue.
	Policy(queue int) Policy
	SetPolicy(queue int, p Policy)

	// PutEntry adds a ready row, or replaces the one at its lane and seq: to commit it, or to say that it was
	// handed out.
	PutEntry(EntryRow)
	// DropEntry takes away a row that was never committed.
	DropEntry(EntryRow)
	// PutClaim adds a claim, or replaces the one with its receipt: to close it.
	PutClaim(ClaimRow)
	// AddTerminal never replaces: writing one job's end twice leaves two, for an invariant to find.
	AddTerminal(TerminalRow)
	// DropTerminal takes away exactly this row: its job waits again.
	DropTerminal(TerminalRow)
	// PutDeferred adds a deferred job, or replaces it: to commit it.
	PutDeferred(DeferredRow)
	// DropDeferred takes away a job that becomes ready, or was never committed.
	DropDeferred(DeferredRow)
	// PutDLQ adds a job that is held for an operator; DropDLQ takes it out.
	PutDLQ(DLQRow)
	DropDLQ(DLQRow)
	// AddRemoved says that a job's end was taken away.
	AddRemoved(RemovedRow)
	// PutAttemptState adds or replaces what an attempt has told; DropAttemptState takes it away, if there is any.
	PutAttemptState(AttemptRow)
	DropAttemptState(AttemptID)
	// PutLease adds the lease of an attempt, or replaces it; DropLease takes it away, if there is one.
	PutLease(LeaseRow)
	DropLease(AttemptID)
	// PutUnique adds a job's row of its unique key, or replaces it: to commit it, or to say that another took the key.
	PutUnique(UniqueRow)
	// DropUnique takes away a row that was never committed, or whose job is gone.
	DropUnique(UniqueRow)
	PutTx(TxRow)
	DropTx(id int)
	// DropQueueGeneration truncates a slot of the ready ring: its ready rows, its terminal rows, and what it says of
	// removed ones, together.
	DropQueueGeneration(gen int)
	// DropClaimGeneration truncates a slot of the claim ring: its claims, with their closures.
	DropClaimGeneration(gen int)
	// DropLeaseGeneration truncates a slot of the lease ring.
	DropLeaseGeneration(gen int)

	// Tx is an open transaction.
	Tx(id int) (TxRow, bool)
	// NewestEntry is the job's ready row with the highest lease, committed or not.
	NewestEntry(job int) (EntryRow, bool)
	// Claim is the claim of exactly this attempt, while it is not pruned.
	Claim(AttemptID) (ClaimRow, bool)
	AttemptState(AttemptID) (AttemptRow, bool)
	// Lease is what the attempt waits for, if it does.
	Lease(AttemptID) (LeaseRow, bool)
	Terminal(job int) (TerminalRow, bool)
	// Deferred is the job's row outside of the ring, committed or not.
	Deferred(job int) (DeferredRow, bool)
	DLQ(job int) (DLQRow, bool)

	// Waiting are the lane's rows that may be handed out, of all generations, by seq (P4).
	Waiting(lane int) iter.Seq[EntryRow]
	// OpenClaims are all that are open, by claim generation, shape (batches first), claimed_at, receipt.
	OpenClaims() iter.Seq[ClaimRow]
	// Expiring are those of them that have a deadline, by claim generation, shape, deadline, receipt.
	Expiring() iter.Seq[ClaimRow]
	// Due are the deferred jobs that are committed and have run_at <= now, by run_at, job.
	Due(now int) iter.Seq[DeferredRow]
	// EntriesOfTx and DeferredOfTx are what an open transaction wrote.
	EntriesOfTx(tx int) []EntryRow
	DeferredOfTx(tx int) []DeferredRow
	// ClosedByTx are the claims that an open transaction has completed, by receipt.
	ClosedByTx(tx int) []ClaimRow
	// TerminalsIn are the ends that a prune of the generation would take away.
	TerminalsIn(gen int) iter.Seq[TerminalRow]

	// QueueSlot, ClaimSlot, LeaseSlot and Tally are numbers of rows; a generation without rows has zeros.
	QueueSlot(gen int) QueueSlot
	ClaimSlot(gen int) ClaimSlot
	LeaseSlot(gen int) LeaseSlot
	Tally(queue int) Tally

	// Whole tables, in the order of their keys; terminal rows by lane, seq, lease. They are for invariants and for
	// comparison: a rule that asked for a whole table would be too slow to live with.
	Entries() []EntryRow
	Claims() []ClaimRow
	Terminals() []TerminalRow
	DeferredRows() []DeferredRow
	DLQRows() []DLQRow
	RemovedRows() []RemovedRow
	AttemptStates() []AttemptRow
	Leases() []LeaseRow
	Txs() []TxRow
	// Uniques are few: the rule that takes a key goes through them.
	Uniques() []UniqueRow
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

// LeaseSlot is what a prune or a rotation asks of one lease generation: how many attempts wait in it.
type LeaseSlot struct{ Waiting int }

// Tally is one queue's numbers of committed rows, table by table: what Counts adds and subtracts.
type Tally struct {
	Entries, HandedOut int // ready rows, and how many of them have their evidence
	Claims, Closures   int // claims, and how many of them are closed
	Completed, Failed  int // terminal rows, as Cancelled
	Cancelled          int
	Scheduled          int // deferred, as Retryable
	Retryable          int
	Waiting            int // leases
	DLQ                int // held for an operator
}

// ErrDisabled is wrapped by every error of [Apply]: the action can't happen in this state, and nothing changed.
var ErrDisabled = errors.New("disabled")

func disabled(a Action, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", a, ErrDisabled, fmt.Sprintf(format, args...))
}

// Apply runs one action. It is total: an action that can't happen gives an error that wraps [ErrDisabled] and
// says why, and leaves the state as it was. An answer such as "stale" or "skipped_active" is a result, not an
// error.
//
// What would wait for a caller's transaction can't happen before that one ends: waiting is being disabled.
func Apply(s Store, a Action) (Result, error) {
	if tx := waitsFor(s, a); tx != 0 {
		return nil, disabled(a, "it waits for transaction %d", tx)
	}
	return a.apply(s)
}
