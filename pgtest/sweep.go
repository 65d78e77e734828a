package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A scratch schema is called awa_t_<token>_<number>. The token is drawn for each
// Server. On a server that isn't ours a session holds an advisory lock on the
// token for as long as the Server lives: a token whose lock is free belongs to a
// process that ended without Close, and the next one sweeps its schemas away.

// lockClass is the first key of the advisory locks on tokens ("awat").
const lockClass = 0x61776174

// newToken draws a token.
func newToken() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return binary.BigEndian.Uint32(b[:])
}

func schemaName(token uint32, number int) string {
	return fmt.Sprintf("awa_t_%08x_%d", token, number)
}

// claimToken takes the lock on our token and drops what dead processes left in
// this database. conn has to reach the server directly: a pooler that gives the
// session to others would break the lock's meaning.
func claimToken(ctx context.Context, conn *pgx.Conn, token uint32) error {
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", int32(lockClass), int32(token)); err != nil {
		return fmt.Errorf("pgtest: lock the scratch names: %w", err)
	}
	rows, err := conn.Query(ctx, `
		SELECT nspname, ('x' || substr(nspname, 7, 8))::bit(32)::int
		  FROM pg_namespace
		 WHERE nspname ~ '^awa_t_[0-9a-f]{8}_[0-9]+$' AND pg_has_role(nspowner, 'USAGE')
		 ORDER BY nspname`)
	if err != nil {
		return fmt.Errorf("pgtest: look for old scratch schemas: %w", err)
	}
	type scratch struct {
		Name  string
		Token int32
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[scratch])
	if err != nil {
		return fmt.Errorf("pgtest: look for old scratch schemas: %w", err)
	}
	for _, s := range found {
		if s.Token == int32(token) {
			continue // our own lock is free to us: the number was drawn twice
		}
		var dead bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", int32(lockClass), s.Token).Scan(&dead); err != nil {
			return fmt.Errorf("pgtest: sweep %s: %w", s.Name, err)
		}
		if !dead {
			continue
		}
		_, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+s.Name+" CASCADE")
		if _, unlockErr := conn.Exec(ctx, "SELECT pg_advisory_unlock($1, $2)", int32(lockClass), s.Token); unlockErr != nil {
			return fmt.Errorf("pgtest: sweep %s: %w", s.Name, unlockErr)
		}
		if err != nil {
			return fmt.Errorf("pgtest: sweep %s: %w", s.Name, err)
		}
	}
	return nil
}
