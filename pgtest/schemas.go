package pgtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

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
	forget  func() // the server's Close needn't close this any more

	ready   chan result    // what the maker made
	closing chan struct{}  // closed by Close: the maker begins no more
	cut     func()         // ends the maker in the middle of a schema
	maker   sync.WaitGroup // the maker's end

	mu     sync.Mutex      // guards what follows
	made   map[string]bool // schemas that exist, or may; kept only when they are dropped one by one
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
	making, cut := context.WithCancel(context.WithoutCancel(ctx))
	supply := &Schemas{
		server: s, pool: pool, prepare: prepare,
		ready:   make(chan result, ahead-1), // the maker holds one more in its hand
		closing: make(chan struct{}), cut: cut,
		made: map[string]bool{},
	}
	supply.forget, err = s.own(func(context.Context) error { return supply.Close() })
	if err != nil {
		cut()
		pool.Close()
		return nil, fmt.Errorf("pgtest: schemas: %w", err)
	}
	supply.maker.Go(func() { supply.keepMaking(making) })
	return supply, nil
}

// keepMaking is the maker. A failure takes a place like a schema does, so that a
// server that is down isn't asked again before somebody wants a schema.
func (s *Schemas) keepMaking(ctx context.Context) {
	for {
		schema, err := s.create(ctx)
		select {
		case s.ready <- result{schema, err}:
		case <-s.closing:
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
	if s.dropsEach() {
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
	case <-s.closing: // before what is still ready
		return "", nil, fmt.Errorf("pgtest: take a schema: %w", ErrClosed)
	default:
	}
	select {
	case made = <-s.ready:
	case <-s.closing:
		return "", nil, fmt.Errorf("pgtest: take a schema: %w", ErrClosed)
	case <-ctx.Done():
		return "", nil, fmt.Errorf("pgtest: take a schema: %w", ctx.Err())
	}
	if made.err != nil {
		// It may have failed long ago, when the server was down: try now.
		if made.schema, made.err = s.create(ctx); made.err != nil {
			return "", nil, made.err
		}
	}
	return made.schema, func(ctx context.Context) error { return s.drop(ctx, made.schema) }, nil
}

// Close ends the maker and closes the pool. On a server that isn't ours it drops
// every schema that was made and is still there. It may be called more than once.
func (s *Schemas) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.forget()
	close(s.closing)
	// A statement that is cut may still run on the server, and make what we then
	// fail to see: on a server that isn't ours the maker gets time to finish.
	patience := time.Duration(0)
	if s.dropsEach() {
		patience = closeTimeout
	}
	timer := time.AfterFunc(patience, s.cut)
	s.maker.Wait()
	timer.Stop()
	s.cut()
	defer s.pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	s.mu.Lock()
	left := slices.Sorted(maps.Keys(s.made))
	s.mu.Unlock()
	var errs []error
	for _, schema := range left {
		errs = append(errs, s.drop(ctx, schema))
	}
	return errors.Join(errs...)
}

// dropsEach: our own server goes as a whole.
func (s *Schemas) dropsEach() bool { return !s.server.HasProcess() }

func (s *Schemas) create(ctx context.Context) (string, error) {
	schema := s.server.nextSchema()
	if s.dropsEach() {
		s.mu.Lock()
		s.made[schema] = true // before it is: a lost answer doesn't lose the name
		s.mu.Unlock()
	}
	if _, err := s.pool.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
		return "", fmt.Errorf("pgtest: create schema %s: %w", schema, err)
	}
	if s.prepare == nil {
		return schema, nil
	}
	if err := s.prepare(ctx, s.pool, schema); err != nil {
		return "", fmt.Errorf("pgtest: prepare schema %s: %w", schema, err)
	}
	return schema, nil
}

func (s *Schemas) drop(ctx context.Context, schema string) error {
	if _, err := s.pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
		return fmt.Errorf("pgtest: drop schema %s: %w", schema, err)
	}
	s.mu.Lock()
	delete(s.made, schema)
	s.mu.Unlock()
	return nil
}
