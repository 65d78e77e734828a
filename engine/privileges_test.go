package engine_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// documented returns the SQL block under a heading of docs/operating/roles.md, for this schema and these roles.
func (b *bundle) documented(t *testing.T, heading, role string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/operating/roles.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	_, block, open := strings.Cut(section, "```sql\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !open || !closed {
		t.Fatalf("no SQL under %q", heading)
	}
	installer := one[string](t, b, `SELECT quote_ident(current_user)`)
	return strings.NewReplacer(
		"awa_installer", installer, "awa_"+strings.ToLower(heading), role, "SCHEMA awa ", b.sql("SCHEMA %s "), "awa.", b.sql("%s."), "'awa'", "'"+b.sql("%s")+"'",
	).Replace(block)
}

// role makes a role that goes with the test, with the documented grants.
func (b *bundle) role(t *testing.T, heading string) string {
	t.Helper()
	role := b.schema + "_" + strings.ToLower(heading)
	installer := b.pool
	b.exec(t, `CREATE ROLE `+role)
	t.Cleanup(func() {
		if server.HasProcess() {
			return // the role goes with the server
		}
		for _, sql := range []string{`DROP OWNED BY ` + role, `DROP ROLE ` + role} {
			if _, err := installer.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := installer.Exec(t.Context(), b.documented(t, heading, role), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return role
}

// Every operation, as the runtime role, on a job in each state: it answers as the matrix says.
func TestRuntimeRoleRunsEveryOperation(t *testing.T) {
	if testing.Short() {
		t.Skip("one operation at a time: the race detector finds nothing here that it doesn't elsewhere")
	}
	t.Parallel()
	want, err := readMatrix(matrixText)
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t)
	b.pool = connect(t, 4, set("role", b.role(t, "Runtime")))
	b.Engine = b.open(t, b.pool)
	places := map[string]bool{
		"available/new": true, "running/compact-state": true, "waiting/local": true, "failed/wide": true, "dlq/failed": true,
	}
	audited := map[cell]bool{}
	for _, op := range matrixOperations {
		for _, p := range matrixPlaces {
			if got := want[op.name][p.name()]; places[p.name()] && b.try(t, op, p, audited) != got {
				t.Errorf("%s of %s doesn't answer: %s", op.name, p.name(), got)
			}
		}
	}
}

// An auditor reads everything and changes nothing.
func TestAuditorRole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.mixed(t)
	pool := connect(t, 2, set("role", b.role(t, "Auditor")))
	report, err := b.open(t, pool).Audit(t.Context())
	if err != nil || report.Err() != nil {
		t.Fatal(err, report.Err())
	}
	if _, err := b.open(t, pool).Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k"}); err == nil {
		t.Error("an auditor may enqueue")
	}
}

func TestRuntimeRole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	installer, runtime := b.pool, b.role(t, "Runtime")
	b.pool = connect(t, 4, set("role", runtime))
	b.Engine = b.open(t, b.pool)
	b.wholeLife(t)
	id := b.newUniqueJob(t, once(func(j *engine.JobParams) { j.RunAt = b.clock.now().Add(time.Hour) }))
	b.wantUnique(t, once(), engine.Enqueued{ID: id, Existing: true})
	b.hold(t, "q", true)
	held := b.claimNew(t, "q", 2)
	b.failAll(t, held)
	if out, err := b.RetryFromDLQ(ctx, engine.FailedJobs{Queue: "q"}, 1); err != nil || len(out.Retried) != 1 {
		t.Error(out, err)
	}
	b.complete(t, b.claim(t, "q", 1))
	if gone, err := b.PurgeDLQ(ctx, engine.HeldJobs{IDs: []int64{held[1].Receipt.JobID()}}, 1); err != nil || len(gone) != 1 {
		t.Error(gone, err)
	}
	b.wantDeleted(t, []int64{held[0].Receipt.JobID()}, nil)
	b.hold(t, "q", false)
	b.failAll(t, b.claimNew(t, "q", 1))
	if out, err := b.MoveToDLQ(ctx, engine.FailedJobs{Queue: "q"}, 1); err != nil || len(out.Moved) != 1 {
		t.Error(out, err)
	}
	for name, trim := range map[string]func(context.Context) (int, error){"ledger": b.TrimLedger, "keys": b.TrimKeys} {
		if _, err := trim(ctx); err != nil {
			t.Errorf("trim the %s: %v", name, err)
		}
	}
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
