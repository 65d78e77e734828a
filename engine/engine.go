package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine/schema"
)

// An Engine works on one schema through one pool, which stays the caller's to close. Safe for concurrent use. It holds
// nothing that can't be lost: queues that it has met and hints about where to look for work.
type Engine struct {
	pool *pgxpool.Pool
	cfg  Config
	sql  *statements

	queues   registry
	turn     atomic.Uint64 // deals jobs without an ordering key out to shards
	hints    hints
	holders  holders
	queue    ring
	claim    ring
	lease    ring
	lockWait string // MaintenanceLockTimeout as the server reads it
}

// Migrate installs the schema or brings it up to date, in one transaction behind an advisory lock: any number of
// processes may call it at once. It needs a role that may create objects.
//
// Errors: ErrInvalid for a bad configuration, ErrSchemaNewer when a newer binary has been here, ErrNotDrained when the
// retired table open_receipt_claims still has rows, ErrLayout for other slot counts than installed, ErrUnreachable.
// Nothing is changed on any of them.
func Migrate(ctx context.Context, pool *pgxpool.Pool, cfg Config) error {
	const op = "Migrate"
	lay := schema.Layout{QueueSlots: cfg.QueueSlots, ClaimSlots: cfg.ClaimSlots, LeaseSlots: cfg.LeaseSlots} // zeros, which withDefaults replaces, mean "as installed"
	cfg, err := cfg.withDefaults(op)
	if err != nil {
		return err
	}
	lay.Schema = cfg.Schema
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, pool, opts, func(tx pgx.Tx) error {
		return schema.Install(ctx, tx, lay, key(cfg.Schema, keyInstall, 0))
	})
	return fail(op, fmt.Sprintf("schema %q", cfg.Schema), err)
}

// Open returns an engine on an installed schema. It checks the version and reads the slot counts; it needs no DDL.
//
// Errors: ErrInvalid, ErrNotInstalled when the schema is missing or older than this binary, ErrSchemaNewer,
// ErrUnreachable.
func Open(ctx context.Context, pool *pgxpool.Pool, cfg Config) (*Engine, error) {
	const op = "Open"
	cfg, err := cfg.withDefaults(op)
	if err != nil {
		return nil, err
	}
	value := fmt.Sprintf("schema %q", cfg.Schema)
	if err := schema.CheckEncoding(ctx, pool); err != nil {
		return nil, fail(op, value, err)
	}
	version, err := schema.InstalledVersion(ctx, pool, cfg.Schema)
	switch {
	case err != nil:
		return nil, fail(op, value, err)
	case version > schema.Version:
		return nil, fail(op, value, &schema.NewerError{Schema: cfg.Schema, Database: version, Binary: schema.Version})
	case version < schema.Version:
		return nil, &Error{Op: op, Value: value, Err: fmt.Errorf("%w: version %d, this binary needs %d: run Migrate", ErrNotInstalled, version, schema.Version)}
	}
	lay, err := schema.SlotCounts(ctx, pool, cfg.Schema)
	if err != nil {
		return nil, fail(op, value, err)
	}
	cfg.QueueSlots, cfg.ClaimSlots, cfg.LeaseSlots = lay.QueueSlots, lay.ClaimSlots, lay.LeaseSlots
	return &Engine{
		pool:     pool,
		cfg:      cfg,
		sql:      newStatements(cfg.Schema),
		queue:    queueRing(cfg.QueueSlots),
		claim:    claimRing(cfg.ClaimSlots),
		lease:    leaseRing(cfg.LeaseSlots),
		lockWait: fmt.Sprintf("%dms", cfg.MaintenanceLockTimeout.Milliseconds()),
	}, nil
}
