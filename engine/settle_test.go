package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// A lossy connection breaks at the COMMIT, as told.
type loss int

const (
	loseNothing loss = iota
	loseAnswer       // the server commits, its answer is lost (hazard 18)
	loseCommit       // the COMMIT doesn't get there, and the server sees the connection end
	holdCommit       // the COMMIT doesn't get there, and the server sees nothing: the transaction goes on
)

// A lossyWire makes the connections of a pool lose what it is told to lose, once. It stands between the real client and
// the real server.
type lossyWire struct {
	mu   sync.Mutex
	next loss
	held []net.Conn
}

func (w *lossyWire) lose(what loss) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = what
}

func (w *lossyWire) take() loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := w.next
	w.next = loseNothing
	return what
}

// endHeld ends the connections whose server still waits for a COMMIT.
func (w *lossyWire) endHeld() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.held {
		_ = c.Close() // the client gave it up already
	}
	w.held = nil
}

func (w *lossyWire) pool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	t.Cleanup(w.endHeld)
	return connect(t, 2, func(cfg *pgxpool.Config) {
		set("application_name", t.Name())(cfg)
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &lossyConn{Conn: c, wire: w}, nil
		}
	})
}

type lossyConn struct {
	net.Conn
	wire *lossyWire
	mu   sync.Mutex
	gone bool
}

func (c *lossyConn) Write(b []byte) (int, error) {
	if c.lost() {
		return len(b), nil // pgx says good-bye on a connection that it gives up, which would end the transaction
	}
	if !bytes.Contains(b, []byte("commit\x00")) {
		return c.Conn.Write(b)
	}
	what := c.wire.take()
	if what == loseNothing {
		return c.Conn.Write(b)
	}
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	switch what {
	case loseAnswer:
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
		// The first byte of the answer comes after the commit.
		if _, err := io.ReadFull(c.Conn, make([]byte, 1)); err != nil {
			return 0, err
		}
		return len(b), c.Conn.Close()
	case holdCommit:
		c.wire.mu.Lock()
		c.wire.held = append(c.wire.held, c.Conn)
		c.wire.mu.Unlock()
		return len(b), nil
	default:
		return len(b), c.Conn.Close()
	}
}

func (c *lossyConn) Read(b []byte) (int, error) {
	if c.lost() {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(b)
	if c.lost() {
		return 0, io.EOF
	}
	return n, err
}

func (c *lossyConn) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

func (c *lossyConn) Close() error {
	if c.lost() {
		return nil // a held one stays open until the test ends it
	}
	return c.Conn.Close()
}

// The answer to the COMMIT is lost: the call says that it doesn't know, and Settle finds out.
func TestLostCommitIsSettled(t *testing.T) {
	t.Parallel()
	for what, committed := range map[loss]bool{loseAnswer: true, loseCommit: false} {
		b := setup(t)
		wire := &lossyWire{}
		e := b.open(t, wire.pool(t))
		if err := e.RegisterQueue(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		settle := func(op string, err error) {
			t.Helper()
			wantError(t, err, engine.ErrAmbiguous, op, "transaction ")
			if !engine.Ambiguous(err) || engine.SafeToRetry(err) {
				t.Errorf("%s: nobody knows whether it is safe to repeat: %v", op, err)
			}
			if got, err := e.Settle(t.Context(), err); err != nil || got != committed {
				t.Errorf("%s settles as %v, %v; want %v", op, got, err, committed)
			}
		}

		wire.lose(what)
		_, err := e.Enqueue(t.Context(), jobs("q", 1)[0])
		settle("Enqueue", err)
		wire.lose(what)
		_, err = e.EnqueueMany(t.Context(), jobs("q", 3))
		settle("EnqueueMany", err)
		want := engine.Counts{}
		if committed {
			want.Available = 4
		}
		b.wantCounts(t, "q", want)

		b.enqueue(t, "q", 2)
		n := int(want.Available) + 2
		wire.lose(what)
		_, err = e.Claim(t.Context(), "q", n)
		settle("Claim", err)
		if committed {
			// Open attempts that nobody knows: rescue gives them back.
			if swept, err := b.RescueStale(t.Context(), 0, 10); err != nil || swept.Requeued != 0 {
				t.Errorf("claimed at this moment, yet stale: %+v, %v", swept, err)
			}
			b.clock.advance(time.Second)
			if swept, err := b.RescueStale(t.Context(), 0, 10); err != nil || swept.Requeued != n {
				t.Errorf("rescued %+v, %v, want %d", swept, err, n)
			}
		}

		attempts := b.claim(t, "q", n)
		wire.lose(what)
		_, err = e.Complete(t.Context(), receipts(attempts))
		settle("Complete", err)
		// Repeating a completion is safe whatever became of it.
		results, err := e.Complete(t.Context(), receipts(attempts))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if engine.Stale(r.Err) != committed {
				t.Errorf("committed=%v, and repeated: %v", committed, r.Err)
			}
		}
		b.wantCounts(t, "q", engine.Counts{Completed: int64(n)})
	}
}

// While the server still has the transaction, Settle waits for its end; a cancelled wait says so.
func TestSettleWaitsForTheTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wire := &lossyWire{}
	e := b.open(t, wire.pool(t))
	if err := e.RegisterQueue(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	wire.lose(holdCommit)
	_, lost := e.Enqueue(t.Context(), jobs("q", 1)[0])
	wantError(t, lost, engine.ErrAmbiguous)

	asks := &statements{}
	other := b.open(t, connect(t, 2, func(cfg *pgxpool.Config) { cfg.ConnConfig.Tracer = asks }))
	type answer struct {
		committed bool
		err       error
	}
	answers := make(chan answer)
	// settle asks, and returns when Settle has asked the server for the second time.
	settle := func(ctx context.Context) {
		t.Helper()
		asks.reset()
		go func() {
			committed, err := other.Settle(ctx, lost)
			answers <- answer{committed, err}
		}()
		for asks.count("awa:Settle") < 2 {
			select {
			case a := <-answers:
				t.Fatalf("the transaction is open, but Settle answers %+v", a)
			case <-time.After(time.Millisecond):
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	settle(ctx)
	cancel()
	if a := <-answers; !errors.Is(a.err, context.Canceled) || a.committed {
		t.Errorf("a cancelled wait answers %+v", a)
	}

	settle(t.Context())
	wire.endHeld()
	if a := <-answers; a.err != nil || a.committed {
		t.Errorf("the transaction was aborted, but Settle answers %+v", a)
	}
	b.wantCounts(t, "q", engine.Counts{})
}

func TestSettleOfWhatIsKnown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, err := range []error{nil, io.EOF, engine.ErrStale, engine.ErrAmbiguous, &engine.Error{Op: "Claim", Err: engine.ErrBusy}} {
		_, got := b.Settle(t.Context(), err)
		wantError(t, got, engine.ErrInvalid, "Settle")
	}
}
