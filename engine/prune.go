package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A PruneStatus says what a prune did.
type PruneStatus string

// The outcomes of a prune.
const (
	// Pruned: the oldest sealed slot was proven spent and truncated.
	Pruned PruneStatus = "pruned"
	// PruneSkippedActive: the oldest sealed slot is still needed, by a job not handed out or an open attempt.
	PruneSkippedActive PruneStatus = "skipped_active"
	// PruneBlocked: somebody holds a lock on the slot, or another maintenance transaction is at work.
	PruneBlocked PruneStatus = "blocked"
	// PruneNothing: no slot is sealed.
	PruneNothing PruneStatus = "nothing"
	// PruneNotDue: PruneQueueDue found enough slots to rotate into.
	PruneNotDue PruneStatus = "not_due"
)

// A PruneOutcome says what a prune did and to which generation.
type PruneOutcome struct {
	Status     PruneStatus
	Generation int64 // looked at; -1 when none was
	// CarriedFailedRows counts the failed rows that were carried to the current slot; always 0 for the other rings.
	CarriedFailedRows int
	// Holder is who is in the way, where that is known.
	Holder *Holder
}

// PruneQueue truncates the oldest sealed slot of the queue ring if it is proven spent: every ready row handed out, no
// attempt of them open, no producer with uncommitted rows. What the slot held of history enters the permanent counts.
//
// failedRetention is how long failed rows are kept at least, counted from their end, however fast the ring turns (P8):
// a row inside it is carried to the current slot, with its body, in the same transaction. Fractions of a second round
// up; 0 keeps none. Cancelled rows are not kept. Past it a row is counted in Counts.PrunedFailed, for ever.
//
// Each wait for a lock is bounded by Config.MaintenanceLockTimeout, and a holder seen by two calls of this engine in a
// row isn't waited for at all (P7). It is safe with any number of leaders. Errors: ErrInvalid; ErrCorrupt when the rows
// contradict each other, nothing was truncated then.
func (e *Engine) PruneQueue(ctx context.Context, failedRetention time.Duration) (PruneOutcome, error) {
	const op = "PruneQueue"
	if err := checkDuration(op, "failedRetention", failedRetention); err != nil {
		return PruneOutcome{}, err
	}
	p := pruning{e: e, op: op, ring: e.queue, retention: wholeSeconds(failedRetention)}
	return p.run(ctx)
}

// PruneQueueDue is PruneQueue once the ring is down to its last free slot, and does nothing before (PruneNotDue): history
// then stays for a lap of the ring, and a failed row is carried once a lap instead of once a slot. It is what a maintainer
// calls beside RotateDue.
func (e *Engine) PruneQueueDue(ctx context.Context, failedRetention time.Duration) (PruneOutcome, error) {
	const op = "PruneQueueDue"
	if err := checkDuration(op, "failedRetention", failedRetention); err != nil {
		return PruneOutcome{}, err
	}
	p := pruning{e: e, op: op, ring: e.queue, retention: wholeSeconds(failedRetention), spare: spareSlots}
	return p.run(ctx)
}

// spareSlots is how many slots PruneQueueDue leaves to rotate into: the next one, and another while a prune is blocked.
const spareSlots = 2

// PruneClaims truncates the oldest sealed slot of the claim ring if every attempt in it is closed. It closes nothing
// itself: rescue does. Otherwise like PruneQueue.
func (e *Engine) PruneClaims(ctx context.Context) (PruneOutcome, error) {
	p := pruning{e: e, op: "PruneClaims", ring: e.claim}
	return p.run(ctx)
}

// PruneLeases truncates the oldest sealed slot of the lease ring if nobody waits in it. It ends no wait itself: callbacks,
// timeouts and what closes attempts do. Otherwise like PruneQueue.
func (e *Engine) PruneLeases(ctx context.Context) (PruneOutcome, error) {
	p := pruning{e: e, op: "PruneLeases", ring: e.lease}
	return p.run(ctx)
}

// wholeSeconds rounds up, so that a positive retention never becomes "off" (P8).
func wholeSeconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

// pruning is one prune under way. The order of its steps is the protocol: mutex, ring, slot row, holders, cheap refusal,
// child locks, proof, truncate.
type pruning struct {
	e         *Engine
	op        string
	ring      ring
	retention int64  // seconds
	spare     int    // nothing is done while so many slots are free; 0 for no such condition
	lockWait  string // the session's own lock_timeout

	current int64      // generation that rows are carried to
	cutoff  *time.Time // failed rows from here on are carried; nil: none are
	carried bool       // before the exclusive locks, since they are many
	out     PruneOutcome
}

func (p *pruning) run(ctx context.Context) (PruneOutcome, error) {
	p.out = PruneOutcome{Status: PruneBlocked, Generation: -1}
	err := p.e.transact(ctx, p.op, func(t *txn) (bool, error) {
		err := p.steps(ctx, t)
		if isLockTimeout(err) {
			p.out.Status = PruneBlocked
			return false, nil
		}
		return p.out.Status == Pruned, err
	})
	if err != nil {
		return PruneOutcome{}, err
	}
	if p.out.Status != Pruned {
		p.out.CarriedFailedRows = 0 // whatever was carried was rolled back
	}
	return p.out, nil
}

func (p *pruning) steps(ctx context.Context, t *txn) error {
	w, err := p.lockRing(ctx, t)
	if err != nil {
		return err
	}
	if len(w.sealed()) == 0 {
		p.out.Status = PruneNothing
		return nil
	}
	if p.spare > 0 && p.ring.slots-len(w) >= p.spare {
		p.out.Status = PruneNotDue
		return nil
	}
	g := w.sealed()[0]
	p.current = w.current()
	at := children{Ring: p.ring, Queue: p.ring.slot(g), Claim: p.ring.slot(g)}
	p.out.Generation = g
	if _, err := t.Exec(ctx, p.e.sql.get("lock_slot", at), p.ring.slot(g)); err != nil {
		return err
	}
	known, err := p.lookForHolders(ctx, t, at)
	if err != nil {
		return err
	}
	if active, err := p.refuse(ctx, t, at); err != nil || active || known {
		return err // Status is PruneBlocked from the start
	}
	if blocked, err := p.carryMany(ctx, t, at); err != nil || blocked {
		return err
	}
	if err := p.lockChildren(ctx, t, at); err != nil {
		return err
	}
	if spent, err := p.prove(ctx, t, at); err != nil || !spent {
		return err
	}
	p.out.Status = Pruned
	return p.truncate(ctx, t, at)
}

// lockRing takes the prune mutex, then the ring's, which also holds rotation off, and reads the cursor in a later
// statement. From here on each wait is bounded: to read a child that somebody has to himself is a wait, too.
func (p *pruning) lockRing(ctx context.Context, t *txn) (w window, err error) {
	sql := p.e.sql
	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(sql.get("set_lock_timeout", children{}), p.e.lockWait).QueryRow(func(row pgx.Row) error { return row.Scan(&p.lockWait) })
	b.Queue(sql.get("no_jit", children{}))
	b.Queue(sql.get("lock_prune_mutex", children{}))
	b.Queue(sql.get("lock_ring", children{Ring: p.ring}))
	b.Queue(sql.get("read_window", children{Ring: p.ring})).QueryRow(func(row pgx.Row) error { return row.Scan(&w) })
	if p.ring.name == "queue" {
		b.Queue(sql.get("retention_cutoff", children{}), p.e.now(), p.retention).QueryRow(func(row pgx.Row) error { return row.Scan(&p.cutoff) })
	}
	return w, send(ctx, t, &b)
}

// refuse looks, cheaply and without any lock on a child that could make others wait, whether the slot is still active:
// the ordinary case costs the hot path nothing. It refuses; only prove allows.
func (p *pruning) refuse(ctx context.Context, t *txn, at children) (active bool, err error) {
	err = t.QueryRow(ctx, p.e.sql.get(p.ring.name+"_slot_active", at), p.out.Generation).Scan(&active)
	if active {
		p.out.Status, p.out.Holder = PruneSkippedActive, nil
	}
	return active, err
}

// lookForHolders asks who holds locks on the slot's children. A holder that the last call saw, too, is not waited for.
func (p *pruning) lookForHolders(ctx context.Context, t *txn, at children) (known bool, err error) {
	rows, err := t.Query(ctx, p.e.sql.get("holders", at))
	if err != nil {
		return false, err
	}
	now, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Holder])
	if err != nil {
		return false, err
	}
	if len(now) > 0 {
		p.out.Holder = &now[0]
	}
	if again := p.e.holders.seen(p.ring.name, p.out.Generation, now); again != nil {
		p.out.Holder = again
		return true, nil
	}
	return false, nil
}

// lockChildren makes the slot this transaction's own: the gate child with a bounded wait, the others at once. The
// setting is per lock, and goes back to what it was (hazard 15). After carryMany nothing is waited for: it holds a lock
// that somebody with a lock on the gate child may be waiting for.
func (p *pruning) lockChildren(ctx context.Context, t *txn, at children) error {
	sql := p.e.sql
	var b pgx.Batch
	if p.ring.name == "queue" {
		// The proof reads the claim ring; its locks come before the queue ring's.
		b.Queue(sql.get("share_claim_children", children{}))
	}
	if p.carried {
		b.Queue(sql.get("lock_gate_now", at))
	} else {
		b.Queue(sql.get("lock_gate", at))
	}
	if len(p.ring.Rest()) > 0 {
		b.Queue(sql.get("lock_rest", at))
	}
	b.Queue(sql.get("restore_lock_timeout", children{}), p.lockWait)
	return send(ctx, t, &b)
}

// prove decides in new statements, under the locks: whatever committed while they waited is visible now (hazard 4). The
// slot can't have become current or pruned meanwhile, since the ring's mutex is held. Contradictions are errors.
func (p *pruning) prove(ctx context.Context, t *txn, at children) (spent bool, err error) {
	var facts proof
	row := t.QueryRow(ctx, p.e.sql.get(p.ring.name+"_slot_proof", at), p.out.Generation)
	if err := row.Scan(&facts.unclaimed, &facts.open, &facts.overlap, &facts.stray); err != nil {
		return false, err
	}
	if why := facts.contradiction(); why != "" {
		return false, fmt.Errorf("%w: %s generation %d: %s", ErrCorrupt, p.ring.name, p.out.Generation, why)
	}
	if !facts.spent() {
		p.out.Status = PruneSkippedActive
	}
	return facts.spent(), nil
}

// A proof is what the rows of a slot say, by sets.
type proof struct {
	unclaimed bool // a ready row that no evidence of the same slot and generation covers
	open      bool // a receipt that no closure covers
	overlap   bool // two closures, or two pieces of evidence, of the same attempt
	stray     bool // evidence, history or a closure for something that isn't there, or rows of another generation
}

func (p proof) spent() bool { return !p.unclaimed && !p.open }

// contradiction names what can't be: equal counts could hide a double closure beside an open claim, sets can't.
func (p proof) contradiction() string {
	switch {
	case p.overlap:
		return "an attempt was handed out or closed twice"
	case p.stray:
		return "evidence or history without its row, or rows of another generation"
	}
	return ""
}

// truncate carries failed rows inside the floor on, adds what is lost to the permanent counts, appends the generation to the prune ledger and truncates, all or
// nothing. A child that was never written needs no TRUNCATE, which would only leave dead rows in the catalogue (hazard 27).
func (p *pruning) truncate(ctx context.Context, t *txn, at children) error {
	sql := p.e.sql
	var written []string
	var b pgx.Batch
	switch p.ring.name {
	case "queue":
		if !p.carried {
			p.queueCarry(&b, at)
		}
		b.Queue(sql.get("fold_rollups", at), p.cutoff)
	case "claim":
		b.Queue(sql.get("reset_rescue_cursor", at))
	}
	b.Queue(sql.get("append_prune", at), p.out.Generation, p.ring.slot(p.out.Generation), p.e.now())
	b.Queue(sql.get("written_children", at)).QueryRow(func(row pgx.Row) error { return row.Scan(&written) })
	if err := send(ctx, t, &b); err != nil || len(written) == 0 {
		return err
	}
	at.Ring.children = written
	_, err := t.Exec(ctx, sql.get("truncate_slot", at))
	return err
}
