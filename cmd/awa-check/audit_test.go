package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// The audit command exits 0 on sound rows, 1 with plain words on corrupted ones, and 2 where it can't look.
func TestAuditCommand(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start(t.Context(), pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	pool := server.TestPool(t, 2)
	schema := fmt.Sprintf("audit_%d", os.Getpid())
	drop := func() {
		if _, err := pool.Exec(t.Context(), `DROP SCHEMA IF EXISTS `+schema+` CASCADE`); err != nil {
			t.Error(err)
		}
	}
	drop()
	cfg := engine.Config{Schema: schema, QueueSlots: 4, ClaimSlots: 2}
	if err := engine.Migrate(t.Context(), pool, cfg); err != nil {
		t.Fatal(err)
	}
	defer drop()
	e, err := engine.Open(t.Context(), pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Enqueue(t.Context(), engine.JobParams{Queue: "mail", Kind: "send"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Claim(t.Context(), "mail", 1); err != nil {
		t.Fatal(err)
	}
	if code, out, stderr := call(t, "audit", "--dsn", server.DSN(), "--schema", schema); code != 0 || !strings.Contains(out, "NoJobIsLost") {
		t.Errorf("sound rows: exit code %d\n%s%s", code, out, stderr)
	}
	if _, err := pool.Exec(t.Context(), `TRUNCATE `+schema+`.lease_claim_batches`); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "audit.json")
	code, out, stderr := call(t, "audit", "--dsn", server.DSN(), "--schema", schema, "--json", file)
	if code != 1 || !strings.Contains(out, "violated") || !strings.Contains(stderr, `NoJobIsLost: `) || !strings.Contains(stderr, `queue "mail"`) {
		t.Errorf("a lost job: exit code %d\n%s%s", code, out, stderr)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var shape struct {
		OK    bool
		Items []audited
	}
	if err := json.Unmarshal(content, &shape); err != nil || shape.OK || len(shape.Items) < 15 {
		t.Errorf("%v: %s", err, content)
	}
	if code, _, stderr := call(t, "audit", "--dsn", server.DSN(), "--schema", "nothing_here"); code != 2 || !strings.Contains(stderr, "not installed") {
		t.Errorf("no schema: exit code %d\n%s", code, stderr)
	}
	if code, _, stderr := call(t, "audit"); code != 2 || !strings.Contains(stderr, "--dsn") {
		t.Errorf("no database: exit code %d\n%s", code, stderr)
	}
}
