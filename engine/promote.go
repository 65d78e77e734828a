package engine

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// maxSweep bounds the rows that one maintenance call moves.
const maxSweep = 10_000

// Promote moves up to limit (1 to 10,000) deferred jobs that are due to the current slot of the queue ring, the longest
// due first, and returns how many it moved. Two leaders share the work: a row that the other holds is passed over.
func (e *Engine) Promote(ctx context.Context, limit int) (int, error) {
	const op = "Promote"
	if err := checkCount(op, "limit", limit, maxSweep); err != nil {
		return 0, err
	}
	n := 0
	err := e.untilCurrent(ctx, op, func(t *txn) (moved, commit bool, err error) {
		open, err := e.openProducer(ctx, t)
		if err != nil {
			return false, false, err
		}
		at := children{Queue: e.queue.slot(open.generation)}
		current := false
		var b pgx.Batch
		b.Queue(e.sql.get("lock_ready", at))
		b.Queue(e.sql.get("promote", at), open.generation, e.now(), limit).QueryRow(func(row pgx.Row) error {
			return row.Scan(&current, &n)
		})
		err = send(ctx, t, &b)
		return !current, n > 0, err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
