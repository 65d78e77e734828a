package fuzz

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/model"
)

// The rows of the two rings, as Abstract puts them together.

// handedOut reads evidence: which positions were handed out.
func (t *tables) handedOut(rows pgx.Rows) error {
	var slot, generation, batch, count int
	var lane int32
	var seqs multirange
	if err := rows.Scan(&slot, &lane, &generation, &batch, &count, &seqs); err != nil {
		return err
	}
	what := fmt.Sprintf("evidence of batch %d", batch)
	if err := inSlot(what, slot, generation, t.world.QueueSlots); err != nil {
		return err
	}
	values, err := expand(what, seqs, count)
	for _, seq := range values {
		at := position{t.lanes[lane], generation, seq}
		if before, twice := t.evidence[at]; twice {
			return fmt.Errorf("position %d of lane %s was handed out by batch %d and by batch %d", seq, t.laneName(at), before, batch)
		}
		t.evidence[at] = batch
	}
	return err
}

func (t *tables) laneName(at position) string { return t.flat.Config().LaneName(at.lane) }

func (t *tables) ready(rows pgx.Rows) error {
	var slot int
	var lane int32
	var limit *time.Duration
	var since time.Time
	var e model.EntryRow
	if err := rows.Scan(&slot, &lane, &e.Gen, &e.Seq, &e.Job, &e.Lease, &e.Attempt, &e.MaxAttempts, &limit, &since); err != nil {
		return err
	}
	e.Limit, e.Since = timeLimit(limit), logical(since)
	e.Lane = t.lanes[lane]
	at := position{e.Lane, e.Gen, e.Seq}
	e.Batch = t.evidence[at]
	t.entries[at] = e
	t.flat.PutEntry(e)
	t.used(e.Lane, e.Seq)
	return inSlot(fmt.Sprintf("the ready row of job %d", e.Job), slot, e.Gen, t.world.QueueSlots)
}

// tombstone reads positions that were spent without a claim: they are evidence as well, under the same batch.
func (t *tables) tombstone(rows pgx.Rows) error {
	var slot, generation, batch, count int
	var lane int32
	var seqs multirange
	if err := rows.Scan(&slot, &lane, &generation, &batch, &count, &seqs); err != nil {
		return err
	}
	what := fmt.Sprintf("tombstone %d", batch)
	if err := inSlot(what, slot, generation, t.world.QueueSlots); err != nil {
		return err
	}
	values, err := expand(what, seqs, count)
	for _, seq := range values {
		at := position{t.lanes[lane], generation, seq}
		if t.evidence[at] != batch {
			return fmt.Errorf("position %d of lane %s has tombstone %d, but the evidence of batch %d", seq, t.laneName(at), batch, t.evidence[at])
		}
		t.tombstones[at] = true
	}
	return err
}

// used notes that a position of the lane was given.
func (t *tables) used(lane, seq int) {
	t.flat.SetLastSeq(lane, max(t.flat.LastSeq(lane), seq))
}

func (t *tables) claim(rows pgx.Rows) error {
	var slot, generation, batch, ready, count int
	var at time.Time
	var lane int32
	var receipts multirange
	var jobs, leases, seqs []int
	var due *time.Time
	if err := rows.Scan(&slot, &generation, &batch, &at, &ready, &lane, &count, &receipts, &jobs, &leases, &seqs, &due); err != nil {
		return err
	}
	what := fmt.Sprintf("claim batch %d", batch)
	if err := inSlot(what, slot, generation, t.world.ClaimSlots); err != nil {
		return err
	}
	ids, err := expand(what, receipts, count)
	if err != nil {
		return err
	}
	if len(jobs) != count || len(leases) != count || len(seqs) != count {
		return fmt.Errorf("%s counts %d, its arrays have %d, %d and %d", what, count, len(jobs), len(leases), len(seqs))
	}
	for i, receipt := range ids {
		t.addClaim(model.ClaimRow{
			Receipt: receipt, Batch: batch, Gen: generation, Lane: t.lanes[lane], Seq: seqs[i], ReadyGen: ready,
			Job: jobs[i], Lease: leases[i], ClaimedAt: logical(at), Deadline: deadline(due),
		})
	}
	return nil
}

// ownClaim reads a row-local claim: one attempt, in a batch of its own.
func (t *tables) ownClaim(rows pgx.Rows) error {
	var slot int
	var at time.Time
	var lane int32
	var due *time.Time
	c := model.ClaimRow{Local: 1}
	if err := rows.Scan(&slot, &c.Gen, &c.Batch, &at, &c.ReadyGen, &lane, &c.Job, &c.Lease, &c.Seq, &due); err != nil {
		return err
	}
	c.Receipt, c.Lane, c.ClaimedAt, c.Deadline = c.Batch*receiptsPerBatch, t.lanes[lane], logical(at), deadline(due)
	if other, twice := t.claims[c.Receipt]; twice {
		return fmt.Errorf("batch %d is a row-local claim of job %d and one of job %d", c.Batch, c.Job, other.Job)
	}
	t.addClaim(c)
	return inSlot(fmt.Sprintf("row-local claim %d", c.Batch), slot, c.Gen, t.world.ClaimSlots)
}

// receiptsPerBatch is what the schema's comments say of receipts.
const receiptsPerBatch = 4096

func (t *tables) addClaim(c model.ClaimRow) {
	if e, there := t.entries[position{c.Lane, c.ReadyGen, c.Seq}]; there {
		c.Attempt, c.MaxAttempts = e.Attempt+1, e.MaxAttempts
	}
	t.claims[c.Receipt] = c
	t.flat.PutClaim(c)
	t.used(c.Lane, c.Seq)
}

// ownClosure reads the closure of a row-local claim.
func (t *tables) ownClosure(rows pgx.Rows) error {
	var slot, generation, receipt, ready int
	var lane int32
	var outcome string
	if err := rows.Scan(&slot, &generation, &receipt, &ready, &lane, &outcome); err != nil {
		return err
	}
	what := fmt.Sprintf("the closure of receipt %d", receipt)
	if err := inSlot(what, slot, generation, t.world.ClaimSlots); err != nil {
		return err
	}
	return t.closeClaim(what, receipt, outcome, model.ClaimRow{
		Local: 1, Batch: receipt / receiptsPerBatch, Gen: generation, ReadyGen: ready, Lane: t.lanes[lane],
	})
}

// closeClaim closes a claim, which must be where the closure says, and of its shape.
func (t *tables) closeClaim(what string, receipt int, outcome string, at model.ClaimRow) error {
	c, there := t.claims[receipt]
	closure, known := outcomes[outcome]
	switch {
	case !there:
		return fmt.Errorf("%s closes receipt %d, which no claim has", what, receipt)
	case !known:
		return fmt.Errorf("%s has the outcome %q", what, outcome)
	case c.Outcome != model.Open:
		return fmt.Errorf("%s closes job %d run lease %d, which is %s already", what, c.Job, c.Lease, c.Outcome)
	case c.Local != at.Local:
		return fmt.Errorf("%s has another shape than the claim of job %d run lease %d", what, c.Job, c.Lease)
	case c.Batch != at.Batch || c.Gen != at.Gen || c.ReadyGen != at.ReadyGen || c.Lane != at.Lane:
		return fmt.Errorf("%s places job %d run lease %d elsewhere than its claim", what, c.Job, c.Lease)
	}
	c.Outcome = closure
	t.claims[receipt] = c
	t.flat.PutClaim(c)
	return nil
}

func (t *tables) closure(rows pgx.Rows) error {
	var slot, generation, batch, ready, count int
	var lane int32
	var outcome string
	var receipts multirange
	if err := rows.Scan(&slot, &generation, &batch, &ready, &lane, &count, &outcome, &receipts); err != nil {
		return err
	}
	what := fmt.Sprintf("a closure of batch %d", batch)
	if err := inSlot(what, slot, generation, t.world.ClaimSlots); err != nil {
		return err
	}
	ids, err := expand(what, receipts, count)
	for _, receipt := range ids {
		place := model.ClaimRow{Batch: batch, Gen: generation, ReadyGen: ready, Lane: t.lanes[lane]}
		if err := t.closeClaim(what, receipt, outcome, place); err != nil {
			return err
		}
	}
	return err
}

var outcomes = map[string]model.Outcome{
	"completed": model.Completed, "failed": model.Failed, "rescued": model.Rescued, "deadline_expired": model.DeadlineExpired,
	"retried": model.TriedAgain, "snoozed": model.Snoozed,
	"cancelled": model.Cancelled, "callback_timeout": model.CallbackTimedOut, "dlq": model.DeadLettered,
}

// removed reads which ends were taken away. A success is only hidden: it must be there still.
func (t *tables) removed(rows pgx.Rows) error {
	var slot, seq int
	var lane int32
	var r model.RemovedRow
	if err := rows.Scan(&slot, &lane, &r.Gen, &seq, &r.Job); err != nil {
		return err
	}
	r.Lane = t.lanes[lane]
	if at := (position{r.Lane, r.Gen, seq}); seq != 0 {
		if _, twice := t.hidden[at]; twice || t.entries[at].Job != r.Job {
			return fmt.Errorf("position %d of lane %s is hidden as job %d's, twice or not its own", seq, t.laneName(at), r.Job)
		}
		t.hidden[at] = r.Job
	}
	t.flat.AddRemoved(r)
	return inSlot(fmt.Sprintf("the removal of job %d", r.Job), slot, r.Gen, t.world.QueueSlots)
}

func (t *tables) completion(rows pgx.Rows) error {
	var slot, generation, count int
	var lane int32
	var at time.Time
	var seqs multirange
	if err := rows.Scan(&slot, &lane, &generation, &at, &count, &seqs); err != nil {
		return err
	}
	if err := inSlot("a completion", slot, generation, t.world.QueueSlots); err != nil {
		return err
	}
	values, err := expand("a completion", seqs, count)
	for _, seq := range values {
		e, there := t.entries[position{t.lanes[lane], generation, seq}]
		if !there {
			return fmt.Errorf("position %d of generation %d was completed, but has no ready row", seq, generation)
		}
		if _, hidden := t.hidden[position{e.Lane, e.Gen, e.Seq}]; hidden {
			delete(t.hidden, position{e.Lane, e.Gen, e.Seq})
			t.ended[position{e.Lane, e.Gen, e.Seq}] = true
			continue
		}
		if err := t.end(e, model.Completed, at, false); err != nil {
			return err
		}
	}
	return err
}

// kept takes off what is kept of the number of done rows: nothing may be left.
func (t *tables) kept(rows pgx.Rows) error {
	var slot, generation, n int
	var lane int32
	var state string
	if err := rows.Scan(&slot, &lane, &generation, &state, &n); err != nil {
		return err
	}
	t.counts[counted{generation, t.lanes[lane], state}] -= n
	return inSlot("a count", slot, generation, t.world.QueueSlots)
}

func (t *tables) done(rows pgx.Rows) error {
	var slot, generation, seq, job, lease, attempt int
	var lane int32
	var at time.Time
	var state string
	var maxAttempts *int // of a wide row
	var limit *time.Duration
	if err := rows.Scan(&slot, &lane, &generation, &seq, &job, &lease, &attempt, &state, &at, &maxAttempts, &limit); err != nil {
		return err
	}
	if err := inSlot("a done row", slot, generation, t.world.QueueSlots); err != nil {
		return err
	}
	t.counts[counted{generation, t.lanes[lane], state}]++
	if maxAttempts != nil {
		t.used(t.lanes[lane], seq)
		t.flat.AddTerminal(model.TerminalRow{
			Lane: t.lanes[lane], Seq: seq, Gen: generation, Job: job, Lease: lease, Attempt: attempt, MaxAttempts: *maxAttempts,
			State: outcomes[state], FinalizedAt: logical(at), Limit: timeLimit(limit), Wide: true,
		})
		return nil
	}
	e, there := t.entries[position{t.lanes[lane], generation, seq}]
	if t.tombstones[position{t.lanes[lane], generation, seq}] {
		e.Lease, e.Attempt = e.Lease-1, e.Attempt-1 // it was never handed out
	}
	if !there || e.Job != job || e.Lease+1 != lease || e.Attempt+1 != attempt {
		return fmt.Errorf("the done row of job %d run lease %d attempt %d doesn't fit its ready row", job, lease, attempt)
	}
	return t.end(e, outcomes[state], at, state == "completed")
}

// end adds the terminal row of an entry's attempt; leased says that it is a success in a row of its own.
func (t *tables) end(e model.EntryRow, state model.Outcome, at time.Time, leased bool) error {
	place := position{e.Lane, e.Gen, e.Seq}
	if t.ended[place] {
		return fmt.Errorf("job %d run lease %d ended twice", e.Job, e.Lease+1)
	}
	t.ended[place] = true
	t.flat.AddTerminal(model.TerminalRow{
		Lane: e.Lane, Seq: e.Seq, Gen: e.Gen, Job: e.Job, Lease: e.Lease + 1, Attempt: e.Attempt + 1, MaxAttempts: e.MaxAttempts,
		State: state, FinalizedAt: logical(at), Limit: e.Limit, Leased: leased,
	})
	return nil
}

// check compares what could only be compared once everything was read.
func (t *tables) check() error {
	for at, batch := range t.evidence {
		if _, there := t.entries[at]; !there {
			return fmt.Errorf("batch %d handed out position %d of generation %d, which has no ready row", batch, at.laneSeq, at.ready)
		}
	}
	for at, job := range t.hidden {
		return fmt.Errorf("position %d of generation %d is hidden as job %d's, and is no success", at.laneSeq, at.ready, job)
	}
	for of, n := range t.counts {
		if n != 0 {
			return fmt.Errorf("generation %d of lane %d has %d %s rows more than are counted", of.generation, of.lane, n, of.state)
		}
	}
	return nil
}
