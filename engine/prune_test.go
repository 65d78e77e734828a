package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// Neither a job that nobody claimed nor an open attempt is pruned; both rings say so without taking a lock on a child.
func TestPruneSkipsWhatIsActive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	queue, claims := rings[0], rings[1]
	b.wantPrune(t, queue, engine.PruneNothing, -1)
	b.wantPrune(t, claims, engine.PruneNothing, -1)
	b.enqueue(t, "q", 2)
	attempts := b.claim(t, "q", 1)
	b.wantRotate(t, queue, engine.Rotated, 1)
	b.wantRotate(t, claims, engine.Rotated, 1)
	b.wantPrune(t, claims, engine.PruneSkippedActive, 0)
	b.complete(t, attempts)
	b.wantPrune(t, claims, engine.Pruned, 0)
	b.wantPrune(t, queue, engine.PruneSkippedActive, 0) // the second job
	attempts = b.claim(t, "q", 1)
	b.wantPrune(t, queue, engine.PruneSkippedActive, 0) // its attempt, whose receipt stands in another claim slot
	b.complete(t, attempts)
	b.wantPrune(t, queue, engine.Pruned, 0)
	b.wantCounts(t, "q", engine.Counts{PrunedCompleted: 2})
}

// However often it is tried, no prune takes an open attempt's slots, in either shape; a failed row of the same slots moves
// nothing meanwhile. Once the attempt is over, one prune takes each, and only that of the queue ring carries.
func TestManyPrunesOfAnOpenAttempt(t *testing.T) {
	t.Parallel()
	for _, shape := range []struct {
		name string
		own  bool
	}{{"compact", false}, {"local", true}} {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			params := jobs("q", 2)
			params[0].OwnClaim, params[1].OwnClaim = shape.own, shape.own
			if _, err := b.EnqueueMany(t.Context(), params); err != nil {
				t.Fatal(err)
			}
			attempts := b.claim(t, "q", 2)
			b.failAll(t, attempts[:1])
			for _, r := range rings {
				b.wantRotate(t, r, engine.Rotated, 1)
			}
			prunes := func() (queue, claims, leases engine.PruneOutcome) {
				queue, err := b.PruneQueue(t.Context(), time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				if claims, err = b.PruneClaims(t.Context()); err != nil {
					t.Fatal(err)
				}
				if leases, err = b.PruneLeases(t.Context()); err != nil {
					t.Fatal(err)
				}
				return queue, claims, leases
			}
			for range 50 {
				queue, claims, _ := prunes()
				if queue.Status != engine.PruneSkippedActive || claims.Status != engine.PruneSkippedActive || queue.CarriedFailedRows != 0 {
					t.Fatalf("queue %+v, claims %+v", queue, claims)
				}
			}
			b.complete(t, attempts[1:])
			queue, claims, leases := prunes()
			if queue.Status != engine.Pruned || queue.CarriedFailedRows != 1 || claims.Status != engine.Pruned {
				t.Errorf("queue %+v, claims %+v", queue, claims)
			}
			if claims.CarriedFailedRows+leases.CarriedFailedRows != 0 {
				t.Errorf("claims %+v, leases %+v", claims, leases)
			}
			b.wantAudit(t)
		})
	}
}

// A rescued attempt is closed in its own claim slot, and its job goes on in the current queue slot: both old slots are
// spent then.
func TestPruneBehindARescue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.claimNew(t, "q", 3)
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	b.wantRotate(t, rings[1], engine.Rotated, 1)
	b.clock.advance(time.Minute)
	if swept, err := b.RescueStale(t.Context(), time.Second, 10); err != nil || swept.Requeued != 3 {
		t.Fatal(swept, err)
	}
	b.wantPrune(t, rings[0], engine.Pruned, 0)
	b.wantPrune(t, rings[1], engine.Pruned, 0)
	b.wantCounts(t, "q", engine.Counts{Available: 3})
	b.claim(t, "q", 3)
}

// A reader with a lock on one child blocks the prune. The first call waits for a moment and names him; the second has
// seen him before and doesn't wait. It goes on once he is gone.
func TestPruneBlockedByAReader(t *testing.T) {
	for i, child := range []string{"ready_entries_0", "done_entries_0", "receipt_completion_batches_0", "lease_claim_batches_0", "lease_claim_closure_batches_0"} {
		r := rings[i/3]
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := t.Context()
			b.complete(t, b.claimNew(t, "q", 1))
			b.wantRotate(t, r, engine.Rotated, 1)
			reader := begin(t, b.pool, pgx.ReadCommitted)
			if _, err := reader.Exec(ctx, b.sql(`LOCK TABLE %s.`+child+` IN ACCESS SHARE MODE`)); err != nil {
				t.Fatal(err)
			}
			pid := int32(reader.Conn().PgConn().PID())
			waits := &statements{}
			e := b.open(t, connect(t, 2, func(cfg *pgxpool.Config) { cfg.ConnConfig.Tracer = waits }))
			for i := range 3 {
				waits.reset()
				out, err := r.prune(e, ctx)
				if err != nil || out.Status != engine.PruneBlocked || out.Holder == nil || out.Holder.PID != pid || out.Holder.Age <= 0 || out.Holder.Transaction == "" {
					t.Fatalf("call %d: %+v %+v, %v", i, out, out.Holder, err)
				}
				if asked := waits.contain("IN ACCESS EXCLUSIVE MODE"); asked != (i == 0) {
					t.Errorf("call %d asked for the lock: %v", i, asked)
				}
			}
			// Another transaction of the same session is another holder: worth a wait again.
			if err := reader.Rollback(ctx); err != nil {
				t.Fatal(err)
			}
			if out, err := r.prune(e, ctx); err != nil || out.Status != engine.Pruned || out.Holder != nil {
				t.Fatal(out, err)
			}
		})
	}
}

// Only the gate child is waited for. The others are asked for at once: who stands behind the gate would wait, too (P7).
func TestPruneWaitsForTheGateAlone(t *testing.T) {
	for i, child := range []string{"done_entries_0", "receipt_completion_batches_0", "lease_claim_closure_batches_0"} {
		r := rings[i/2]
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.complete(t, b.claimNew(t, "q", 1))
			b.wantRotate(t, r, engine.Rotated, 1)
			reader := begin(t, b.pool, pgx.ReadCommitted)
			if _, err := reader.Exec(t.Context(), b.sql(`LOCK TABLE %s.`+child+` IN ACCESS SHARE MODE`)); err != nil {
				t.Fatal(err)
			}
			cfg := smallRings(b.schema)
			cfg.MaintenanceLockTimeout = time.Hour
			patient, err := engine.Open(t.Context(), b.pool, cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if out, err := r.prune(patient, ctx); err != nil || out.Status != engine.PruneBlocked {
				t.Errorf("%+v, %v: a prune waits for a child that isn't the gate", out, err)
			}
		})
	}
}

// What doesn't conflict isn't in the way: a reader of the sealed slot's neighbours, and one who has ended his statement.
func TestPruneBesideReadersOfOtherSlots(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.complete(t, b.claimNew(t, "q", 1))
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	reader := begin(t, b.pool, pgx.RepeatableRead)
	if _, err := reader.Exec(t.Context(), b.sql(`SELECT count(*) FROM %s.ready_entries_1`)); err != nil {
		t.Fatal(err)
	}
	b.wantPrune(t, rings[0], engine.Pruned, 0) // also while an old snapshot is held
}

// An empty sealed slot costs a row of the ledger and no TRUNCATE: the files stay.
func TestEmptySlotIsPrunedWithoutTruncate(t *testing.T) {
	eachRing(t, func(t *testing.T, b *bundle, r turning) {
		attempts := b.claimNew(t, "q", 1)
		b.wantRotate(t, r, engine.Rotated, 1)
		if r.name == "queue" {
			b.wantRotate(t, r, engine.Rotated, 2)
		}
		b.complete(t, attempts)
		before := b.objects(t)
		b.wantPrune(t, r, engine.Pruned, 0)
		after := b.objects(t)
		if before[r.gate+"_0"] == after[r.gate+"_0"] {
			t.Error("the slot with rows was not truncated")
		}
		if r.name == "queue" {
			b.wantPrune(t, r, engine.Pruned, 1)
			if n := b.objects(t)["ready_entries_1"]; n != before["ready_entries_1"] {
				t.Error("the empty slot was truncated")
			}
		}
	})
}

// Failed rows are carried while they are inside the retention: to the second, the bound itself included, fractions
// rounded up, 0 for none.
func TestFailedRetention(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var pruned engine.Counts
	generation := int64(0)
	for _, c := range []struct {
		age, retention time.Duration
		carried        int
	}{
		{0, time.Second, 1},
		{time.Second, time.Second, 1},
		{time.Second + time.Microsecond, time.Second, 0},
		{time.Second, time.Millisecond, 1},
		{time.Second, 1, 1},
		{2 * time.Second, time.Second + 1, 1},
		{72 * time.Hour, 72 * time.Hour, 1},
		{72*time.Hour + time.Millisecond, 72 * time.Hour, 0},
		{time.Hour, 100 * 366 * 24 * time.Hour, 1},
		{0, 0, 0},
		{-time.Hour, 0, 0}, // finalized in the future, by a clock that was set back
		{-time.Hour, time.Second, 1},
	} {
		attempts := b.claimNew(t, "q", 2)
		b.failAll(t, attempts[:1])
		b.complete(t, attempts[1:])
		b.wantRotate(t, rings[0], engine.Rotated, generation+1)
		b.clock.advance(c.age)
		out, err := b.PruneQueue(t.Context(), c.retention)
		if err != nil || out.Status != engine.Pruned || out.Generation != generation || out.CarriedFailedRows != c.carried {
			t.Errorf("failed rows %s old, %s to be kept: %+v, %v, want %d carried", c.age, c.retention, out, err, c.carried)
		}
		pruned.PrunedCompleted++
		pruned.PrunedFailed += 1 - int64(c.carried)
		b.wantCounts(t, "q", engine.Counts{Failed: int64(c.carried), PrunedCompleted: pruned.PrunedCompleted, PrunedFailed: pruned.PrunedFailed})
		b.exec(t, `DELETE FROM %s.done_entries`) // the next case has its own row
		generation++
	}
}

// The permanent counts grow by queue, over several prunes, and by what was there only.
func TestPruneFoldsIntoPermanentCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for round := range int64(5) {
		for _, queue := range []string{"a", "b"} {
			attempts := b.claimNew(t, queue, 4)
			failures := []engine.Failure{{Receipt: attempts[0].Receipt}, {Receipt: attempts[1].Receipt}}
			if queue == "b" {
				failures = failures[:1]
			}
			if _, err := b.Fail(t.Context(), failures); err != nil {
				t.Fatal(err)
			}
			b.complete(t, attempts[len(failures):])
		}
		b.turn(t)
		b.wantCounts(t, "a", engine.Counts{PrunedCompleted: 2 * (round + 1), PrunedFailed: 2 * (round + 1)})
		b.wantCounts(t, "b", engine.Counts{PrunedCompleted: 3 * (round + 1), PrunedFailed: round + 1})
	}
	b.wantCounts(t, "c", engine.Counts{})
}

// Rows that contradict each other stop the prune, whoever wrote them: nothing is truncated.
func TestPruneOfContradictingRows(t *testing.T) {
	const closure = `INSERT INTO %s.lease_claim_closure_batches SELECT claim_generation, batch_id, closed_at, ready_generation, lane_id, closed_count, claim_slot, ready_slot, 'completed', receipt_ranges FROM %s.lease_claim_closure_batches LIMIT 1`
	cases := map[string]struct {
		ring turning
		sql  string
	}{
		"a double closure, in the claim ring": {rings[1], closure},
		"a double closure, in the queue ring": {rings[0], closure},
		"a closure of no attempt":             {rings[1], `INSERT INTO %s.lease_claim_closure_batches SELECT claim_generation, batch_id, closed_at, ready_generation, lane_id, 1, claim_slot, ready_slot, 'completed', '{[900000,900001)}' FROM %s.lease_claim_closure_batches LIMIT 1`},
		"a claim written twice":               {rings[1], `INSERT INTO %s.lease_claim_batches SELECT claim_generation, batch_id + 100, claimed_at, ready_generation, lane_id, claimed_count, claim_slot, ready_slot, receipt_ranges, job_ids, run_leases, lane_seqs FROM %s.lease_claim_batches LIMIT 1`},
		"a claim of another generation":       {rings[1], `UPDATE %s.lease_claim_batches SET claim_generation = 77 WHERE batch_id = (SELECT min(batch_id) FROM %s.lease_claim_batches)`},
		"a closure of another generation":     {rings[1], `INSERT INTO %s.lease_claim_closure_batches SELECT 77, batch_id, closed_at, ready_generation, lane_id, 1, claim_slot, ready_slot, 'completed', '{[900000,900001)}' FROM %s.lease_claim_closure_batches LIMIT 1`},
		"evidence twice":                      {rings[0], `INSERT INTO %s.ready_claim_attempt_batches SELECT ready_generation, batch_id + 100, lane_id, claimed_count, ready_slot, lane_seqs FROM %s.ready_claim_attempt_batches LIMIT 1`},
		"evidence without its row":            {rings[0], `DELETE FROM %s.ready_entries WHERE lane_seq = 2`},
		"evidence of another generation":      {rings[0], `UPDATE %s.ready_claim_attempt_batches SET ready_generation = 77 WHERE batch_id = (SELECT min(batch_id) FROM %s.ready_claim_attempt_batches)`},
		"a row of another generation":         {rings[0], `UPDATE %s.ready_entries SET ready_generation = 77 WHERE lane_seq = 2`},
		"history twice":                       {rings[0], `INSERT INTO %s.receipt_completion_batches SELECT * FROM %s.receipt_completion_batches LIMIT 1`},
		"completed and failed":                {rings[0], `INSERT INTO %s.done_entries (ready_generation, lane_seq, job_id, run_lease, finalized_at, lane_id, attempt, ready_slot, state, errors) SELECT ready_generation, lane_seq, job_id, 1, created_at, lane_id, 1, ready_slot, 'failed', '[]' FROM %s.ready_entries WHERE lane_seq = 1`},
		"history of another generation":       {rings[0], `UPDATE %s.receipt_completion_batches SET ready_generation = 77`},
		"a failed row of another generation":  {rings[0], `UPDATE %s.done_entries SET ready_generation = 77`},
		"a failed row for nothing":            {rings[0], `UPDATE %s.done_entries SET lane_seq = 99`},
	}
	for _, r := range rings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			for name, c := range cases {
				if c.ring.name == r.name {
					b.contradict(t, name, r, c.sql)
					b.reset(t)
				}
			}
		})
	}
}

func (b *bundle) contradict(t *testing.T, name string, r turning, sql string) {
	t.Helper()
	b.complete(t, b.claimNew(t, "q", 2))
	attempts := b.claimNew(t, "q", 1)
	if results, err := b.Fail(t.Context(), []engine.Failure{{Receipt: attempts[0].Receipt}}); err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	b.wantRotate(t, r, engine.Rotated, 1)
	b.exec(t, sql)
	before := b.rowCounts(t)
	for range 2 {
		if out, err := r.prune(b.Engine, t.Context()); !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("%s: got %+v, %v, want corruption", name, out, err)
		}
	}
	b.wantUnchanged(t, before)
}

// reset makes the schema as new, but for the registered queues, with an engine that knows nothing.
func (b *bundle) reset(t *testing.T) {
	t.Helper()
	b.exec(t, `TRUNCATE %s.ready_entries, %s.ready_claim_attempt_batches, %s.receipt_completion_batches, %s.done_entries,
		%s.lease_claim_batches, %s.lease_claim_closure_batches, %s.queue_ring_rotations, %s.queue_ring_prunes,
		%s.claim_ring_rotations, %s.claim_ring_prunes, %s.deferred_jobs, %s.queue_terminal_rollups`)
	for _, ring := range []string{"queue", "claim"} {
		b.exec(t, `INSERT INTO %s.`+ring+`_ring_rotations VALUES (0, 0, now())`)
	}
	b.exec(t, `SELECT setval(seq, 1, false) FROM %s.lanes`)
	b.Engine = b.open(t, b.pool)
}

// Evidence that is missing makes the row look unclaimed, and a closure that is missing the attempt open.
func TestPruneOfMissingRows(t *testing.T) {
	for sql, r := range map[string]turning{
		`DELETE FROM %s.ready_claim_attempt_batches`: rings[0],
		`DELETE FROM %s.lease_claim_closure_batches`: rings[1],
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.complete(t, b.claimNew(t, "q", 2))
			b.wantRotate(t, r, engine.Rotated, 1)
			b.exec(t, sql)
			before := b.rowCounts(t)
			b.wantPrune(t, r, engine.PruneSkippedActive, 0)
			b.wantUnchanged(t, before)
		})
	}
}

// A prune's settings end with it: the pooled session keeps its own (hazard 15).
func TestSettingsDontLeakIntoTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.pool = connect(t, 1, set("lock_timeout", "4321ms", "plan_cache_mode", "auto"))
	b.Engine = b.open(t, b.pool)
	const settings = `SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
		WHERE name IN ('lock_timeout', 'statement_timeout', 'plan_cache_mode', 'jit', 'search_path', 'transaction_isolation', 'transaction_read_only')
		   OR name LIKE 'enable\_%'`
	before := one[string](t, b, settings)
	same := func(after string) {
		t.Helper()
		if got := one[string](t, b, settings); got != before {
			t.Errorf("after %s the session has\n%s\nand had\n%s", after, got, before)
		}
	}
	attempts := b.claimNew(t, "q", 3)
	same("a claim")
	b.complete(t, attempts[:1])
	same("a completion")
	b.clock.advance(time.Minute)
	if _, err := b.RescueStale(ctx, time.Second, 10); err != nil {
		t.Fatal(err)
	}
	same("a rescue")
	b.complete(t, b.claim(t, "q", 2))
	b.turn(t)
	same("a prune")
	blocker := begin(t, server.TestPool(t, 1), pgx.ReadCommitted)
	b.complete(t, b.claimNew(t, "q", 1))
	b.wantRotate(t, rings[0], engine.Rotated, 2)
	if _, err := blocker.Exec(ctx, b.sql(`LOCK TABLE %s.ready_entries_1 IN ACCESS SHARE MODE`)); err != nil {
		t.Fatal(err)
	}
	b.wantPrune(t, rings[0], engine.PruneBlocked, 1)
	same("a blocked prune")
}

// Somebody who has a child to himself blocks a prune that only wants to read it, too; he is named.
func TestPruneBesideAnExclusiveLock(t *testing.T) {
	eachRing(t, func(t *testing.T, b *bundle, r turning) {
		b.complete(t, b.claimNew(t, "q", 1))
		b.wantRotate(t, r, engine.Rotated, 1)
		tx := begin(t, b.pool, pgx.ReadCommitted)
		if _, err := tx.Exec(t.Context(), b.sql(`LOCK TABLE %s.`+r.gate+`_0 IN ACCESS EXCLUSIVE MODE`)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if out := b.wantPrune(t, r, engine.PruneBlocked, 0); out.Holder == nil || out.Holder.PID != int32(tx.Conn().PgConn().PID()) {
				t.Errorf("the holder is %+v", out.Holder)
			}
		}
	})
}
