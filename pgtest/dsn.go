package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// connectTimeout bounds one attempt to reach the server of a DSN.
const connectTimeout = 10 * time.Second

// findDSN connects to the server that a DSN names, once, to learn its version.
func findDSN(ctx context.Context, opts Options) (*Source, []string, error) {
	if opts.Local {
		return nil, []string{"a DSN: not asked (Options.Local)"}, nil
	}
	dsn, from := opts.DSN, "Options.DSN"
	if dsn == "" {
		dsn, from = os.Getenv(EnvDSN), EnvDSN
	}
	if dsn == "" {
		return nil, []string{"Options.DSN and " + EnvDSN + ": empty"}, nil
	}
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		// pgx leaves the password out of this error's text.
		return nil, nil, &UnreachableError{Server: "a DSN that can't be read", From: from, Err: err}
	}
	name := fmt.Sprintf("%s:%d, database %s, user %s", cfg.Host, cfg.Port, cfg.Database, cfg.User)
	conn, err := connectWithin(ctx, dsn, connectTimeout)
	if err != nil {
		return nil, nil, &UnreachableError{Server: name, From: from, Err: err}
	}
	version, err := serverVersion(ctx, conn)
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return nil, nil, &UnreachableError{Server: name, From: from, Err: err}
	}
	if version.Major() < MinMajor {
		return nil, nil, fmt.Errorf("pgtest: %w: %s (from %s) is %s; %d or later is needed",
			ErrTooOld, name, from, version, MinMajor)
	}
	if opts.Major != 0 && version.Major() != opts.Major {
		return nil, []string{fmt.Sprintf("%s (from %s): PostgreSQL %s, and %d was asked for", name, from, version, opts.Major)}, nil
	}
	where := fmt.Sprintf("a running server at %s (from %s)", name, from)
	return &Source{
		Kind: KindDSN, Version: version, where: where,
		open: func(ctx context.Context, token uint32) (backend, error) {
			lock, err := connectWithin(ctx, dsn, connectTimeout)
			if err != nil {
				return nil, &UnreachableError{Server: name, From: from, Err: err}
			}
			if err := claimToken(ctx, lock, token); err != nil {
				return nil, errors.Join(err, lock.Close(ctx))
			}
			return &remote{address: dsn, where: where, lock: lock}, nil
		},
	}, nil, nil
}

// remote is a server that somebody else runs.
type remote struct {
	address string
	where   string
	lock    *pgx.Conn // its session holds the lock on our scratch names; see sweep.go
}

func (r *remote) describe() string              { return r.where }
func (r *remote) dsn() string                   { return r.address }
func (r *remote) tcpDSN() string                { return r.address }
func (r *remote) logTail() string               { return "" }
func (r *remote) running() bool                 { return true }
func (r *remote) stop(context.Context) error    { return ErrNoProcess }
func (r *remote) kill() error                   { return ErrNoProcess }
func (r *remote) pause() error                  { return ErrNoProcess }
func (r *remote) resume() error                 { return ErrNoProcess }
func (r *remote) restart(context.Context) error { return ErrNoProcess }

func (r *remote) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return r.lock.Close(ctx)
}

// connectWithin makes one attempt.
func connectWithin(ctx context.Context, dsn string, bound time.Duration) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return pgx.Connect(ctx, dsn)
}

func serverVersion(ctx context.Context, conn *pgx.Conn) (Version, error) {
	var text string
	if err := conn.QueryRow(ctx, "SHOW server_version_num").Scan(&text); err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("server_version_num: %w", err)
	}
	return Version(number), nil
}
