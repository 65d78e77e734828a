package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// Each SQLSTATE that we know, and what a caller is told. "Safe" means: the server rolled everything back, for a reason
// that passes.
func TestSafeToRetry(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"40001": true, // serialization_failure
		"40P01": true, // deadlock_detected
		"53000": true, // insufficient_resources
		"53100": true, // disk_full
		"53200": true, // out_of_memory
		"53300": true, // too_many_connections
		"55P03": true, // lock_not_available
		"57014": true, // query_canceled
		"57P01": true, // admin_shutdown
		"57P02": true, // crash_shutdown
		"57P03": true, // cannot_connect_now
		"25006": true, // read_only_sql_transaction

		"08006": false, // connection_failure: who knows
		"22P02": false, // invalid_text_representation
		"22P05": false, // untranslatable_character
		"22021": false, // character_not_in_repertoire
		"22003": false, // numeric_value_out_of_range
		"23505": false, // unique_violation: ours to explain
		"23514": false, // check_violation
		"25P02": false, // in_failed_sql_transaction: the caller's transaction is broken
		"26000": false, // invalid_sql_statement_name
		"28P01": false, // invalid_password
		"3D000": false, // invalid_catalog_name
		"42501": false, // insufficient_privilege
		"42601": false, // syntax_error
		"42P01": false, // undefined_table
		"42703": false, // undefined_column
		"54000": false, // program_limit_exceeded
		"57P04": false, // database_dropped
		"XX000": false, // internal_error
		"XX001": false, // data_corrupted
	} {
		err := fmt.Errorf("wrapped: %w", &engine.Error{Op: "Claim", Err: &pgconn.PgError{Code: code}})
		if got := engine.SafeToRetry(err); got != want {
			t.Errorf("SQLSTATE %s: SafeToRetry is %v", code, got)
		}
		if engine.Ambiguous(err) || engine.Stale(err) {
			t.Errorf("SQLSTATE %s: neither ambiguous nor stale", code)
		}
	}
	for _, err := range []error{engine.ErrBusy, engine.ErrUnreachable} {
		if !engine.SafeToRetry(&engine.Error{Op: "Claim", Err: err}) {
			t.Errorf("%v: nothing was changed", err)
		}
	}
	for _, err := range []error{
		nil, io.EOF, context.Canceled, engine.ErrStale, engine.ErrInvalid, engine.ErrNotFound, engine.ErrCorrupt,
		fmt.Errorf("%w: %w", engine.ErrAmbiguous, &pgconn.PgError{Code: "57P01"}),
	} {
		if engine.SafeToRetry(err) {
			t.Errorf("%v: not known to be safe", err)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	err := &engine.Error{Op: "Claim", Value: "limit 0", Err: engine.ErrInvalid}
	if got := err.Error(); got != "awa: Claim limit 0: invalid argument" {
		t.Error(got)
	}
	err.Value = ""
	if got := err.Error(); got != "awa: Claim: invalid argument" {
		t.Error(got)
	}
}

// Nobody listens there.
func TestMissingServer(t *testing.T) {
	t.Parallel()
	for what, dsn := range map[string]string{
		"no socket": "host=" + filepath.Join(t.TempDir(), "none") + " user=nobody",
		"no port":   "host=127.0.0.1 port=1 user=nobody",
		"no name":   "host=no-such-host.invalid user=nobody",
	} {
		pool, err := pgxpool.New(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		err = engine.Migrate(t.Context(), pool, engine.Config{})
		wantError(t, err, engine.ErrUnreachable, "Migrate", `"awa"`)
		if !engine.SafeToRetry(err) {
			t.Errorf("%s: nothing was sent: %v", what, err)
		}
		_, err = engine.Open(t.Context(), pool, engine.Config{})
		wantError(t, err, engine.ErrUnreachable, "Open", `"awa"`)
	}
}

// What a server answers that can't serve us is that answer, not "unreachable".
func TestServerThatRefuses(t *testing.T) {
	t.Parallel()
	pool := connect(t, 1, func(cfg *pgxpool.Config) { cfg.ConnConfig.Database = "no_such_database" })
	err := engine.Migrate(t.Context(), pool, engine.Config{})
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "3D000" || errors.Is(err, engine.ErrUnreachable) || engine.SafeToRetry(err) {
		t.Errorf("a database that isn't there: %v", err)
	}
}

// An operation on a server that turns read-only, as after a failover, says so, and may be repeated once it isn't.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.enqueue(t, "q", 1)
	pool := connect(t, 2, func(cfg *pgxpool.Config) {
		cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `SET default_transaction_read_only = on`)
			return err
		}
	})
	e := b.open(t, pool)
	// READ WRITE is stated by each transaction, so that a session's default doesn't matter …
	if _, err := e.Enqueue(t.Context(), jobs("q", 1)[0]); err != nil {
		t.Error(err)
	}
	// … and a caller's own choice is answered by the server.
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // it is aborted
	_, err = e.EnqueueTx(t.Context(), tx, jobs("q", 1)...)
	if !engine.SafeToRetry(err) {
		t.Errorf("a read-only transaction: %v", err)
	}
}

func TestMissingJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Job(t.Context(), 4711)
	wantError(t, err, engine.ErrNotFound, "Job", "4711")
}
