package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

var bareSchemas atomic.Int64

// bare is a bundle without an engine, on a schema that doesn't exist yet.
func bare(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{schema: fmt.Sprintf("bare_%d", bareSchemas.Add(1)), pool: server.TestPool(t, 4)}
	if server.HasProcess() {
		return b // the schema goes with the server
	}
	b.exec(t, `DROP SCHEMA IF EXISTS %s CASCADE`)
	t.Cleanup(func() {
		if _, err := b.pool.Exec(context.WithoutCancel(t.Context()), b.sql(`DROP SCHEMA IF EXISTS %s CASCADE`)); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bundle) migrate(t *testing.T, change func(*engine.Config)) error {
	t.Helper()
	cfg := engine.Config{Schema: b.schema}
	if change != nil {
		change(&cfg)
	}
	return engine.Migrate(t.Context(), b.pool, cfg)
}

func (b *bundle) mustMigrate(t *testing.T, change func(*engine.Config)) {
	t.Helper()
	if err := b.migrate(t, change); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) exists(t *testing.T) bool {
	t.Helper()
	return one[bool](t, b, `SELECT to_regnamespace($1) IS NOT NULL`, b.schema)
}

func slots(queue, claim int) func(*engine.Config) {
	return func(cfg *engine.Config) { cfg.QueueSlots, cfg.ClaimSlots = queue, claim }
}

func TestMigrateAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := bare(t)
	b.mustMigrate(t, slots(4, 2))
	e, err := engine.Open(t.Context(), b.pool, engine.Config{Schema: b.schema})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Enqueue(t.Context(), jobs("q", 1)[0]); err != nil {
		t.Fatal(err)
	}
	before := b.rowCounts(t)
	objects := b.objects(t)
	for range 3 {
		b.mustMigrate(t, nil)
	}
	b.wantUnchanged(t, before)
	if after := b.objects(t); !maps.Equal(objects, after) {
		t.Errorf("the objects of the schema changed:\n%v\n%v", objects, after)
	}
}

// objects lists what stands in the schema, by name.
func (b *bundle) objects(t *testing.T) map[string]uint32 {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `SELECT relname, relfilenode FROM pg_class WHERE relnamespace = to_regnamespace($1)`, b.schema)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint32{}
	var name string
	var node uint32
	if _, err := pgx.ForEachRow(rows, []any{&name, &node}, func() error { found[name] = node; return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSlotCountsAreChosenOnce(t *testing.T) {
	t.Parallel()
	b := bare(t)
	b.mustMigrate(t, nil)
	if q, c := b.slotCounts(t); q != 16 || c != 8 {
		t.Errorf("installed %d and %d slots, the defaults are 16 and 8", q, c)
	}
	wantError(t, b.migrate(t, slots(5, 0)), engine.ErrLayout, b.schema, "queue ring", "16", "5")
	wantError(t, b.migrate(t, slots(16, 4)), engine.ErrLayout, b.schema, "claim ring", "8", "4")
	wantError(t, b.migrate(t, func(cfg *engine.Config) { cfg.LeaseSlots = 5 }), engine.ErrLayout, b.schema, "lease ring", "8", "5")
	if q, c := b.slotCounts(t); q != 16 || c != 8 {
		t.Errorf("the refused migration left %d and %d slots", q, c)
	}

	chosen := bare(t)
	chosen.mustMigrate(t, slots(5, 3))
	for _, change := range []func(*engine.Config){nil, slots(5, 0), slots(0, 3), slots(5, 3)} {
		chosen.mustMigrate(t, change)
		if q, c := chosen.slotCounts(t); q != 5 || c != 3 {
			t.Errorf("installed with 5 and 3 slots, and now %d and %d", q, c)
		}
	}
}

func (b *bundle) slotCounts(t *testing.T) (queue, claim int) {
	t.Helper()
	const children = `SELECT count(*) FROM pg_inherits WHERE inhparent = '%s.`
	queue, claim = one[int](t, b, children+`ready_entries'::regclass`), one[int](t, b, children+`lease_claim_batches'::regclass`)
	if q, c := one[int](t, b, `SELECT slot_count FROM %s.queue_ring_state`), one[int](t, b, `SELECT slot_count FROM %s.claim_ring_state`); q != queue || c != claim {
		t.Errorf("the state rows say %d and %d slots, but there are %d and %d children", q, c, queue, claim)
	}
	return queue, claim
}

// Ten processes start at once on an empty database; half of them leave the slot counts open.
func TestConcurrentInstallers(t *testing.T) {
	t.Parallel()
	b := bare(t)
	pool := server.TestPool(t, 10)
	errs := make(chan error)
	for i := range 10 {
		cfg := engine.Config{Schema: b.schema}
		if i%2 == 0 {
			cfg.QueueSlots, cfg.ClaimSlots = 4, 2
		}
		go func() { errs <- engine.Migrate(t.Context(), pool, cfg) }()
	}
	failed := 0
	for range 10 {
		if err := <-errs; err != nil {
			wantError(t, err, engine.ErrLayout) // the defaults came first; then those who ask for others are told
			failed++
		}
	}
	switch q, c := b.slotCounts(t); {
	case q == 4 && c == 2 && failed == 0:
	case q == 16 && c == 8 && failed == 5:
	default:
		t.Errorf("%d and %d slots, and %d of 10 installers failed", q, c, failed)
	}
	if n := one[int](t, b, `SELECT count(*) FROM %s.schema_version`); n != 1 {
		t.Errorf("version 1 was installed %d times", n)
	}
}

// A fresh install hands out by receipts, without any setting.
func TestFreshInstallClaimsByReceipts(t *testing.T) {
	t.Parallel()
	b := bare(t)
	b.mustMigrate(t, nil)
	e, err := engine.Open(t.Context(), b.pool, engine.Config{Schema: b.schema})
	if err != nil {
		t.Fatal(err)
	}
	b.Engine = e
	b.enqueue(t, "q", 3)
	b.claim(t, "q", 3)
	if got := one[string](t, b, `SELECT claimed_count || ' ' || receipt_ranges::text FROM %s.lease_claim_batches`); got != "3 {[4096,4099)}" {
		t.Errorf("the claim wrote %s", got)
	}
	if one[bool](t, b, `SELECT to_regclass('%s.open_receipt_claims') IS NOT NULL`) {
		t.Error("there is a table open_receipt_claims")
	}
	if n := one[int](t, b, `SELECT count(*) FROM %s.leases`); n != 0 {
		t.Errorf("a claim made %d leases", n)
	}
}

func TestOpenReceiptClaims(t *testing.T) {
	t.Parallel()
	for _, installed := range []bool{false, true} {
		t.Run(fmt.Sprintf("installed=%v", installed), func(t *testing.T) {
			t.Parallel()
			b := bare(t)
			b.exec(t, `CREATE SCHEMA %s`)
			if installed {
				b.mustMigrate(t, slots(4, 2))
			}
			b.exec(t, `CREATE TABLE %s.open_receipt_claims (job_id bigint)`)
			b.exec(t, `INSERT INTO %s.open_receipt_claims SELECT generate_series(1, 3)`)
			before, objects := b.rowCounts(t), b.objects(t)

			wantError(t, b.migrate(t, slots(4, 2)), engine.ErrNotDrained, `"`+b.schema+`"."open_receipt_claims"`, "3 rows")
			b.wantUnchanged(t, before)
			if after := b.objects(t); !maps.Equal(objects, after) {
				t.Errorf("the refused migration changed the objects:\n%v\n%v", objects, after)
			}

			b.exec(t, `DELETE FROM %s.open_receipt_claims`)
			b.mustMigrate(t, slots(4, 2))
			if one[bool](t, b, `SELECT to_regclass('%s.open_receipt_claims') IS NOT NULL`) {
				t.Error("the empty table is still there")
			}
		})
	}
}

// The row count is read after the lock: what the last writer of the old table commits while Migrate waits for it counts.
func TestOpenReceiptClaimsCommittedWhileMigrateWaits(t *testing.T) {
	t.Parallel()
	b := bare(t)
	b.exec(t, `CREATE SCHEMA %s`)
	b.exec(t, `CREATE TABLE %s.open_receipt_claims (job_id bigint)`)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(t.Context(), b.sql(`INSERT INTO %s.open_receipt_claims VALUES (1)`)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- b.migrate(t, nil) }()
	b.waitFor(t, `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = '%s.open_receipt_claims'::regclass`)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-done, engine.ErrNotDrained, "1 rows")
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, `INSERT INTO %s.schema_version (version) VALUES (7)`)
	before := b.rowCounts(t)
	wantError(t, b.migrate(t, nil), engine.ErrSchemaNewer, b.schema, "version 7", "up to 1")
	_, err := engine.Open(t.Context(), b.pool, engine.Config{Schema: b.schema})
	wantError(t, err, engine.ErrSchemaNewer, b.schema, "version 7", "up to 1")
	b.wantUnchanged(t, before)
}

func TestOpenWithoutInstallation(t *testing.T) {
	t.Parallel()
	b := bare(t)
	_, err := engine.Open(t.Context(), b.pool, engine.Config{Schema: b.schema})
	wantError(t, err, engine.ErrNotInstalled, b.schema, "Migrate")
	b.exec(t, `CREATE SCHEMA %s`)
	_, err = engine.Open(t.Context(), b.pool, engine.Config{Schema: b.schema})
	wantError(t, err, engine.ErrNotInstalled, b.schema, "Migrate")
}

// A migration whose context ends at any of its statements leaves neither a lock nor half a schema.
func TestCancelledMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	b := bare(t)
	for n := 1; ; n++ { // on sessions that don't wait for a lock that an earlier one left
		if n > 50 {
			t.Fatal("the migration never came to its end")
		}
		ctx, cancel := context.WithCancel(t.Context())
		name := fmt.Sprintf("%s cancelled at %d", b.schema, n)
		pool := connect(t, 1, func(cfg *pgxpool.Config) {
			set("application_name", name, "lock_timeout", "1s")(cfg)
			cfg.ConnConfig.Tracer = &cancelAt{n: int64(n), cancel: cancel}
		})
		err := engine.Migrate(ctx, pool, smallRings(b.schema))
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled at statement %d: %v", n, err)
		}
		pool.Close() // waits for the connection's end
		b.waitFor(t, `SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = $1`, name)
		if b.exists(t) {
			t.Fatalf("cancelled at statement %d, and the schema is there", n)
		}
	}
	if !b.exists(t) {
		t.Error("the migration that was not cancelled made no schema")
	}
}

// A database that can't store every text is refused before anything is written.
func TestDatabaseInAnotherEncoding(t *testing.T) {
	t.Parallel()
	b := bare(t)
	name := b.schema + "_latin1"
	b.exec(t, `DROP DATABASE IF EXISTS `+name)
	b.exec(t, `CREATE DATABASE `+name+` ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
	t.Cleanup(func() {
		if _, err := b.pool.Exec(context.WithoutCancel(t.Context()), `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
	latin := &bundle{schema: b.schema, pool: connect(t, 2, func(cfg *pgxpool.Config) { cfg.ConnConfig.Database = name })}
	wantError(t, latin.migrate(t, nil), engine.ErrInvalid, "LATIN1", "UTF8")
	_, err := engine.Open(t.Context(), latin.pool, engine.Config{Schema: b.schema})
	wantError(t, err, engine.ErrInvalid, "LATIN1", "UTF8")
	if latin.exists(t) {
		t.Error("the refused migration made the schema")
	}
}

// A process that starts calls Migrate while others are at work: it waits for none of them, and none for it.
func TestMigrateBesideTraffic(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.openProducer(t, "q", 1)
	release := b.holdBatch(t, b.claimNew(t, "q", 2))
	if err := engine.Migrate(t.Context(), impatient(t, 1), smallRings(b.schema)); err != nil {
		t.Error(err)
	}
	release()

	tx := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := tx.Exec(t.Context(), b.sql(`LOCK TABLE %s.schema_version IN SHARE ROW EXCLUSIVE MODE`)); err != nil { // another installer
		t.Fatal(err)
	}
	e := b.open(t, impatient(t, 2))
	b.wantJobs(t, e, "q", b.enqueue(t, "q", 1)...)
}

// A queue that is there takes nothing of any sequence (hazard: a registry that uses ids up at each call).
func TestRegisterAgainChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 1)
	before := b.rowCounts(t)
	for range 5 {
		if err := b.RegisterQueue(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		if err := b.open(t, b.pool).RegisterQueue(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		b.exec(t, `SELECT %s.register_queue('q')`)
	}
	b.wantUnchanged(t, before)
}
