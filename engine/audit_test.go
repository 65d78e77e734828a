package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// wantAudit fails the test for each violation.
func (b *bundle) wantAudit(t *testing.T) engine.AuditReport {
	t.Helper()
	report, err := b.Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations() {
		t.Error(v)
	}
	return report
}

// mixed makes jobs of every fate in queue "q", over two generations of each ring: jobs 1 and 2 completed, 2 deleted, 3 failed,
// 4 rescued and available again, 5 waiting for a callback, 6 available, 7 deferred, with a unique key.
func (b *bundle) mixed(t *testing.T) {
	t.Helper()
	ids := b.enqueue(t, "q", 6)
	if ids[0] != 1 {
		t.Fatalf("the first job of a new schema is %d", ids[0])
	}
	done := b.claim(t, "q", 3)
	b.complete(t, done[:2])
	if results, err := b.Fail(t.Context(), []engine.Failure{{Receipt: done[2].Receipt, Message: "no"}}); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	b.claim(t, "q", 1)
	b.clock.advance(2 * time.Minute)
	for _, r := range rings {
		b.wantRotate(t, r, engine.Rotated, 1)
	}
	if out, err := b.RescueStale(t.Context(), time.Minute, 10); err != nil || out.Requeued != 1 {
		t.Fatal(out, err)
	}
	running := b.claim(t, "q", 1)
	if results, err := b.Heartbeat(t.Context(), receipts(running)); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	b.park(t, running[0].Receipt, engine.Wait{})
	b.wantDeleted(t, ids[1:2], nil)
	old := begin(t, b.pool, "repeatable read")
	deferred := jobs("q", 1)
	deferred[0].Unique = &engine.Unique{}
	if _, err := b.EnqueueTx(t.Context(), old, deferred...); err != nil {
		t.Fatal(err)
	}
	if err := old.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Each check looks at something and finds nothing in a schema where every kind of row is.
func TestAuditOfSoundRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if n := b.wantAudit(t).Looked(); n == 0 {
		t.Error("even an empty schema has a ledger")
	}
	b.mixed(t)
	for _, c := range b.wantAudit(t).Checks {
		if c.Looked == 0 {
			t.Errorf("%s looked at nothing", c.Invariant)
		}
		if c.Says == "" || c.Promise == "" {
			t.Errorf("%s doesn't say what must be so", c.Invariant)
		}
	}
}

// Every check can fail: rows are corrupted by hand, and the check that is named finds it, in words that tell where.
func TestAuditFindsCorruption(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, c := range corruptions {
		found[c.invariant] = true
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.mixed(t)
			for _, sql := range c.sql {
				b.exec(t, sql)
			}
			report, err := b.Audit(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, v := range report.Violations() {
				if v.Invariant == c.invariant && strings.Contains(v.String(), c.words) {
					return
				}
				all = append(all, v.String())
			}
			t.Errorf("not found: %s with the words %q; instead:\n%s", c.invariant, c.words, strings.Join(all, "\n"))
		})
	}
	report, err := setup(t).Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if !found[c.Invariant] {
			t.Errorf("no corruption shows that %s can fail", c.Invariant)
		}
	}
}

// A corruption is what a hand, a restore of some tables or a wrong statement could do to the rows of mixed.
type corruption struct {
	invariant, words string
	sql              []string
}

func (c corruption) name() string { return c.invariant + "/" + strings.ReplaceAll(c.words, " ", "_") }

// corruptions: what Audit must find.
var corruptions = []corruption{
	{"LanesAreWhole", `queue "r" has 0 lanes`, []string{`INSERT INTO %s.queues (queue) VALUES ('r')`}},
	{"LanesAreWhole", "of a lane that there isn't", []string{`UPDATE %s.deferred_jobs SET lane_id = 99`}},
	{"LanesAreWhole", "a row stands at position 7", []string{`ALTER SEQUENCE %s.lane_seq_2 RESTART WITH 6`}},
	{"LanesAreWhole", "1 jobs are of a lane that there isn't", []string{`INSERT INTO %s.dlq_entries SELECT 3, 1, now(), now(), now(), 99, 1, 1, 'k', '{}', '[]'`}},
	{"NoJobIsTwice", "failed (", []string{`INSERT INTO %s.dlq_entries SELECT 3, 1, now(), now(), now(), lane_id, 1, 1, 'k', '{}', '[]' FROM %s.ready_entries WHERE job_id = 3`}},
	{"NoJobIsTwice", "removed (", []string{`UPDATE %s.receipt_completion_tombstones SET lane_seq = NULL`}},
	{"NoJobIsLost", "neither runs nor waits nor has ended", []string{`UPDATE %s.receipt_completion_tombstones SET job_id = 1`}},
	{"TerminalHasItsReadyRow", "is hidden, and is no success of this job", []string{`UPDATE %s.receipt_completion_tombstones SET job_id = 1`}},
	{"TerminalHasItsReadyRow", "position 3 is hidden, and", []string{`UPDATE %s.receipt_completion_tombstones SET lane_seq = 3, job_id = 3`}},
	{"ClosureHasItsOutcome", "closed as dlq, and its job ended as failed", []string{`UPDATE %s.lease_claim_closure_batches SET outcome = 'dlq' WHERE outcome = 'failed'`}},
	{"RowsAreInUnprunedGenerations", "receipt_completion_tombstones", []string{`UPDATE %s.receipt_completion_tombstones SET ready_generation = 4`}},
	{"LanesAreWhole", `history of queue "gone"`, []string{`INSERT INTO %s.queue_terminal_rollups VALUES ('gone', 1, 0)`}},
	{"IdentitiesAreFresh", "job_id_seq: 7 is in use", []string{`ALTER SEQUENCE %s.job_id_seq RESTART WITH 3`}},
	{"IdentitiesAreFresh", "claim_batch_id_seq: 3 is in use", []string{`ALTER SEQUENCE %s.claim_batch_id_seq RESTART WITH 2`}},
	{"PositionsAreSpentOnce", "position 5 was handed out 2 times, by the batches 3, 4", []string{
		`INSERT INTO %s.ready_claim_attempt_batches SELECT ready_generation, 4, lane_id, 1, ready_slot, '{[5,6)}' FROM %s.ready_claim_attempt_batches WHERE batch_id = 3`,
	}},
	{"PositionsAreSpentOnce", "counts 2 positions and names", []string{`UPDATE %s.ready_claim_attempt_batches SET claimed_count = 2 WHERE batch_id = 3`}},
	{"PositionsAreSpentOnce", "position 99, where there is no ready row", []string{`UPDATE %s.ready_claim_attempt_batches SET lane_seqs = '{[99,100)}' WHERE batch_id = 3`}},
	{"ClaimIsWhole", "says 4 members, and has 3 jobs", []string{`UPDATE %s.lease_claim_batches SET claimed_count = 4 WHERE batch_id = 1`}},
	{"ClaimHasItsEvidence", "attempt 5/1 of claim batch 3 has no evidence of its own", []string{`DELETE FROM %s.ready_claim_attempt_batches WHERE batch_id = 3`}},
	{"ClaimHasItsEvidence", "the ready row of job 55", []string{`UPDATE %s.ready_entries SET job_id = 55 WHERE job_id = 5`}},
	{"ShapeFollowsTheJob", "attempt 5/1 stands here, and its job has a time limit of its own", []string{`UPDATE %s.ready_entries SET time_limit = '1 s' WHERE job_id = 5`}},
	{"AttemptEndsOnce", "was closed 2 times, as completed and failed", []string{
		`INSERT INTO %s.lease_claim_closure_batches SELECT claim_generation, batch_id, closed_at, ready_generation, lane_id, 1, claim_slot, ready_slot, 'failed', '{[4096,4097)}'
		   FROM %s.lease_claim_closure_batches WHERE outcome = 'completed'`,
	}},
	{"AttemptEndsOnce", "its slot holds no such claim", []string{`DELETE FROM %s.lease_claim_batches WHERE batch_id = 1`}},
	{"AttemptEndsOnce", "its claim says another lane", []string{`UPDATE %s.lease_claim_closure_batches SET lane_id = 1 WHERE outcome = 'failed'`}},
	{"AttemptEndsOnce", "counts 5 attempts", []string{`UPDATE %s.lease_claim_closure_batches SET closed_count = 5 WHERE outcome = 'failed'`}},
	{"ClosureHasItsOutcome", "attempt 1/1 was closed as completed, and its job went nowhere", []string{`DELETE FROM %s.receipt_completion_batches`}},
	{"ClosureHasItsOutcome", "attempt 4/1 was closed as rescued, and its job went nowhere", []string{`DELETE FROM %s.ready_entries WHERE job_id = 4 AND run_lease = 1`}},
	{"ClosureHasItsOutcome", "attempt 3/1 was closed as completed, and its job ended as failed", []string{`UPDATE %s.lease_claim_closure_batches SET outcome = 'completed' WHERE outcome = 'failed'`}},
	{"StateEndsWithItsAttempt", "attempt 5/9 has a state, and is not open", []string{`UPDATE %s.attempt_state SET run_lease = 9`}},
	{"WaitingIsOpen", "attempt 5/9 waits, and is not open under receipt", []string{`UPDATE %s.leases SET run_lease = 9`}},
	{"WaitingIsOpen", "its state doesn't say so", []string{`UPDATE %s.attempt_state SET leased = false`}},
	{"WaitingIsOpen", "its callback has come", []string{`UPDATE %s.attempt_state SET callback_token = (SELECT token FROM %s.leases)`}},
	{"WaitingIsOpen", "attempt 5/1 waits 2 times at once", []string{
		`INSERT INTO %s.leases SELECT lease_generation, job_id, run_lease, receipt_id, claim_generation, ready_generation, parked_at, timeout_at, lane_id, 1 - lease_slot, local, token
		   FROM %s.leases`,
	}},
	{"TerminalHasItsReadyRow", "there is no ready row in its generation", []string{`DELETE FROM %s.ready_entries WHERE job_id = 3`}},
	{"TerminalHasItsReadyRow", "was never handed out", []string{`DELETE FROM %s.ready_claim_attempt_batches WHERE batch_id = 1`}},
	{"TerminalHasItsReadyRow", "its ready row is of another attempt", []string{`UPDATE %s.done_entries SET run_lease = 2`}},
	{"TerminalHasItsReadyRow", "counts 3 jobs", []string{`UPDATE %s.receipt_completion_batches SET completed_count = 3`}},
	{"OneOpenClaim", "job 5: 2 attempts are open: 5/1, 5/2", []string{copyOfClaim3}},
	{"OneRowPerLease", "job 5: 2 ready rows have the run lease 0", []string{`UPDATE %s.ready_entries SET job_id = 5 WHERE job_id = 6`}},
	{"OpenClaimIsNewest", "attempt 5/2 is open, and the newest ready row is of attempt 1", []string{copyOfClaim3}},
	{"OpenClaimKeepsItsSlots", "its ready generation 0 is pruned", []string{`INSERT INTO %s.queue_ring_prunes VALUES (0, 0, now())`}},
	{"NoJobIsLost", "job 5: position 5 was handed out", []string{`DELETE FROM %s.lease_claim_batches WHERE batch_id = 3`}},
	{"NoJobIsTwice", "job 3: the job is in 2 places at once", []string{`DELETE FROM %s.lease_claim_closure_batches WHERE outcome = 'failed'`}},
	{"NoJobIsTwice", "scheduled (deferred_jobs)", []string{`UPDATE %s.deferred_jobs SET job_id = 6`}},
	{"OneJobPerKey", "2 live jobs have the key", []string{
		`UPDATE %s.unique_claims SET active = false`,
		`INSERT INTO %s.unique_claims SELECT 5, unique_key, 0, true FROM %s.unique_claims`,
	}},
	{"OneJobPerKey", "its key is another's or nobody's", []string{`UPDATE %s.unique_claims SET active = false`}},
	{"AttemptsWithinMax", "with 25 of 25 attempts used up", []string{`UPDATE %s.deferred_jobs SET attempt = 25, run_lease = 25`}},
	{"AttemptsWithinMax", "at run lease 0", []string{`UPDATE %s.ready_entries SET attempt = 1 WHERE job_id = 6`}},
	{"CountsAreExact", `queue "q", priority 2`, []string{`UPDATE %s.ready_claim_attempt_batches SET claimed_count = 2 WHERE batch_id = 3`}},
	{"CountsAreKept", "there are 1 failed rows, and 3 are counted", []string{`UPDATE %s.queue_terminal_count_deltas SET delta = 3`}},
	{"CountsAreKept", "there are 0 cancelled rows, and 7 are counted", []string{
		`INSERT INTO %s.queue_terminal_live_counts SELECT ready_generation, 7, lane_id, ready_slot, 'cancelled' FROM %s.done_entries`,
	}},
	{"ErrorsAreBounded", "no list of at most twenty", []string{`UPDATE %s.done_entries SET errors = '{}'`}},
	{"CursorsAreOfTheirSlot", "slot 0 has the batch_rescue cursor at 9", []string{
		`TRUNCATE %s.lease_claim_batches_0`, `UPDATE %s.claim_ring_slots SET batch_rescue_cursor_claimed_at = now(), batch_rescue_cursor_batch_id = 9 WHERE slot = 0`,
	}},
	{"RingIsNotOverrun", "the state row says 5 slots, and there are 4", []string{`UPDATE %s.queue_ring_state SET slot_count = 5`}},
	{"RingIsNotOverrun", "claim_ring, generation 1: the ledger puts it into slot 0", []string{`UPDATE %s.claim_ring_rotations SET slot = 0 WHERE generation = 1`}},
	{"RingIsNotOverrun", "the rotation before it is not in the ledger", []string{`UPDATE %s.queue_ring_rotations SET generation = 2, slot = 2 WHERE generation = 1`}},
	{"RingIsNotOverrun", "pruned while it was current", []string{`INSERT INTO %s.queue_ring_prunes VALUES (1, 1, now())`}},
	{"RingIsNotOverrun", "pruned before generation 0, which is older", []string{
		`INSERT INTO %s.queue_ring_rotations VALUES (2, 2, now())`, `INSERT INTO %s.queue_ring_prunes VALUES (1, 1, now())`,
	}},
	{"RingIsNotOverrun", "the ring of 2 slots writes it", []string{`INSERT INTO %s.claim_ring_rotations VALUES (2, 0, now())`}},
	{"RowsAreInUnprunedGenerations", "of a generation that is pruned", []string{`INSERT INTO %s.queue_ring_prunes VALUES (0, 0, now())`}},
	{"RowsAreInUnprunedGenerations", "of a generation that was never entered", []string{`UPDATE %s.done_entries SET ready_generation = 4`}},
	{"RowsAreInUnprunedGenerations", "in slot 1, where the generation doesn't belong", []string{`UPDATE %s.lease_claim_batches_1 SET claim_generation = 0`}},
}

// copyOfClaim3 opens a second attempt of the running job.
const copyOfClaim3 = `INSERT INTO %s.lease_claim_batches
	SELECT claim_generation, 9, claimed_at, ready_generation, lane_id, 1, claim_slot, ready_slot, '{[36864,36865)}', job_ids, ARRAY[2], lane_seqs
	  FROM %s.lease_claim_batches WHERE batch_id = 3`

// Two violations of one check, and no more than twenty: an audit of a ruin stays readable.
func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 30)
	b.claim(t, "q", 30)
	b.exec(t, `TRUNCATE %s.lease_claim_batches`)
	report, err := b.Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := slices.DeleteFunc(report.Violations(), func(v engine.Violation) bool { return v.Invariant != "NoJobIsLost" })
	if len(lost) != 20 {
		t.Errorf("%d violations: %s", len(lost), fmt.Sprint(lost))
	}
}
