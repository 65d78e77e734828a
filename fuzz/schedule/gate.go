package schedule

import (
	"net"
	"sync"
	"sync/atomic"
)

// A gate is a connection of one session whose statements wait for the scheduler. It is a net.Conn between the driver and
// the socket: what the driver writes is cut into statements and queued; a pump sends them on one by one, each when it
// was let go and the one before it was answered.
type gate struct {
	net.Conn
	session *session
	pid     atomic.Int32 // the server process, once the driver told

	// Used by the driver's goroutine alone.
	cut splitter

	seen     sync.Mutex
	follow   answers
	started  atomic.Bool // the server has said that it is ready for the first query
	answered chan byte   // how the statement in flight was answered; room for one

	queue  chan unit
	closed chan struct{}
	once   sync.Once
	pumped sync.WaitGroup

	known map[string]bool // texts that were prepared, used by the pump alone

	tx transaction // of the statements let go, for their footprints
}

// queueRoom is more than the longest pipeline of the engine has.
const queueRoom = 256

func newGate(conn net.Conn, s *session) *gate {
	g := &gate{Conn: conn, session: s, answered: make(chan byte, 1), queue: make(chan unit, queueRoom), known: map[string]bool{}, closed: make(chan struct{})}
	g.pumped.Go(g.pump)
	return g
}

// Write takes the driver's bytes. It doesn't wait for the gate: the driver has to go on to read the answers.
func (g *gate) Write(p []byte) (int, error) {
	if !g.started.Load() {
		return g.Conn.Write(p)
	}
	units, err := g.cut.split(p)
	if err != nil {
		return 0, err
	}
	for _, u := range units {
		select {
		case g.queue <- u:
		case <-g.closed:
			return 0, net.ErrClosed
		}
	}
	return len(p), nil
}

// Read passes the server's bytes on and follows them.
func (g *gate) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	g.seen.Lock()
	defer g.seen.Unlock()
	for _, t := range g.follow.see(p[:n]) {
		switch t {
		case 'Z':
			g.started.Store(true)
			g.answer(t)
		case 'C', 'E', 'I', 's', 'G':
			g.answer(t)
		}
	}
	return n, err
}

// answer keeps the newest answer; the pump takes it when it waits for one.
func (g *gate) answer(t byte) {
	for {
		select {
		case g.answered <- t:
			return
		default:
		}
		select {
		case <-g.answered:
		default:
		}
	}
}

// Close ends the pump, too.
func (g *gate) Close() error {
	g.once.Do(func() { close(g.closed) })
	err := g.Conn.Close()
	g.pumped.Wait()
	return err
}

// pump sends units until the connection is closed.
func (g *gate) pump() {
	skipping := false // an error in the pipeline: the server ignores everything up to Sync
	for {
		var u unit
		select {
		case u = <-g.queue:
		case <-g.closed:
			return
		}
		switch {
		case u.kind == transparent, u.kind == synchronise, skipping:
			g.describe(u.described)
			if _, err := g.Conn.Write(u.raw); err != nil {
				return // the driver's Read meets it, too
			}
			skipping = skipping && u.kind != synchronise
		default:
			last, ok := g.statement(u)
			if !ok {
				return
			}
			skipping = u.kind == extended && last == 'E'
		}
	}
}

// describe tells the session of texts that this connection prepares for the first time. (The driver prepares some again
// that ended in an error.)
func (g *gate) describe(texts []string) {
	for _, text := range texts {
		if !g.known[text] {
			g.known[text] = true
			g.session.prepares()
		}
	}
}

// statement sends one statement when it may go, and waits for its answer.
func (g *gate) statement(u unit) (last byte, ok bool) {
	if !g.session.await(g, u) {
		return 0, false
	}
	select {
	case <-g.answered: // what came before is history
	default:
	}
	raw := u.raw
	if u.kind == extended {
		raw = append(raw, flushMessage...)
	}
	if _, err := g.Conn.Write(raw); err != nil {
		return 0, false
	}
	for {
		select {
		case t := <-g.answered:
			if u.kind == extended && t != 'Z' || t == 'Z' || t == 'G' {
				return t, true
			}
		case <-g.closed:
			return 0, false
		}
	}
}
