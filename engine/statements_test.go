package engine_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Every statement renders, begins with a comment that names its operation, and is one that the server can prepare on an
// empty installation.
func TestEveryStatementCanBePrepared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := b.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	texts := b.Statements()
	if len(texts) < 40 {
		t.Fatalf("only %d statements: %v", len(texts), slices.Sorted(maps.Keys(texts)))
	}
	for name, text := range texts {
		if !strings.HasPrefix(text, "/* awa:") {
			t.Errorf("%s doesn't begin with the name of its operation: %.40q", name, text)
		}
		if strings.Contains(text, "<no value>") || strings.Contains(text, "{{") {
			t.Errorf("%s is not rendered:\n%s", name, text)
		}
		if _, err := conn.Conn().Prepare(t.Context(), name, text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if _, err := conn.Conn().Prepare(t.Context(), "again "+name, text); err != nil {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

// Whatever an engine sends, by whichever way, shows in pg_stat_activity which operation it belongs to.
func TestStatementsNameTheirOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sent := &statements{}
	b.pool = connect(t, 4, func(cfg *pgxpool.Config) { cfg.ConnConfig.Tracer = sent })
	b.Engine = b.open(t, b.pool)
	b.wholeLife(t)
	operations := map[string]bool{}
	for _, sql := range sent.sent {
		rest, ok := strings.CutPrefix(sql, "/* awa:")
		operation, _, closed := strings.Cut(rest, " */")
		control := strings.HasPrefix(sql, "begin") || sql == "commit" || sql == "rollback"
		if !control && (!ok || !closed || operation == "") {
			t.Errorf("a statement without its operation: %.80q", sql)
		}
		operations[operation] = true
	}
	for _, want := range []string{"Migrate", "Open", "RegisterQueue", "Enqueue", "EnqueueMany", "EnqueueTx", "Promote", "Claim", "Complete", "Fail", "RescueStale", "PruneQueue", "PruneClaims", "Counts", "Job"} {
		if !operations[want] {
			t.Errorf("no statement names %s; there are %v", want, slices.Sorted(maps.Keys(operations)))
		}
	}
}
