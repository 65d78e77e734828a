package linearizability

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
)

// A cut loses a connection around a COMMIT: the one moment at which a client can't know what became of its work.
type cut int32

const (
	cutNone   cut = iota
	cutBefore     // the COMMIT never reaches the server
	cutAfter      // it does, and its answer is lost
)

var errCut = errors.New("the connection was cut")

// A cutter makes the connections of one process and cuts the next COMMIT when it is told to.
type cutter struct {
	armed  atomic.Int32
	dialer net.Dialer
}

func (k *cutter) arm(c cut) { k.armed.Store(int32(c)) }

func (k *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := k.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, by: k}, nil
}

type cutConn struct {
	net.Conn
	by *cutter
}

// Write cuts where a message with nothing but COMMIT begins. What was written before the connection closes, the server
// still reads.
func (c *cutConn) Write(b []byte) (int, error) {
	if !isCommit(b) {
		return c.Conn.Write(b)
	}
	switch cut(c.by.armed.Swap(int32(cutNone))) {
	case cutBefore:
		return 0, errors.Join(errCut, c.Close())
	case cutAfter:
		n, err := c.Conn.Write(b)
		return n, errors.Join(err, c.Close())
	}
	return c.Conn.Write(b)
}

// isCommit knows a simple query by its first byte and its text, which ends in a zero.
func isCommit(b []byte) bool {
	const head = 5 // the kind and the length
	return len(b) > head && b[0] == 'Q' && strings.EqualFold(string(b[head:]), "commit\x00")
}
