package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// wantedIndexUse says, for each hot statement, which column bounds its scan of a ring's table.
var wantedIndexUse = map[string]map[string]string{
	"new_evidence": {"ready_claim_attempt_batches": "batch_id", "ready_entries": "lane_id"},
	"hand_out":     {"ready_entries": "lane_seq"},
	"complete":     {"lease_claim_batches": "batch_id", "lease_claim_closure_batches": "batch_id"},
	"fail":         {"lease_claim_batches": "batch_id", "lease_claim_closure_batches": "batch_id", "ready_entries": "lane_seq"},
	"rescue":       {"lease_claim_batches": "batch_id", "lease_claim_closure_batches": "batch_id", "ready_entries": "lane_seq"},
	"rescue_candidates": {
		"lease_claim_batches": "claimed_at", "lease_claim_closure_batches": "batch_id",
	},
	"hand_out local":             {"ready_entries": "lane_seq"},
	"complete local":             {"lease_claims": "batch_id", "lease_claim_closures": "receipt_id"},
	"rescue local":               {"lease_claims": "batch_id", "lease_claim_closures": "receipt_id", "ready_entries": "lane_seq"},
	"rescue_candidates deadline": {"lease_claim_batches": "deadline_at", "lease_claim_closure_batches": "batch_id"},
	"rescue_candidates local":    {"lease_claims": "claimed_at", "lease_claim_closures": "receipt_id"},
	"rescue_candidates local deadline": {
		"lease_claims": "deadline_at", "lease_claim_closures": "receipt_id",
	},
	"insert_ready":   {},
	"take_positions": {},
}

// The plans of hot statements are the same whatever the tables hold and whatever the statistics say of them: an index,
// bounded by the right column (hazard 13).
func TestPlansDontDependOnStatistics(t *testing.T) {
	t.Parallel()
	const fill = `
		INSERT INTO %s.ready_entries SELECT 1, s, s, 0, now(), 1 + s % 4, 0, 25, 1, 'k', '{}' FROM generate_series(1, 200000) s;
		INSERT INTO %s.ready_claim_attempt_batches SELECT 1, s, 1 + s % 4, 1, 1, int8multirange(int8range(s, s + 1)) FROM generate_series(1, 20000) s;
		INSERT INTO %s.lease_claim_batches SELECT 1, s, now(), 1, 1 + s % 4, 1, 1, 1, int8multirange(int8range(s * 4096, s * 4096 + 1)), ARRAY[s], ARRAY[1], ARRAY[s] FROM generate_series(1, 20000) s;
		INSERT INTO %s.lease_claim_closure_batches SELECT 1, s, now(), 1, 1 + s % 4, 1, 1, 1, 'completed', int8multirange(int8range(s * 4096, s * 4096 + 1)) FROM generate_series(1, 19999) s;
		INSERT INTO %s.lease_claims SELECT 1, s, now(), now(), 1, s, s, 1, 1 + s % 4, 1, 1 FROM generate_series(1, 20000) s;
		INSERT INTO %s.lease_claim_closures SELECT 1, s * 4096, now(), 1, 1 + s % 4, 1, 1, 'completed' FROM generate_series(1, 19999) s`
	const truncate = `TRUNCATE %s.ready_entries_1, %s.ready_claim_attempt_batches_1, %s.lease_claim_batches_1, %s.lease_claim_closure_batches_1, %s.lease_claims_1, %s.lease_claim_closures_1`
	const analyze = `ANALYZE %s.ready_entries_1; ANALYZE %s.ready_claim_attempt_batches_1; ANALYZE %s.lease_claim_batches_1; ANALYZE %s.lease_claim_closure_batches_1; ANALYZE %s.lease_claims_1; ANALYZE %s.lease_claim_closures_1`
	b := setup(t)
	var first map[string]string
	for _, step := range []struct{ name, sql string }{
		{"empty", `SELECT 1`},
		{"analyzed when empty", analyze},
		{"filled since", fill},
		{"analyzed when full", analyze},
		{"truncated since", truncate},
	} {
		if _, err := b.pool.Exec(t.Context(), b.sql(step.sql), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(step.name, err)
		}
		shapes := b.plans(t)
		if first == nil {
			first = shapes
		}
		for name, shape := range shapes {
			if first[name] != shape {
				t.Errorf("%s, %s: the plan became\n%s\nand was\n%s", step.name, name, shape, first[name])
			}
		}
	}
}

// plans explains the hot statements as the engine would run them, checks their use of indexes and returns how they read tables.
func (b *bundle) plans(t *testing.T) map[string]string {
	t.Helper()
	ctx := t.Context()
	tx := begin(t, b.pool, pgx.ReadCommitted)
	defer func() { _ = tx.Rollback(ctx) }() // nothing was done
	if _, err := tx.Exec(ctx, b.PlanSettings()); err != nil {
		t.Fatal(err)
	}
	texts := b.Statements()
	shapes := map[string]string{}
	for name, wanted := range wantedIndexUse {
		desc, err := tx.Conn().Prepare(ctx, b.schema+name, texts[name+" queue"])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(desc.ParamOIDs)), ", ")
		var plan []struct{ Plan planNode }
		var text []byte
		explain := fmt.Sprintf(`EXPLAIN (FORMAT JSON) EXECUTE %s (%s)`, pgx.Identifier{b.schema + name}.Sanitize(), nulls)
		if err := tx.QueryRow(ctx, explain, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := json.Unmarshal(text, &plan); err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		var shape strings.Builder
		plan[0].Plan.walk(func(n planNode) {
			if n.Relation == "" {
				return
			}
			fmt.Fprintf(&shape, "%s %s %s %s\n", n.Type, n.Relation, n.Index, n.Condition)
			table := slotNumber.ReplaceAllString(n.Relation, "")
			column, ring := wanted[table]
			if !ring || n.Type == "ModifyTable" {
				return
			}
			used[table] = true
			if !strings.HasPrefix(n.Type, "Index") || !strings.Contains(n.Condition, column) {
				t.Errorf("%s reads %s by %s of %s, bounded by %q; want an index bounded by %s", name, n.Relation, n.Type, n.Index, n.Condition, column)
			}
		})
		for table := range maps.Keys(wanted) {
			if !used[table] {
				t.Errorf("%s doesn't read %s:\n%s", name, table, shape.String())
			}
		}
		if err := tx.Conn().Deallocate(ctx, b.schema+name); err != nil {
			t.Fatal(err)
		}
		shapes[name] = shape.String()
	}
	return shapes
}

var slotNumber = regexp.MustCompile(`_[0-9]+$`)

type planNode struct {
	Type      string     `json:"Node Type"`
	Relation  string     `json:"Relation Name"`
	Index     string     `json:"Index Name"`
	Condition string     `json:"Index Cond"`
	Plans     []planNode `json:"Plans"`
}

func (n planNode) walk(visit func(planNode)) {
	visit(n)
	for _, child := range n.Plans {
		child.walk(visit)
	}
}
