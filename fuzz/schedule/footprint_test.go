package schedule

import (
	"testing"
	"time"
)

func testCatalog() *Catalog {
	return &Catalog{
		schema: "awa", sequences: map[string]bool{"job_id_seq": true}, lanes: []string{"lane_seq_1"},
		children: map[string][]string{"t": {"t_0", "t_1"}, "t_0": nil, "t_1": nil, "ready_entries_0": nil, "queue_ring_rotations": nil, "queue_ring_state": nil},
	}
}

// touch runs statements in one transaction and returns the footprint of the last one.
func touch(c *Catalog, texts ...string) Footprint {
	var tx transaction
	var f Footprint
	for _, text := range texts {
		u := unit{kind: extended, sql: text}
		f = c.footprint(u, &tx)
		tx.let(c, u, f)
	}
	return f
}

func TestFootprintsMeet(t *testing.T) {
	t.Parallel()
	c := testCatalog()
	const begin = "begin isolation level read committed"
	inserts := `INSERT INTO "awa".ready_entries_0 SELECT 1`
	for _, x := range []struct {
		why   string
		a, b  []string
		meets bool
	}{
		{"two begins", []string{begin}, []string{begin}, false},
		{"a read and another one", []string{begin, `SELECT * FROM "awa".t`}, []string{begin, `SELECT * FROM "awa".t_1`}, false},
		{"a read and a row that isn't committed", []string{begin, `SELECT * FROM "awa".ready_entries_0`}, []string{begin, inserts}, false},
		{"a read and the commit", []string{begin, `SELECT * FROM "awa".ready_entries_0`}, []string{begin, inserts, "commit"}, true},
		{"a read elsewhere and the commit", []string{begin, `SELECT * FROM "awa".t`}, []string{begin, inserts, "commit"}, false},
		{"a read and the rollback", []string{begin, `SELECT * FROM "awa".ready_entries_0`}, []string{begin, inserts, "rollback"}, false},
		{"two shared locks", []string{begin, `LOCK TABLE "awa".t_0 IN ROW EXCLUSIVE MODE`}, []string{begin, `LOCK TABLE "awa".t_0 IN ROW EXCLUSIVE MODE`}, false},
		{"an exclusive lock and a read of the parent", []string{begin, `LOCK TABLE "awa".t_0 IN ACCESS EXCLUSIVE MODE`}, []string{begin, `SELECT * FROM "awa".t`}, true},
		{"an exclusive lock and the release of a read", []string{begin, `LOCK TABLE "awa".t_0 IN ACCESS EXCLUSIVE MODE`}, []string{begin, `SELECT * FROM "awa".t`, "commit"}, true},
		{"exclusive locks of two children", []string{begin, `LOCK TABLE "awa".t_0 IN ACCESS EXCLUSIVE MODE`}, []string{begin, `LOCK TABLE "awa".t_1 IN ACCESS EXCLUSIVE MODE`}, false},
		{"the same row", []string{begin, `SELECT FROM "awa".queue_ring_state FOR UPDATE NOWAIT`}, []string{begin, `SELECT FROM "awa".queue_ring_state FOR UPDATE`}, true},
		{"the same key of a ledger", []string{begin, `INSERT INTO "awa".queue_ring_rotations VALUES (1)`}, []string{begin, `INSERT INTO "awa".queue_ring_rotations VALUES (1)`}, true},
		{"the same sequence", []string{begin, `SELECT nextval('"awa".job_id_seq')`}, []string{begin, `SELECT nextval('"awa".job_id_seq')`}, true},
		{"the oldest transaction and a new one", []string{begin, `SELECT pg_snapshot_xmin(pg_current_snapshot())`}, []string{begin, `SELECT pg_current_xact_id()`}, true},
		{"an old snapshot and a commit", []string{"begin isolation level repeatable read", `SELECT 1`}, []string{begin, inserts, "commit"}, true},
		{"holders and a lock", []string{begin, `SELECT 1 FROM pg_locks WHERE relation = '"awa".t_0'::regclass`}, []string{begin, `LOCK TABLE "awa".t_0 IN ROW EXCLUSIVE MODE`}, true},
		{"a statement that isn't understood", []string{begin, `SELECT "awa".something()`}, []string{begin, `SELECT * FROM "awa".t`}, true},
	} {
		a, b := touch(c, x.a...), touch(c, x.b...)
		if a.meets(b) != x.meets || b.meets(a) != x.meets {
			t.Errorf("%s: %s and %s meet: %t, %t", x.why, a, b, a.meets(b), b.meets(a))
		}
	}
}

func TestLockTimeoutIsFollowed(t *testing.T) {
	t.Parallel()
	c := testCatalog()
	var tx transaction
	for _, step := range []struct {
		u    unit
		want time.Duration
	}{
		{unit{sql: "begin"}, 0},
		{unit{sql: "SELECT set_config('lock_timeout', $1::text, true)", args: [][]byte{[]byte("1ms")}}, time.Millisecond},
		{unit{sql: `SELECT * FROM "awa".t`}, time.Millisecond},
		{unit{sql: "SELECT set_config('lock_timeout', $1::text, true)", args: [][]byte{[]byte("0")}}, 0},
		{unit{sql: "commit"}, 0},
	} {
		tx.let(c, step.u, c.footprint(step.u, &tx))
		if tx.wait != step.want {
			t.Errorf("after %q a wait is bounded by %s, not %s", step.u.sql, step.want, tx.wait)
		}
	}
}
