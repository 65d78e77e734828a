package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// grants is all that a role needs to run the engine in a schema that another role installed (P12): $schema, $runtime and
// $installer stand for the three names. No DDL, no UPDATE on a table of a ring, and DELETE on
// the one that operators take failed jobs out of.
const grants = `
GRANT USAGE ON SCHEMA $schema TO $runtime;
GRANT SELECT ON ALL TABLES IN SCHEMA $schema TO $runtime;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA $schema TO $runtime;
ALTER DEFAULT PRIVILEGES FOR ROLE $installer IN SCHEMA $schema GRANT USAGE ON SEQUENCES TO $runtime; -- of lanes to come
GRANT EXECUTE ON FUNCTION $schema.register_queue TO $runtime;
GRANT INSERT, DELETE ON $schema.queue_ring_rotations, $schema.queue_ring_prunes, $schema.claim_ring_rotations, $schema.claim_ring_prunes TO $runtime;
GRANT INSERT, DELETE, UPDATE ON $schema.deferred_jobs TO $runtime; -- UPDATE to lock rows
GRANT INSERT, UPDATE ON $schema.unique_claims TO $runtime;
GRANT INSERT, UPDATE, DELETE ON $schema.attempt_state TO $runtime;
GRANT INSERT, UPDATE ON $schema.queue_terminal_rollups TO $runtime;
GRANT UPDATE ON $schema.prune_mutex, $schema.queue_ring_state, $schema.claim_ring_state, $schema.queue_ring_slots, $schema.claim_ring_slots TO $runtime; -- to lock rows; written are the rescue cursors alone
GRANT INSERT ON $schema.done_entries TO $runtime; -- a prune carries rows by the parent's name
`

// ringGrants is needed on each child of a ring: what the hot path and the prune do.
const ringGrants = `GRANT INSERT, TRUNCATE ON $schema.$child TO $runtime;`

func TestRuntimeRole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	runtime := b.schema + "_runtime"
	installer := b.pool
	b.exec(t, `CREATE ROLE `+runtime)
	t.Cleanup(func() {
		if server.HasProcess() {
			return // the role goes with the server
		}
		for _, sql := range []string{`DROP OWNED BY ` + runtime, `DROP ROLE ` + runtime} {
			if _, err := installer.Exec(context.WithoutCancel(ctx), sql); err != nil {
				t.Error(err)
			}
		}
	})
	names := strings.NewReplacer("$schema", b.sql("%s"), "$runtime", runtime, "$installer", one[string](t, b, `SELECT quote_ident(current_user)`))
	if _, err := installer.Exec(ctx, names.Replace(grants), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	rows, err := installer.Query(ctx, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r'`, b.schema)
	if err != nil {
		t.Fatal(err)
	}
	children, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
		b.exec(t, strings.ReplaceAll(names.Replace(ringGrants), "$child", child))
		if strings.HasPrefix(child, "done_entries") {
			b.exec(t, names.Replace(`GRANT DELETE ON $schema.`+child+` TO $runtime`))
		}
	}

	b.pool = connect(t, 4, set("role", runtime))
	b.Engine = b.open(t, b.pool)
	b.wholeLife(t)
	id := b.newUniqueJob(t, once(func(j *engine.JobParams) { j.RunAt = b.clock.now().Add(time.Hour) }))
	b.wantUnique(t, once(), engine.Enqueued{ID: id, Existing: true})
	b.wantAudit(t)
	for _, r := range rings { // a holder of another role is named, too
		b.complete(t, b.claimNew(t, "q", 1))
		b.wantRotate(t, r, engine.Rotated, 2)
		other := begin(t, installer, pgx.ReadCommitted)
		if _, err := other.Exec(ctx, b.sql(`LOCK TABLE %s.`+r.gate+`_1 IN ACCESS SHARE MODE`)); err != nil {
			t.Fatal(err)
		}
		if out := b.wantPrune(t, r, engine.PruneBlocked, 1); out.Holder == nil || out.Holder.PID != int32(other.Conn().PgConn().PID()) {
			t.Errorf("the holder is %+v", out.Holder)
		}
	}
	for _, refused := range []string{
		`DELETE FROM %s.ready_entries`, `UPDATE %s.lease_claim_batches_0 SET batch_id = 1`, `DROP TABLE %s.ready_entries_0`, `CREATE TABLE %s.mine ()`,
	} {
		if _, err := b.pool.Exec(ctx, b.sql(refused)); err == nil {
			t.Errorf("the role may %s", refused)
		}
	}
}
