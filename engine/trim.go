package engine

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TrimLedger deletes rows of the rings' ledgers that are older than one lap, and returns how many. Nobody asks for
// them: a slot is entered when the generation of one lap ago is pruned, so that every unpruned one is of the newest lap.
// A writer with an older cursor in mind finds that the cursor moved before it asks whether its generation was pruned,
// and a receipt of an older one finds its claim gone.
//
// It is safe with any number of leaders: a ring that maintenance is at work on is left alone. Each deleted row is a dead
// one until the next vacuum; there are two for each rotation, however often this is called.
func (e *Engine) TrimLedger(ctx context.Context) (int, error) {
	const op = "TrimLedger"
	trimmed := 0
	for _, r := range []ring{e.queue, e.claim, e.lease} {
		n := 0
		err := e.transact(ctx, op, func(t *txn) (bool, error) {
			var w window
			var b pgx.Batch
			t.queueXid(&b)
			b.Queue(e.sql.get("lock_ring", children{Ring: r}))
			b.Queue(e.sql.get("read_window", children{Ring: r})).QueryRow(func(row pgx.Row) error { return row.Scan(&w) })
			if err := send(ctx, t, &b); err != nil {
				if isLockTimeout(err) {
					return false, nil
				}
				return false, err
			}
			first := firstOfLap(r, w)
			if first <= 0 {
				return false, nil
			}
			b = pgx.Batch{}
			count := func(tag pgconn.CommandTag) error { n += int(tag.RowsAffected()); return nil }
			b.Queue(e.sql.get("trim_rotations", children{Ring: r}), first).Exec(count)
			b.Queue(e.sql.get("trim_prunes", children{Ring: r}), first).Exec(count)
			return true, send(ctx, t, &b)
		})
		if err != nil {
			return trimmed, err
		}
		trimmed += n
	}
	return trimmed, nil
}

// firstOfLap is the first generation that a ring's ledgers must keep: those of the newest lap, and every unpruned one.
func firstOfLap(r ring, w window) int64 {
	return min(w[0], w.current()-int64(r.slots)+1)
}
