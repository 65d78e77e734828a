package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A sample is what the server's statistics say at one moment, and how far the load was.
type sample struct {
	at      time.Duration // since the load began
	closed  int64         // attempts, so far
	handed  int64
	buffers int64 // read or hit by the statements of Claim, so far; -1 where the server doesn't count them
	dead    int64 // tuples in the schema
	catalog int64 // dead tuples in the server's own tables
	sizes   map[string]int64
}

// watcher reads statistics by a connection of its own.
type watcher struct {
	schema  string
	pool    *pgxpool.Pool
	buffers bool
}

// openWatcher finds out whether the server counts buffers by statement.
func openWatcher(ctx context.Context, pool *pgxpool.Pool, schema string) (*watcher, error) {
	w := &watcher{schema: schema, pool: pool}
	var loaded string
	if err := pool.QueryRow(ctx, "SHOW shared_preload_libraries").Scan(&loaded); err != nil {
		return nil, err
	}
	if w.buffers = strings.Contains(loaded, statistics); w.buffers {
		_, err := pool.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS "+statistics)
		return w, err
	}
	return w, nil
}

// statistics is the library that counts buffers by statement.
const statistics = "pg_stat_statements"

func (w *watcher) look(ctx context.Context) (s sample, err error) {
	s.buffers = -1
	if w.buffers {
		if err = w.pool.QueryRow(ctx, `SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint FROM pg_stat_statements
			WHERE query LIKE '%awa:Claim *%'`).Scan(&s.buffers); err != nil {
			return s, err
		}
	}
	err = w.pool.QueryRow(ctx, `SELECT coalesce(sum(n_dead_tup) FILTER (WHERE schemaname = $1), 0)::bigint,
			coalesce(sum(n_dead_tup) FILTER (WHERE schemaname = 'pg_catalog'), 0)::bigint FROM pg_stat_all_tables`, w.schema).Scan(&s.dead, &s.catalog)
	if err != nil {
		return s, err
	}
	s.sizes, err = w.sizes(ctx)
	return s, err
}

// sizes are the bytes of each table, a partitioned one with its children, indexes included.
func (w *watcher) sizes(ctx context.Context) (map[string]int64, error) {
	rows, err := w.pool.Query(ctx, `SELECT coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint
		  FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
		 WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r' GROUP BY 1`, pgx.Identifier{w.schema}.Sanitize())
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	var name string
	var bytes int64
	_, err = pgx.ForEachRow(rows, []any{&name, &bytes}, func() error { sizes[name] = bytes; return nil })
	return sizes, err
}

// churn is how many rows of ring children were updated or deleted, by table, and how often sessions deadlocked. It is asked
// when the sessions of the load are gone: until then some keep what they have counted to themselves.
func (w *watcher) churn(ctx context.Context) (rows map[string]int64, deadlocks int64, err error) {
	found, err := w.pool.Query(ctx, `SELECT p.relname, sum(s.n_tup_upd + s.n_tup_del)::bigint
		  FROM pg_stat_user_tables s JOIN pg_inherits i ON i.inhrelid = s.relid JOIN pg_class p ON p.oid = i.inhparent
		 WHERE s.schemaname = $1 GROUP BY 1`, w.schema)
	if err != nil {
		return nil, 0, err
	}
	rows = map[string]int64{}
	var name string
	var n int64
	if _, err = pgx.ForEachRow(found, []any{&name, &n}, func() error { rows[name] = n; return nil }); err != nil {
		return nil, 0, err
	}
	err = w.pool.QueryRow(ctx, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks)
	return rows, deadlocks, err
}

// pin opens a transaction whose snapshot nothing ends but close. It takes no lock on any table of ours.
func pin(ctx context.Context, dsn string) (release func(context.Context) error, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"); err != nil {
		return nil, errors.Join(fmt.Errorf("pin a snapshot: %w", err), conn.Close(context.WithoutCancel(ctx)))
	}
	return conn.Close, nil
}
