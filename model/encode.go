package model

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// The compact encoding of a flat state: every number a varint, every table its length and its rows. Equal states
// have equal encodings and the other way round; the configuration is not part of it. Numbers are small in small
// worlds, so most take a byte: a state of two jobs has about a hundred.
//
// The encoding is for memory, not for files: it changes whenever a row gets another column.
//
// Each row type lists its numbers once; the encoder and the decoder walk the same list.

// The lists, in the order of the fields.

func (v *Vars) numbers(visit func(*int)) {
	visit(&v.Queue.Generation)
	visit(&v.Queue.Pruned)
	visit(&v.Claims.Generation)
	visit(&v.Claims.Pruned)
	visit(&v.Leases.Generation)
	visit(&v.Leases.Pruned)
	visit(&v.NextJob)
	visit(&v.NextBatch)
	visit(&v.NextReceipt)
	visit(&v.Paused)
}

func (p *Policy) numbers(visit func(*int)) {
	visit(&p.DLQ)
	visit(&p.Shards)
}

func (d *DLQRow) numbers(visit func(*int)) {
	visit(&d.Job)
	visit(&d.Lane)
	visit(&d.Lease)
	visit(&d.Attempt)
	visit(&d.MaxAttempts)
	visit(&d.FinalizedAt)
	visit(&d.At)
	visit(&d.Limit)
}

func (r *RemovedRow) numbers(visit func(*int)) {
	visit(&r.Job)
	visit(&r.Lane)
	visit(&r.Gen)
}

func (r *Rollup) numbers(visit func(*int)) {
	visit(&r.Completed)
	visit(&r.Failed)
}

func (e *EntryRow) numbers(visit func(*int)) {
	visit(&e.Lane)
	visit(&e.Seq)
	visit(&e.Gen)
	visit(&e.Job)
	visit(&e.Lease)
	visit(&e.Attempt)
	visit(&e.MaxAttempts)
	visit(&e.Tx)
	visit(&e.Batch)
	visit(&e.Limit)
	visit(&e.Since)
}

func (c *ClaimRow) numbers(visit func(*int)) {
	visit(&c.Receipt)
	visit(&c.Batch)
	visit(&c.Gen)
	visit(&c.Lane)
	visit(&c.Seq)
	visit(&c.ReadyGen)
	visit(&c.Job)
	visit(&c.Lease)
	visit(&c.Attempt)
	visit(&c.MaxAttempts)
	visit(&c.ClaimedAt)
	c.Outcome.number(visit)
	visit(&c.Local)
	visit(&c.Tx)
	visit(&c.ClosedAt)
	visit(&c.Deadline)
}

func (t *TerminalRow) numbers(visit func(*int)) {
	visit(&t.Lane)
	visit(&t.Seq)
	visit(&t.Gen)
	visit(&t.Job)
	visit(&t.Lease)
	visit(&t.Attempt)
	visit(&t.MaxAttempts)
	t.State.number(visit)
	visit(&t.FinalizedAt)
	visit(&t.Limit)
	visitFlag(&t.Leased, visit)
	visitFlag(&t.Wide, visit)
}

// visitFlag shows a flag as a number, 0 or 1.
func visitFlag(b *bool, visit func(*int)) {
	n := one(*b)
	visit(&n)
	*b = n != 0
}

func (d *DeferredRow) numbers(visit func(*int)) {
	visit(&d.Job)
	visit(&d.Lane)
	visit(&d.Lease)
	visit(&d.Attempt)
	visit(&d.MaxAttempts)
	state := slices.Index(deferredStates, d.State)
	visit(&state)
	d.State = deferredStates[state]
	visit(&d.RunAt)
	visit(&d.Limit)
	visit(&d.Tx)
}

func (a *AttemptRow) numbers(visit func(*int)) {
	visit(&a.Job)
	visit(&a.Lease)
	visit(&a.Heartbeat)
	visit(&a.Percent)
	visitFlag(&a.Leased, visit)
	visit(&a.Early)
	visit(&a.Callback)
}

func (l *LeaseRow) numbers(visit func(*int)) {
	visit(&l.Job)
	visit(&l.Lease)
	visit(&l.Lane)
	visit(&l.Gen)
	visit(&l.Token)
	visit(&l.Timeout)
}

func (u *UniqueRow) numbers(visit func(*int)) {
	visit(&u.Job)
	visit(&u.Key)
	visit(&u.Held)
	active := one(u.Active)
	visit(&active)
	u.Active = active != 0
	visit(&u.Tx)
}

// deferredStates numbers the states of deferred jobs; the empty one is that of a row that is being decoded.
var deferredStates = []JobState{"", JobScheduled, JobRetryable}

// isolations numbers the levels; the order is part of the encoding.
var isolations = []Isolation{ReadCommitted, RepeatableRead, Serializable}

func (t *TxRow) numbers(visit func(*int)) {
	visit(&t.ID)
	level := slices.Index(isolations, t.Isolation)
	visit(&level)
	t.Isolation = isolations[level]
}

func (o *Outcome) number(visit func(*int)) {
	n := int(*o)
	visit(&n)
	*o = Outcome(n)
}

// numbers walks the whole state. How many lanes and queues there are, the configuration says, and so the encoding
// doesn't.
func (f *Flat) numbers(visit func(*int)) {
	f.vars.numbers(visit)
	for lane := range f.lastSeq {
		visit(&f.lastSeq[lane])
	}
	for queue := range f.rollups {
		f.rollups[queue].numbers(visit)
	}
	for queue := range f.policies {
		f.policies[queue].numbers(visit)
	}
	walkTable(&f.entries, visit, (*EntryRow).numbers)
	walkTable(&f.claims, visit, (*ClaimRow).numbers)
	walkTable(&f.terminals, visit, (*TerminalRow).numbers)
	walkTable(&f.deferred, visit, (*DeferredRow).numbers)
	walkTable(&f.txs, visit, (*TxRow).numbers)
	walkTable(&f.states, visit, (*AttemptRow).numbers)
	walkTable(&f.leases, visit, (*LeaseRow).numbers)
	walkTable(&f.uniques, visit, (*UniqueRow).numbers)
	walkTable(&f.dlq, visit, (*DLQRow).numbers)
	walkTable(&f.removed, visit, (*RemovedRow).numbers)
}

// walkTable visits the table's length, which a decoder changes, then each row.
func walkTable[T any](table *[]T, visit func(*int), numbers func(*T, func(*int))) {
	length := len(*table)
	visit(&length)
	if length > len(*table) {
		*table = slices.Grow(*table, length-len(*table))
	}
	*table = (*table)[:length]
	for i := range *table {
		numbers(&(*table)[i], visit)
	}
}

// Encode appends the state's encoding.
func (f *Flat) Encode(to []byte) []byte {
	f.numbers(func(n *int) { to = binary.AppendVarint(to, int64(*n)) })
	return to
}

// Decode makes f the state that was encoded, reusing what f holds; f's configuration must be that of the state.
// It is only for what Encode made: anything else is a bug of the caller's, and panics.
func (f *Flat) Decode(from []byte) {
	f.numbers(func(n *int) {
		value, size := binary.Varint(from)
		if size <= 0 {
			panic("model: an encoded state is cut short")
		}
		*n, from = int(value), from[size:]
	})
	if len(from) > 0 {
		panic(fmt.Sprintf("model: %d bytes follow an encoded state", len(from)))
	}
}
