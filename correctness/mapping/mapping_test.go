package mapping

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The committed file is what the tree says, and everything in the tree has its row.
func TestMappingIsUpToDate(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	m, err := Make(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Problems {
		t.Error(p)
	}
	committed, err := os.ReadFile("../MAPPING.md")
	if err != nil {
		t.Fatal(err)
	}
	if drift := m.Drift(string(committed)); len(drift) > 0 {
		t.Errorf("%s differs (to write it anew: go run ./cmd/awa-check mapping --write):\n%s", File, strings.Join(drift, "\n"))
	}
	for _, table := range Tables() {
		if m.Rows[table] == 0 {
			t.Errorf("the table of %s is empty", table)
		}
	}
}

func TestDriftTellsWhichLines(t *testing.T) {
	t.Parallel()
	m := &Mapping{Text: "a\n\nb\nb\n"}
	for committed, want := range map[string][]string{
		"a\n\nb\nb\n":    nil,
		"":               {"the file is missing or empty"},
		"a\n\nb\n":       {"line 4 is missing: b"},
		"a\n\nb\nb\nc\n": {"out of date: c"},
		"b\na\n\nb\n":    {"the lines are the same, in another order"},
		"a\n\nb\nx\n":    {"line 4 is missing: b", "out of date: x"},
	} {
		if got := m.Drift(committed); !slices.Equal(got, want) {
			t.Errorf("for %q: %q, want %q", committed, got, want)
		}
	}
	if got := m.Drift("x\n" + strings.Repeat("y\n", 2*mostDrift)); len(got) > mostDrift+1 {
		t.Errorf("%d lines are told", len(got))
	}
}

// Operations that share their code for two rings or two outcomes have each their own statements.
func TestSharedCodeIsToldApart(t *testing.T) {
	t.Parallel()
	e, err := readEngine(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ operation, has, lacks string }{
		{"Complete", "complete", "fail"},
		{"Fail", "fail", "complete"},
		{"PruneQueue", "queue_slot_proof", "claim_slot_proof"},
		{"PruneQueue", "fold_rollups", "reset_rescue_cursor"},
		{"PruneClaims", "claim_slot_proof", "queue_slot_proof"},
		{"PruneClaims", "lock_gate", "share_claim_children"},
		{"EnqueueTx", "insert_deferred", "take_positions"},
		{"EnqueueMany", "take_positions", "insert_ready"},
	} {
		at := slices.IndexFunc(e.operations, func(f *function) bool { return f.short == c.operation })
		if at < 0 {
			t.Fatalf("no operation %s", c.operation)
		}
		has := func(name string) bool {
			return slices.ContainsFunc(e.asked[e.operations[at]], func(s *statement) bool { return s.name == name })
		}
		if !has(c.has) || has(c.lacks) {
			t.Errorf("%s: %s %t, %s %t", c.operation, c.has, has(c.has), c.lacks, has(c.lacks))
		}
	}
}

func TestSchemaIsRead(t *testing.T) {
	t.Parallel()
	var s schema
	s.add(`CREATE TABLE {{.S}}.one (id smallint PRIMARY KEY);
CREATE TABLE {{$.S}}.{{$ring.Name}}_ring_more (
    first  bigint PRIMARY KEY CHECK (first >= 0),
    -- why
    second text NOT NULL,
    CHECK (second <> '')
) WITH (fillfactor = 50);
CREATE TABLE {{$.S}}.one_{{.}} PARTITION OF {{$.S}}.one FOR VALUES IN ({{.}});
ALTER TABLE {{.S}}.one ADD COLUMN late text;
CREATE SEQUENCE {{.S}}.numbers;
`)
	var got []string
	for _, table := range s.tables {
		got = append(got, table.name+" "+strings.Join(table.columns, ","))
	}
	if want := []string{"one id,late", "queue_ring_more first,second", "claim_ring_more first,second"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.Equal(s.sequences, []string{"numbers"}) {
		t.Errorf("sequences %q", s.sequences)
	}
}
