package fuzz

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// A bench is where runs happen, one after another: a connection pool of each size for each process, and an installation of each ring
// layout, emptied between runs. A bench is for one goroutine.
type bench struct {
	server  *pgtest.Server
	name    string // prefix of its schemas
	pools   map[poolOf]*pgxpool.Pool
	callers *pgxpool.Pool
	judge   *pgx.Conn // reads the database for the comparison
	schemas map[string]bool
}

// Processes have pools of their own: two of them never share a session, nor what a session keeps.
type poolOf struct{ process, size int }

func newBench(ctx context.Context, server *pgtest.Server, name string) (*bench, error) {
	b := &bench{server: server, name: name, pools: map[poolOf]*pgxpool.Pool{}, schemas: map[string]bool{}}
	var err error
	if b.callers, err = server.Pool(ctx, maxOpen); err != nil {
		return nil, err
	}
	b.judge, err = connectJudge(ctx, server)
	return b, err
}

func connectJudge(ctx context.Context, server *pgtest.Server) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(server.DSN())
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["jit"] = "off" // compiling takes longer than reading a handful of rows
	return pgx.ConnectConfig(ctx, cfg)
}

// close drops the schemas and ends the connections.
func (b *bench) close(ctx context.Context) (err error) {
	if b.judge.IsClosed() { // a cancelled comparison closes it
		if b.judge, err = connectJudge(ctx, b.server); err != nil {
			return err
		}
	}
	for schema := range b.schemas {
		if _, dropErr := b.judge.Exec(ctx, "DROP SCHEMA "+pgx.Identifier{schema}.Sanitize()+" CASCADE"); dropErr != nil {
			err = errors.Join(err, dropErr)
		}
	}
	for _, p := range b.pools {
		p.Close()
	}
	if b.callers != nil {
		b.callers.Close()
	}
	return errors.Join(err, b.judge.Close(ctx))
}

// system prepares an empty installation for the world.
func (b *bench) system(ctx context.Context, w World) (*system, error) {
	var pools []*pgxpool.Pool
	for process := range w.Engines {
		at := poolOf{process, w.Pool}
		if b.pools[at] == nil {
			pool, err := b.server.Pool(ctx, w.Pool)
			if err != nil {
				return nil, err
			}
			b.pools[at] = pool
		}
		pools = append(pools, b.pools[at])
	}
	schema := fmt.Sprintf("%s_%d_%d_%d", b.name, w.QueueSlots, w.ClaimSlots, w.LeaseSlots)
	if !b.schemas[schema] {
		cfg := engine.Config{Schema: schema, QueueSlots: w.QueueSlots, ClaimSlots: w.ClaimSlots, LeaseSlots: w.LeaseSlots}
		if err := engine.Migrate(ctx, pools[0], cfg); err != nil {
			return nil, err
		}
		b.schemas[schema] = true
	}
	if err := b.empty(ctx, schema); err != nil {
		return nil, err
	}
	return newSystem(ctx, w, schema, pools, b.callers)
}

// empty takes an installation back to its first day. Sequences go on, as they do after a crash: the model compares ranks.
func (b *bench) empty(ctx context.Context, schema string) error {
	s := pgx.Identifier{schema}.Sanitize()
	text := ""
	for _, table := range []string{
		"ready_entries", "ready_claim_attempt_batches", "ready_tombstones", "receipt_completion_batches", "receipt_completion_tombstones", "done_entries",
		"queue_terminal_count_deltas", "queue_terminal_live_counts", "lease_claim_batches", "lease_claims", "lease_claim_closure_batches", "lease_claim_closures", "attempt_state", "leases", "deferred_jobs", "dlq_entries", "unique_claims", "queue_terminal_rollups", "queue_ring_prunes", "claim_ring_prunes",
		"lease_ring_prunes",
	} {
		text += fmt.Sprintf("DELETE FROM %s.%s;", s, table)
	}
	text += fmt.Sprintf(`DELETE FROM %[1]s.queue_ring_rotations WHERE generation > 0;
		DELETE FROM %[1]s.claim_ring_rotations WHERE generation > 0;
		DELETE FROM %[1]s.lease_ring_rotations WHERE generation > 0;
		INSERT INTO %[1]s.queue_ring_rotations VALUES (0, 0, now()) ON CONFLICT DO NOTHING; -- TrimLedger may have taken it
		INSERT INTO %[1]s.claim_ring_rotations VALUES (0, 0, now()) ON CONFLICT DO NOTHING;
		INSERT INTO %[1]s.lease_ring_rotations VALUES (0, 0, now()) ON CONFLICT DO NOTHING;
		UPDATE %[1]s.queues SET dlq = false WHERE dlq;
		UPDATE %[1]s.queues SET paused_at = NULL WHERE paused_at IS NOT NULL;
		UPDATE %[1]s.queues SET shards = 1 WHERE shards > 1;
		DO $lanes$
		DECLARE l regclass;
		BEGIN
		    FOR l IN DELETE FROM %[1]s.lanes WHERE enqueue_shard > 0 RETURNING seq LOOP
		        EXECUTE 'DROP SEQUENCE ' || l;
		    END LOOP;
		END $lanes$;
		DELETE FROM %[1]s.claim_ring_slots;
		INSERT INTO %[1]s.claim_ring_slots (slot) SELECT generate_series(0, slot_count - 1) FROM %[1]s.claim_ring_state`, s)
	_, err := b.judge.Exec(ctx, text)
	return err
}
