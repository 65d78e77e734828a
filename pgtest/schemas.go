package pgtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
)

// TB is what this package needs of a test: *testing.T, *testing.B and
// *rapid.T have it.
type TB interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Prepare fills a schema that exists and is empty. It may use several of pool's
// four connections.
type Prepare func(ctx context.Context, pool *pgxpool.Pool, schema string) error

// Schemas is a supply of fresh schemas. One goroutine of its own keeps some of
// them ready, so that taking one is a matter of microseconds. Its methods may be
// called from several goroutines.
type Schemas struct {
	server  *Server
	pool    *pgxpool.Pool
	prepare Prepare
	forget  func()

	ready  chan result    // what the maker made
	cancel func()         // ends the maker
	done   sync.WaitGroup // the maker's end

	mu     sync.Mutex // guards what follows
	count  int        // names given so far
	closed bool
}

type result struct {
	schema string
	err    error
}

// NewSchemas opens a pool of four connections and begins to prepare: ahead
// schemas (1 to 100) are kept ready. A nil prepare leaves them empty. Names are
// lower-case identifiers, unique on the server. Close ends it, and so does the server's Close.
func (s *Server) NewSchemas(ctx context.Context, prepare Prepare, ahead int) (*Schemas, error) {
	if ahead < 1 || ahead > 100 {
		return nil, &InputError{"ahead", strconv.Itoa(ahead), "isn't between 1 and 100"}
	}
	pool, err := s.Pool(ctx, 4)
	if err != nil {
		return nil, err
	}
	making, cancel := context.WithCancel(context.WithoutCancel(ctx))
	// One less in the channel: the maker holds one more in its hand.
	supply := &Schemas{server: s, pool: pool, prepare: prepare, ready: make(chan result, ahead-1), cancel: cancel}
	forget, err := s.own(func(context.Context) error { return supply.Close() })
	if err != nil {
		cancel()
		pool.Close()
		return nil, err
	}
	supply.forget = forget
	supply.done.Go(func() { supply.keepMaking(making) })
	return supply, nil
}

// keepMaking is the maker. A failure takes a place like a schema does, so that a
// server that is down isn't asked again before somebody wants a schema.
func (s *Schemas) keepMaking(ctx context.Context) {
	for ctx.Err() == nil {
		schema, err := s.create(ctx)
		select {
		case s.ready <- result{schema, err}:
		case <-ctx.Done():
			return
		}
	}
}

// Get takes a schema for a test. On a server that isn't ours it is dropped when
// the test ends; on our own it goes with the server. A failure ends the test.
func (s *Schemas) Get(t TB) string {
	t.Helper()
	schema, drop, err := s.Take(t.Context())
	if err != nil {
		t.Fatalf("%v", err)
	}
	if s.server.Kind() == KindDSN {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			if err := drop(ctx); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	return schema
}

// Take is Get outside of a test: drop drops the schema with all that is in it.
// A schema that isn't dropped goes with Close.
func (s *Schemas) Take(ctx context.Context) (schema string, drop func(context.Context) error, err error) {
	var made result
	select {
	case made = <-s.ready:
	case <-ctx.Done():
		return "", nil, fmt.Errorf("pgtest: take a schema: %w", ctx.Err())
	}
	if made.err != nil {
		// It may have failed long ago, when the server was down: try now.
		if made.schema, made.err = s.create(ctx); made.err != nil {
			return "", nil, made.err
		}
	}
	drop = func(ctx context.Context) error { return dropSchema(ctx, s.pool, made.schema) }
	return made.schema, drop, nil
}

// Close ends the maker and closes the pool. On a server that isn't ours it drops
// every schema that was made. It may be called more than once.
func (s *Schemas) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.forget()
	s.cancel()
	s.done.Wait()
	s.pool.Close()
	return nil
}

func (s *Schemas) create(ctx context.Context) (string, error) {
	return "", errors.New("pgtest: not built yet")
}

func dropSchema(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	if _, err := pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
		return fmt.Errorf("pgtest: drop schema %s: %w", schema, err)
	}
	return nil
}
