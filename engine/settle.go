package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Settle finds out what became of the transaction behind an ambiguous error: true when it committed. It waits, on a
// connection of its own, while the transaction is still in progress, until ctx is done. An error that is not ambiguous
// is refused with ErrInvalid. Safe for concurrent use.
//
// When the server crashed or failed over meanwhile, the transaction's number may have been given to another one. With
// track_commit_timestamp on, a crash is seen through; otherwise the answer may be ErrAmbiguous again, for good.
func (e *Engine) Settle(ctx context.Context, err error) (committed bool, _ error) {
	const op = "Settle"
	var mine *Error
	if !errors.As(err, &mine) || mine.id.xid == 0 {
		return false, invalid(op, fmt.Sprint(err), "not an ambiguous outcome")
	}
	wait := newPause()
	for {
		seen := sighting{}
		err := e.pool.QueryRow(ctx, settleQuery, fmt.Sprint(mine.id.xid)).Scan(&seen.status, &seen.server, &seen.committedAt)
		if err != nil && !SafeToRetry(err) && !inTheFuture(err) {
			return false, fail(op, mine.Value, err)
		}
		if err == nil || inTheFuture(err) {
			answer, known := mine.id.settle(seen)
			switch {
			case known:
				return answer, nil
			case seen.status == "too old":
				return false, &Error{Op: op, Value: mine.Value, Err: ErrNotFound}
			case seen.status == "committed":
				return false, &Error{Op: op, Value: mine.Value, Err: fmt.Errorf("%w: the server is another one since, or was started again, and the number may have gone to another transaction (track_commit_timestamp would tell)", ErrAmbiguous)}
			}
		}
		if err := wait.wait(ctx); err != nil {
			return false, fail(op, mine.Value, err)
		}
	}
}

const settleQuery = `/* awa:Settle */
SELECT coalesce(pg_xact_status($1::text::xid8), 'too old'), ` + incarnation + `,
       CASE WHEN current_setting('track_commit_timestamp')::boolean THEN pg_xact_commit_timestamp($1::text::xid8::xid) END`

// inTheFuture reports that the server hasn't given the number yet: a crash took the transaction that had it.
func inTheFuture(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "22023"
}

// A sighting is what the server says of a transaction's number. It is zero when it never gave that number.
type sighting struct {
	status      string
	server      time.Time  // when the server that says it was started, or last recovered from a crash
	committedAt *time.Time // of the newest transaction with that number, where the server keeps it
}

// settle is the rule. A transaction whose commit was durable keeps its number for ever, so that "aborted" and a number
// not given yet always mean that it did not commit. "Committed" means this transaction when the server has run on since;
// after a crash, when the commit is older than the server's start. A server that was started before the transaction and
// is not the one that ran it is a promoted replica: the commit may be ours, replicated, or another's since.
func (id txid) settle(s sighting) (committed, known bool) {
	switch s.status {
	case "", "aborted":
		return false, true
	case "committed":
		if s.server.Equal(id.server) {
			return true, true
		}
		if s.committedAt == nil {
			return false, false
		}
		before := s.committedAt.Before(s.server)
		return before, before || s.server.After(id.at)
	}
	return false, false // in progress, or too old
}
