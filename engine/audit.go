package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Violation is one thing that Audit found wrong.
type Violation struct {
	Invariant string // the name of the check
	Where     string // table, generation, lane and job, as far as they are known
	What      string // in plain words
}

// String returns "Invariant: where: what".
func (v Violation) String() string { return v.Invariant + ": " + v.Where + ": " + v.What }

// An AuditCheck is one invariant with what was found.
type AuditCheck struct {
	Invariant  string // as in the model and in correctness/MAPPING.md
	Promise    string // the promise that it guards, P1 to P12
	Says       string // what must be so
	Looked     int64  // rows that it was asked of; 0 means that nothing was shown
	Violations []Violation
}

// An AuditReport is what an audit found. Each check is of one moment; together they are of several.
type AuditReport struct{ Checks []AuditCheck }

// Violations returns what is wrong, over all checks; none when all is well.
func (r AuditReport) Violations() []Violation {
	var all []Violation
	for _, c := range r.Checks {
		all = append(all, c.Violations...)
	}
	return all
}

// Looked returns how many rows the checks looked at, over all of them.
func (r AuditReport) Looked() int64 {
	n := int64(0)
	for _, c := range r.Checks {
		n += c.Looked
	}
	return n
}

// Err is nil when nothing is wrong, and else names every violation, one a line.
func (r AuditReport) Err() error {
	var lines []string
	for _, v := range r.Violations() {
		lines = append(lines, v.String())
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the audit finds\n%s", ErrCorrupt, strings.Join(lines, "\n"))
}

// An auditCheck names the statement that answers for an invariant. The names are the model's where it has the invariant.
// Of the model's invariants three speak of transactions that are open, which no other session can see.
type auditCheck struct{ invariant, promise, says, statement string } // the statement without its ending "_audit"

// auditChecks are the invariants as SQL, what rests on others after them. A test corrupts the rows for each of them, and
// compares the names with the model's.
var auditChecks = []auditCheck{
	{"LanesAreWhole", "P4", "each queue has its lanes, and each row a lane and a position that its lane's sequence gave", "lanes_are_whole"},
	{"IdentitiesAreFresh", "P3", "no id is in use that its sequence may still give", "identities"},
	{"PositionsAreSpentOnce", "P3", "each lane position is handed out at most once, and only where a ready row is", "handed_out_once"},
	{"ClaimIsWhole", "P3", "a claim has as many jobs, run leases, positions and receipts as it says", "claim_is_whole"},
	{"ClaimHasItsEvidence", "P3", "each claim's ready row says that this claim took it, for as long as the row is there", "claim_has_evidence"},
	{"ShapeFollowsTheJob", "P3", "a job with a time limit of its own is claimed by itself, and no other job is", "shape_follows"},
	{"AttemptEndsOnce", "P3", "each closure is of a claim in its slot, and no attempt is closed twice", "closed_once"},
	{"ClosureHasItsOutcome", "P2", "where an attempt was closed, the job's end or its next ready row is there", "closure_has_outcome"},
	{"TerminalHasItsReadyRow", "P2", "each end is of a ready row of its own generation that was handed out", "terminal_has_ready_row"},
	{"StateEndsWithItsAttempt", "P3", "each attempt with a heartbeat or progress is open", "state_ends"},
	{"WaitingIsOpen", "P3", "an attempt that waits is open, its state says so, and its callback hasn't come", "waiting_is_open"},
	{"OneRowPerLease", "P3", "no two ready rows of a job have one run lease", "one_row_per_lease"},
	{"OneOpenClaim", "P3", "at most one attempt of a job is open", "one_open_claim"},
	{"OpenClaimIsNewest", "P3", "an open attempt is its job's newest", "open_claim_is_newest"},
	{"OpenClaimKeepsItsSlots", "P2", "the ready generation of an open attempt isn't pruned", "open_claim_keeps_slots"},
	{"NoJobIsLost", "P2", "each job that has a ready row waits, runs or has ended", "job_is_lost"},
	{"NoJobIsTwice", "P2", "no job is in two places", "job_is_twice"},
	{"OneJobPerKey", "P5", "at most one live job has a unique key, and one row says that it holds it", "keys"},
	{"AttemptsWithinMax", "P3", "no job waits for more attempts than it was given", "attempts_within_max"},
	{"CountsAreExact", "P9", "the counted columns add up to the rows", "counts"},
	{"CountsAreKept", "P9", "what is kept of the number of terminal rows is their number, by generation, lane and state", "counts_kept"},
	{"ErrorsAreBounded", "P6", "an error history has at most twenty entries", "histories"},
	{"CursorsAreOfTheirSlot", "P2", "a slot without claims has no rescue cursor", "rescue_cursors"},
}

// auditRingChecks are asked of each ring.
var auditRingChecks = []auditCheck{
	{"RingIsNotOverrun", "P2", "a ring enters no slot before its last generation is pruned, and prunes the oldest first", "ring"},
	{"RowsAreInUnprunedGenerations", "P2", "each row stands in the slot of its generation, which was entered and isn't pruned", "generations"},
}

// Audit checks every invariant that rows can show, and changes nothing. It is safe beside everything else: each check is
// one SELECT in a READ COMMITTED transaction of its own, so that it judges one moment and holds no prune back for longer
// than itself. It reads all rows of all slots: an operator's question, whose cost grows with what the rings hold.
//
// What it finds is in the report, at most twenty violations for each check. An error means that it could not look.
func (e *Engine) Audit(ctx context.Context) (AuditReport, error) {
	const op = "Audit"
	lanes, err := e.laneNames(ctx)
	if err != nil {
		return AuditReport{}, fail(op, "", err)
	}
	var report AuditReport
	for _, check := range auditRingChecks {
		merged := AuditCheck{Invariant: check.invariant, Promise: check.promise, Says: check.says}
		for _, r := range []ring{e.queue, e.claim, e.lease} {
			if err := e.audit(ctx, &merged, e.sql.get(check.statement+"_audit", children{Ring: r}), lanes); err != nil {
				return AuditReport{}, fail(op, check.invariant, err)
			}
		}
		report.Checks = append(report.Checks, merged)
	}
	for _, check := range auditChecks {
		one := AuditCheck{Invariant: check.invariant, Promise: check.promise, Says: check.says}
		if err := e.audit(ctx, &one, e.sql.get(check.statement+"_audit", children{}), lanes); err != nil {
			return AuditReport{}, fail(op, check.invariant, err)
		}
		report.Checks = append(report.Checks, one)
	}
	return report, nil
}

// audit runs one statement and adds what it says to the check.
func (e *Engine) audit(ctx context.Context, check *AuditCheck, sql string, lanes map[int32]string) error {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, e.pool, opts, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue(e.sql.get("audit_settings", children{}))
		b.Queue(sql).Query(func(rows pgx.Rows) error {
			var looked int64
			var table, words *string
			var generation, job *int64
			var lane *int32
			_, err := pgx.ForEachRow(rows, []any{&looked, &table, &generation, &lane, &job, &words}, func() error {
				if words != nil {
					check.Violations = append(check.Violations, Violation{check.Invariant, whereabouts(table, generation, lane, job, lanes), *words})
				}
				return nil
			})
			check.Looked += looked
			return err
		})
		return send(ctx, tx, &b)
	})
}

// whereabouts puts what is known of a place into words.
func whereabouts(table *string, generation *int64, lane *int32, job *int64, lanes map[int32]string) string {
	var parts []string
	if table != nil {
		parts = append(parts, *table)
	}
	if generation != nil {
		parts = append(parts, fmt.Sprintf("generation %d", *generation))
	}
	if lane != nil {
		name, known := lanes[*lane]
		if !known {
			name = "which is registered nowhere"
		}
		parts = append(parts, fmt.Sprintf("lane %d (%s)", *lane, name))
	}
	if job != nil {
		parts = append(parts, fmt.Sprintf("job %d", *job))
	}
	return strings.Join(parts, ", ")
}

// laneNames are the lanes as people know them.
func (e *Engine) laneNames(ctx context.Context) (map[int32]string, error) {
	rows, err := e.pool.Query(ctx, e.sql.get("audit_lanes", children{}))
	if err != nil {
		return nil, err
	}
	names := map[int32]string{}
	var id int32
	var queue string
	var priority, shard int16
	_, err = pgx.ForEachRow(rows, []any{&id, &queue, &priority, &shard}, func() error {
		names[id] = fmt.Sprintf("queue %q, priority %d, shard %d", queue, priority, shard)
		return nil
	})
	return names, err
}
