package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// NewDatabase makes an empty database. name is a lower-case identifier of at most 63
// bytes. dsn reaches it as DSN reaches the server's own database. drop removes
// it, ending the sessions in it; it may be called more than once. What isn't dropped
// by then goes with Close. The role of a DSN needs CREATEDB.
func (s *Server) NewDatabase(ctx context.Context, name string) (dsn string, drop func(context.Context) error, err error) {
	if !identifier.MatchString(name) {
		return "", nil, &InputError{"database name", name, "isn't a lower-case identifier of 1 to 63 bytes"}
	}
	if dsn, err = withDatabase(s.DSN(), name); err != nil {
		return "", nil, err
	}
	if err := s.exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, fmt.Errorf("pgtest: create database %s: %w", name, err)
	}
	remove := func(ctx context.Context) error {
		if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("pgtest: drop database %s: %w", name, err)
		}
		return nil
	}
	if s.HasProcess() {
		return dsn, remove, nil // it goes with the cluster
	}
	forget, err := s.own(remove)
	if err != nil {
		return "", nil, errors.Join(err, remove(ctx))
	}
	var once sync.Once
	return dsn, func(ctx context.Context) error {
		err := remove(ctx)
		if err == nil {
			once.Do(forget)
		}
		return err
	}, nil
}

// exec runs one statement on a connection of its own.
func (s *Server) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// withDatabase is dsn with another database in it; in keywords the last one wins.
func withDatabase(dsn, name string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + name, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("pgtest: the DSN isn't a URL: %w", errors.Unwrap(err))
	}
	query := u.Query()
	query.Del("dbname")
	query.Del("database")
	u.RawQuery = query.Encode()
	u.Path = "/" + name
	return u.String(), nil
}
