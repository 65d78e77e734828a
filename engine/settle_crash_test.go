package engine

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/pgtest"
)

// A crash takes the WAL of a transaction in flight and the server gives its number to the next one. What that one does
// must not be taken for the fate of the first (P11).
func TestSettleAfterCrash(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	// The WAL writer flushes what nobody waits for, five times a second unless it is told otherwise: before a kill that comes
	// late.
	settings := map[string]string{"wal_writer_delay": "10s"}
	server, err := pgtest.Start(ctx, pgtest.Options{Local: true, Durable: true, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	pool := server.TestPool(t, 4)
	cfg := Config{QueueSlots: 4, ClaimSlots: 2}
	if err := Migrate(ctx, pool, cfg); err != nil {
		t.Fatal(err)
	}
	e, err := Open(ctx, pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	reused := 0
	for range 2 {
		tx, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		lost := &txn{Tx: tx, op: "Test"}
		var b pgx.Batch
		lost.queueXid(&b)
		b.Queue("CREATE TABLE scrap ()") // writes WAL, not flushed
		if err := send(ctx, tx, &b); err != nil {
			t.Fatal(err)
		}
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		_ = tx.Rollback(ctx) // the connection is gone
		ambiguous := commitError("Test", lost.txid, context.DeadlineExceeded)
		if committed, err := e.Settle(ctx, ambiguous); err != nil || committed {
			t.Fatalf("after the crash: committed %v, %v", committed, err)
		}
		for next := uint64(0); next < lost.xid; {
			if err := pool.QueryRow(ctx, "SELECT pg_current_xact_id()::text::bigint").Scan(&next); err == nil && next == lost.xid {
				reused++
			}
		}
		if committed, err := e.Settle(ctx, ambiguous); err != nil || committed {
			t.Fatalf("after the number was given again: committed %v, %v", committed, err)
		}
	}
	if reused == 0 {
		t.Error("no number was given again, so that nothing was shown")
	}
	t.Logf("%d of 2 numbers were given again", reused)
}

func TestSettleRule(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2030, 1, n, 0, 0, 0, 0, time.UTC) }
	committed := func(n int) *time.Time { at := day(n); return &at }
	id := txid{xid: 7, server: day(10), at: day(20)}
	for name, c := range map[string]struct {
		seen          sighting
		answer, known bool
	}{
		"in progress":                            {sighting{"in progress", day(10), nil}, false, false},
		"forgotten":                              {sighting{"too old", day(10), nil}, false, false},
		"committed on the same server":           {sighting{"committed", day(10), nil}, true, true},
		"aborted":                                {sighting{"aborted", day(10), nil}, false, true},
		"aborted, by whoever had the number":     {sighting{"aborted", day(21), nil}, false, true},
		"the number was not given since":         {sighting{}, false, true},
		"restarted, without commit timestamps":   {sighting{"committed", day(21), nil}, false, false},
		"restarted, committed before":            {sighting{"committed", day(22), committed(21)}, true, true},
		"restarted, the number was given again":  {sighting{"committed", day(22), committed(23)}, false, true},
		"another server, which had been running": {sighting{"committed", day(15), committed(23)}, false, false},
	} {
		if answer, known := id.settle(c.seen); answer != c.answer || known != c.known {
			t.Errorf("%s: %v, %v", name, answer, known)
		}
	}
}

// The death of one backend makes the server recover without being started anew, and loses commits in flight all the same.
func TestIncarnationChangesWhenOneBackendDies(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, err := pgtest.Start(ctx, pgtest.Options{Local: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	pool := server.TestPool(t, 2)
	var before, after time.Time
	var pid int
	if err := pool.QueryRow(ctx, "SELECT pg_backend_pid(), "+incarnation).Scan(&pid, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait := newPause()
	for !after.After(before) {
		if err := wait.wait(ctx); err != nil {
			t.Fatalf("the server still says that it lives since %s: %v", before, err)
		}
		_ = pool.QueryRow(ctx, "SELECT "+incarnation).Scan(&after) // it refuses connections while it recovers
	}
}
