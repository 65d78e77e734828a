package engine_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// statements is a tracer that keeps the text of what was sent.
type statements struct {
	mu   sync.Mutex
	sent []string
}

func (s *statements) add(sql string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, sql)
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.add(q.SQL)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, batch pgx.TraceBatchStartData) context.Context {
	for _, q := range batch.Batch.QueuedQueries {
		s.add(q.SQL)
	}
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (s *statements) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = nil
}

// count counts the statements with the text that were sent.
func (s *statements) count(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sql := range s.sent {
		if strings.Contains(sql, text) {
			n++
		}
	}
	return n
}

// contain reports whether a statement with the text was sent.
func (s *statements) contain(text string) bool { return s.count(text) > 0 }

// beforeCommit is a tracer that is called when a COMMIT is about to be sent: everything that the transaction holds, it
// holds then.
type beforeCommit func(*pgx.Conn)

func (f beforeCommit) TraceQueryStart(ctx context.Context, conn *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if q.SQL == "commit" {
		f(conn)
	}
	return ctx
}

func (beforeCommit) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// cancelAt is a tracer that cancels a context when the nth statement or batch begins. Set n and cancel before.
type cancelAt struct {
	n      int64
	begun  atomic.Int64
	cancel context.CancelFunc
}

func (c *cancelAt) count() {
	if c.begun.Add(1) == c.n && c.cancel != nil {
		c.cancel()
	}
}

func (c *cancelAt) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.count()
	return ctx
}

func (c *cancelAt) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.count()
	return ctx
}

func (c *cancelAt) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData)     {}
func (c *cancelAt) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *cancelAt) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
