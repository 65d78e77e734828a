package engine

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// keysBatch is how many unique keys one transaction of TrimKeys looks at. Each reads the ring once.
const keysBatch = 50_000

// TrimKeys deletes the unique keys of jobs of which nothing is left, and returns how many. A key needs no trimming to be
// free: whoever enqueues it asks for its job. But each key leaves a row, and only this takes it away: call it once an hour
// or so. A job that ended keeps its row for as long as its history, since a failed one may be made live again.
//
// It is safe beside everything else and with any number of leaders. Each fifty thousand are a transaction, which reads all
// ready rows: after an error some are gone, and repeating is safe. Each deleted row is a dead one until the next vacuum.
func (e *Engine) TrimKeys(ctx context.Context) (int, error) {
	const op = "TrimKeys"
	trimmed := 0
	for after := new(int64); after != nil; {
		n := 0
		err := e.transact(ctx, op, func(t *txn) (bool, error) {
			var b pgx.Batch
			b.Queue(e.sql.get("no_jit", children{}))
			b.Queue(e.sql.get("trim_keys", children{}), *after, keysBatch).QueryRow(func(row pgx.Row) error {
				return row.Scan(&after, &n)
			})
			return true, send(ctx, t, &b)
		})
		if err != nil {
			return trimmed, err
		}
		trimmed += n
	}
	return trimmed, nil
}
