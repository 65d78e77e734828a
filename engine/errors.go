package engine

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/awa-engine/awa/engine/schema"
)

// Sentinels for what a caller can act on; use errors.Is, or the questions below.
var (
	// ErrStale: the attempt is closed, was superseded, or never existed. Nothing was changed (P3).
	ErrStale = errors.New("the attempt is over")
	// ErrClosing: somebody is closing the attempt at this moment, perhaps for as long as a caller's transaction is open.
	// Nothing was changed.
	ErrClosing = errors.New("the attempt is being closed")
	// ErrAmbiguous: the connection was lost between COMMIT and its answer; the transaction may or may not have
	// committed. Engine.Settle finds out (P11).
	ErrAmbiguous = errors.New("the outcome of the commit is not known")
	// ErrInvalid: an argument can't be stored or makes no sense. Nothing was written.
	ErrInvalid = errors.New("invalid argument")
	// ErrNotFound: no such job; it never existed, or its history was pruned or removed.
	ErrNotFound = errors.New("not found")
	// ErrWrongState: the job is where the operation can do nothing with it: Cancel of one that is over, DeleteTerminal of one
	// that isn't, SetPriority and MoveJob of one that doesn't wait. Nothing was changed.
	ErrWrongState = errors.New("the job is not in a state for this")
	// ErrNotInstalled: the schema doesn't exist or is older than this binary; run Migrate.
	ErrNotInstalled = errors.New("the schema is not installed")
	// ErrSchemaNewer: the schema belongs to a newer binary. Nothing was changed.
	ErrSchemaNewer = errors.New("the schema is newer than this binary")
	// ErrNotDrained: Migrate met a retired table that still has rows. Nothing was changed.
	ErrNotDrained = errors.New("a retired table still has rows")
	// ErrLayout: Migrate was asked for other slot counts than the schema was installed with. Nothing was changed.
	ErrLayout = errors.New("the slot counts are fixed at install")
	// ErrQueueNotRegistered: the queue is unknown and can't be registered from here, since that needs a connection
	// of its own and the pool has none left. Call RegisterQueue before the transaction begins.
	ErrQueueNotRegistered = errors.New("the queue is not registered")
	// ErrUniqueBusy: another open transaction has enqueued the same unique key, and didn't end within Unique.MaxWait.
	// Nothing was written.
	ErrUniqueBusy = errors.New("another transaction is enqueueing the same unique key")
	// ErrIsolation: the operation needs a caller's transaction that is READ COMMITTED. Nothing was written.
	ErrIsolation = errors.New("the transaction must be READ COMMITTED")
	// ErrUnreachable: no server answered.
	ErrUnreachable = errors.New("the server can't be reached")
	// ErrCorrupt: the rows contradict each other; maintenance stops rather than truncate them. Report it.
	ErrCorrupt = errors.New("stored rows contradict each other")
	// ErrBusy: a bounded number of repetitions met a ring that moved on each time. Nothing was changed.
	ErrBusy = errors.New("the ring moved on each time")
)

// An Error says which operation met which value. It unwraps to one of the sentinels above where there is one, and to
// the error of the driver.
type Error struct {
	Op     string // the operation, as in ARCHITECTURE.md
	Value  string // the offending value, as text; empty when there is none
	Err    error
	id     txid // the transaction whose outcome is unknown, for Settle
	unsent bool // the connection was lost before COMMIT was sent
}

// Error returns "awa: Op value: cause".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("awa: ")
	b.WriteString(e.Op)
	if e.Value != "" {
		b.WriteString(" ")
		b.WriteString(e.Value)
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Stale reports whether the attempt that err is about was over before the call: nothing was changed, and repeating the
// call gives the same answer for ever, since an attempt never opens again (P3).
func Stale(err error) bool { return errors.Is(err, ErrStale) }

// Ambiguous reports whether the transaction may or may not have committed. Repeating is safe for every operation but
// Enqueue and EnqueueMany (they would enqueue twice): settle those first.
func Ambiguous(err error) bool { return errors.Is(err, ErrAmbiguous) }

// SafeToRetry reports whether certainly nothing was changed and the same call may succeed later:
//   - the driver certainly sent nothing, or no server answered the connection attempt;
//   - the server aborted the transaction for a reason that passes (see retryable);
//   - the connection was lost before the operation's COMMIT was sent, which ends its transaction;
//   - a ring moved on each time, before anything was written;
//   - somebody else was closing the attempt.
func SafeToRetry(err error) bool {
	if err == nil || errors.Is(err, ErrAmbiguous) {
		return false
	}
	if mine := (*Error)(nil); errors.As(err, &mine) && mine.unsent {
		return true
	}
	if errors.Is(err, ErrBusy) || errors.Is(err, ErrUniqueBusy) || errors.Is(err, ErrClosing) || errors.Is(err, ErrUnreachable) || pgconn.SafeToRetry(err) {
		return true
	}
	var pg *pgconn.PgError
	return errors.As(err, &pg) && retryable(pg.Code)
}

// retryable lists the SQLSTATEs after which the server has rolled the transaction back for a reason that passes.
func retryable(code string) bool {
	switch code {
	case "40001", // serialization_failure: only in a caller's transaction, ours are READ COMMITTED
		"40P01",                            // deadlock_detected: only in a caller's transaction, which takes keys in its own order
		"53000", "53100", "53200", "53300", // out of resources, disk, memory, connections
		"55P03",                            // lock_not_available
		"57014",                            // query_canceled, statement_timeout among them
		"57P01", "57P02", "57P03", "25006": // shutting down, crashed, starting up, on a read-only standby
		return true
	}
	return false
}

// invalidData lists the SQLSTATEs by which the server refuses a value; validation refuses them first, so that one seen
// is a hole in validate.go, yet still the caller's data.
func invalidData(code string) bool {
	switch code {
	case "22P02", "22P05", "22003", "22021", "22030", "22032", "54000", "54001":
		return true
	}
	return false
}

// fail wraps err for the operation. It is the one place where errors of the driver get their family.
func fail(op, value string, err error) error {
	if err == nil {
		return nil
	}
	var mine *Error
	if errors.As(err, &mine) {
		return err
	}
	var newer *schema.NewerError
	var legacy *schema.LegacyRowsError
	var layout *schema.LayoutError
	var encoding *schema.EncodingError
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	var network *net.OpError
	switch {
	case errors.As(err, &newer):
		err = fmt.Errorf("%w: %w", ErrSchemaNewer, err)
	case errors.As(err, &legacy):
		err = fmt.Errorf("%w: %w", ErrNotDrained, err)
	case errors.As(err, &layout):
		err = fmt.Errorf("%w: %w", ErrLayout, err)
	case errors.As(err, &encoding):
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	case errors.As(err, &pg):
		if invalidData(pg.Code) {
			err = fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	case errors.As(err, &connect), errors.As(err, &network) && network.Op == "dial":
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return &Error{Op: op, Value: value, Err: err}
}

// invalid makes the error for a bad argument.
func invalid(op, value, format string, args ...any) error {
	return &Error{Op: op, Value: value, Err: fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)}
}

// isLockTimeout reports whether a lock could not be had within its bound, by lock_timeout or NOWAIT. Maintenance calls
// that "blocked"; every other error stays an error (hazard 26).
func isLockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// commitError gives the family of a failed COMMIT. Only an answer of the server, or a commit that was never sent, is a
// known outcome; everything else leaves it open (hazard 18).
func commitError(op string, id txid, err error) error {
	var pg *pgconn.PgError
	// 57P01..57P03 may arrive after the server made the commit durable but before it could say so, hence "unknown".
	known := errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57") && !strings.HasPrefix(pg.Code, "08")
	if known || errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, pgx.ErrTxClosed) || pgconn.SafeToRetry(err) {
		return fail(op, "", err)
	}
	return &Error{Op: op, Value: fmt.Sprintf("transaction %d", id.xid), Err: fmt.Errorf("%w: %w", ErrAmbiguous, err), id: id}
}
