package engine

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// carryMany carries the slot's failed rows before the exclusive locks are asked for, when they are more than
// Config.CarryLimit: it would take too long to do it while nobody can read the slot (P7). The lock that it takes instead
// lets readers in, and keeps everybody out who takes failed rows away, so that no row is carried that somebody retries.
// None can be added: every attempt of the slot was closed when refuse looked, or else prove will say so.
//
// With a holder in sight it isn't begun, since the work would be for nothing.
func (p *pruning) carryMany(ctx context.Context, t *txn, at children) (blocked bool, err error) {
	if p.cutoff == nil {
		return false, nil
	}
	sql := p.e.sql
	if err := t.QueryRow(ctx, sql.get("many_to_carry", at), p.cutoff, p.e.cfg.CarryLimit).Scan(&p.carried); err != nil || !p.carried {
		return false, err
	}
	if p.out.Holder != nil {
		return true, nil
	}
	var b pgx.Batch
	b.Queue(sql.get("share_done", at))
	p.queueCarry(&b, at)
	return false, send(ctx, t, &b)
}

// queueCarry makes the carry part of the batch.
func (p *pruning) queueCarry(b *pgx.Batch, at children) {
	if p.cutoff == nil {
		return
	}
	b.Queue(p.e.sql.get("carry", at), p.cutoff, p.ring.slot(p.current), p.current).Exec(func(tag pgconn.CommandTag) error {
		p.out.CarriedFailedRows = int(tag.RowsAffected())
		return nil
	})
}
