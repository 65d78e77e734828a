package pgtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Server is a running PostgreSQL. Its methods may be called from several
// goroutines; those that act on the process run one after the other.
type Server struct {
	source  Source
	back    backend
	token   uint32 // marks the names of scratch schemas as ours
	startup time.Duration

	process sync.Mutex // held through each fault, so that they don't overlap

	mu      sync.Mutex // guards what follows
	closed  bool
	owned   map[int]func(context.Context) error // what Close gives back first: databases, schemas
	nextOwn int
	schemas int // names of scratch schemas given so far
}

func newServer(source Source, back backend, token uint32, startup time.Duration) *Server {
	return &Server{source: source, back: back, token: token, startup: startup, owned: map[int]func(context.Context) error{}}
}

// closeTimeout bounds what Close gives back on the server.
const closeTimeout = 30 * time.Second

// Describe says in one line which server this is, without a password.
func (s *Server) Describe() string {
	return fmt.Sprintf("PostgreSQL %s, %s", s.source.Version, s.back.describe())
}

// Version is the server's version.
func (s *Server) Version() Version { return s.source.Version }

// Kind tells how the server was had.
func (s *Server) Kind() Kind { return s.source.Kind }

// HasProcess tells whether Stop, Kill, Pause, Resume and Restart work.
func (s *Server) HasProcess() bool { return s.source.HasProcess() }

// StartupTime is how long Start took, from what was found to the first connection.
func (s *Server) StartupTime() time.Duration { return s.startup }

// DSN is the server's address as a superuser: of a private cluster the unix
// socket, otherwise what was given. It stays valid through every restart.
func (s *Server) DSN() string { return s.back.dsn() }

// TCPDSN is the address on 127.0.0.1 of a private cluster, with a password that
// was drawn for it: for clients and proxies that speak TCP only. Otherwise DSN.
func (s *Server) TCPDSN() string { return s.back.tcpDSN() }

// LogTail is the last lines of a private cluster's log, for a failure's report.
func (s *Server) LogTail() string { return s.back.logTail() }

// Running tells whether the server's process lives, paused or not. It is true
// for a server that is reached by DSN.
func (s *Server) Running() bool {
	s.process.Lock()
	defer s.process.Unlock()
	return !s.isClosed() && s.back.running()
}

// Stop is a fast shutdown: open transactions are rolled back, a checkpoint is
// written. A paused server is resumed first; a stopped one is left alone. When
// ctx ends first the server goes on stopping and ctx's error is returned.
func (s *Server) Stop(ctx context.Context) error {
	return s.fault("stop", func() error { return s.back.stop(ctx) })
}

// Kill sends SIGKILL to the postmaster and to every process under it, at once,
// and returns when all of them are gone, so that a restart finds the shared
// memory free. It is bounded by 10 s. Errors: ErrNotRunning, ErrNoProcess.
func (s *Server) Kill() error { return s.fault("kill", s.back.kill) }

// Pause sends SIGSTOP to every process of the server and returns when all stand
// still: connections stay open and nothing answers. Errors: ErrNotRunning, ErrNoProcess.
func (s *Server) Pause() error { return s.fault("pause", s.back.pause) }

// Resume ends a Pause, and does nothing to a server that runs unpaused. Errors:
// ErrNotRunning, ErrNoProcess.
func (s *Server) Resume() error { return s.fault("resume", s.back.resume) }

// Restart starts a server that was stopped or killed, and stops a running one
// first (fast). It returns when the server accepts connections, crash recovery
// included, at the same port and socket. It is bounded by ctx and StartTimeout.
func (s *Server) Restart(ctx context.Context) error {
	return s.fault("restart", func() error { return s.back.restart(ctx) })
}

// Close drops what was made on a server that isn't ours, and removes one that
// is, with its folder. It may be called more than once, and in any state.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	owned := s.owned
	s.owned = nil
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	for _, give := range owned {
		errs = append(errs, give(ctx))
	}
	s.process.Lock()
	defer s.process.Unlock()
	errs = append(errs, s.back.close())
	return errors.Join(errs...)
}

// Pool opens a pool of at most maxConns connections to DSN and makes sure that
// it connects. The caller closes it.
func (s *Server) Pool(ctx context.Context, maxConns int) (*pgxpool.Pool, error) {
	return openPool(ctx, s.DSN(), maxConns)
}

// TestPool is Pool for a test: a failure ends the test, the pool is closed with it.
// A connection that the test didn't give back within 10 s fails it.
func (s *Server) TestPool(t TB, maxConns int) *pgxpool.Pool {
	t.Helper()
	pool, err := s.Pool(t.Context(), maxConns)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() { defer close(closed); pool.Close() }()
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Errorf("pgtest: %d connections of the test's pool were never released", pool.Stat().AcquiredConns())
		}
	})
	return pool
}

func openPool(ctx context.Context, dsn string, maxConns int) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("pgtest: pool: %w", err)
	}
	if maxConns < 1 || maxConns > 10000 {
		return nil, &InputError{"maxConns", fmt.Sprint(maxConns), "isn't between 1 and 10000"}
	}
	cfg.MaxConns = int32(maxConns)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("pgtest: pool: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("pgtest: pool: %w", err)
	}
	return pool, nil
}

// fault runs one act on the process, alone.
func (s *Server) fault(name string, act func() error) error {
	s.process.Lock()
	defer s.process.Unlock()
	if s.isClosed() {
		return fmt.Errorf("pgtest: %s: %w", name, ErrClosed)
	}
	if err := act(); err != nil {
		return fmt.Errorf("pgtest: %s: %w", name, err)
	}
	return nil
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// own has Close call give; the returned function forgets it again.
func (s *Server) own(give func(context.Context) error) (forget func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	id := s.nextOwn
	s.nextOwn++
	s.owned[id] = give
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.owned, id)
	}, nil
}

// nextSchema gives a name for a scratch schema, once.
func (s *Server) nextSchema() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schemas++
	return schemaName(s.token, s.schemas)
}
