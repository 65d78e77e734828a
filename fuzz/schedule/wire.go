package schedule

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A unit is what the gate forwards at once: a statement, or messages that are none.
type unit struct {
	kind unitKind
	raw  []byte
	sql  string
	args [][]byte // as they stand in Bind; nil is null

	described []string // texts that were prepared, and not run yet
}

type unitKind int

const (
	transparent unitKind = iota // descriptions, COPY data, termination: no statement
	extended                    // Parse, Bind, Describe, Execute; answered by CommandComplete or an error
	simple                      // Query; answered by ReadyForQuery
	synchronise                 // Sync: the end of a pipeline, and of what an error in it skips
)

// splitter cuts the client's bytes into units. The zero value is ready to use after the startup.
type splitter struct {
	rest  []byte // an unfinished message
	group []byte // messages of an unfinished unit
	sql   string
	args  [][]byte
	named map[string]string // texts of prepared statements

	described []string // in this group
}

// split returns the units that became complete with these bytes.
func (s *splitter) split(p []byte) ([]unit, error) {
	s.rest = append(s.rest, p...)
	var units []unit
	for len(s.rest) >= 5 {
		n := 1 + int(binary.BigEndian.Uint32(s.rest[1:5]))
		if n < 5 {
			return nil, fmt.Errorf("a message of type %q has length %d", s.rest[0], n-1)
		}
		if len(s.rest) < n {
			break
		}
		message := bytes.Clone(s.rest[:n])
		s.rest = s.rest[n:]
		u, err := s.message(message)
		if err != nil {
			return nil, err
		}
		units = append(units, u...)
	}
	return units, nil
}

// message takes one frontend message. Parse and Bind belong to the Execute that follows; a Parse that Sync follows was
// only for a description.
func (s *splitter) message(m []byte) ([]unit, error) {
	body := m[5:]
	switch m[0] {
	case 'P':
		name, rest, ok := cutString(body)
		sql, _, ok2 := cutString(rest)
		if !ok || !ok2 {
			return nil, fmt.Errorf("a Parse message without its strings")
		}
		s.sql = sql
		if s.named == nil {
			s.named = map[string]string{}
		}
		s.named[name] = sql // also the unnamed one's
		s.described = append(s.described, sql)
	case 'B':
		name, args, err := bindArguments(body)
		if err != nil {
			return nil, err
		}
		s.sql, s.args = s.named[name], args
	case 'E':
		u := unit{kind: extended, raw: append(s.group, m...), sql: s.sql, args: s.args}
		s.forget()
		return []unit{u}, nil
	case 'S', 'H':
		kind := transparent
		if m[0] == 'S' {
			kind = synchronise
		}
		u := unit{kind: kind, raw: append(s.group, m...), described: s.described}
		s.forget()
		return []unit{u}, nil
	case 'Q':
		sql, _, ok := cutString(body)
		if !ok {
			return nil, fmt.Errorf("a Query message without its string")
		}
		kind := simple
		if sql == pingText {
			kind = transparent
		}
		return []unit{{kind: kind, raw: m, sql: sql}}, nil
	case 'D', 'C':
		// Describe and Close go with their group.
	default:
		return []unit{{kind: transparent, raw: m}}, nil
	}
	s.group = append(s.group, m...)
	return nil, nil
}

// pingText is what the pool sends to see whether an idle connection lives.
const pingText = "-- ping"

func (s *splitter) forget() { s.group, s.sql, s.args, s.described = nil, "", nil, nil }

func cutString(b []byte) (string, []byte, bool) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return "", nil, false
	}
	return string(b[:i]), b[i+1:], true
}

// bindArguments reads the name of the prepared statement and the parameter values of a Bind message.
func bindArguments(b []byte) (statement string, args [][]byte, err error) {
	short := fmt.Errorf("a Bind message ends early")
	_, b, ok := cutString(b)
	if !ok {
		return "", nil, short
	}
	statement, b, ok = cutString(b)
	if !ok || len(b) < 2 {
		return "", nil, short
	}
	formats := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	if len(b) < 2*formats+2 {
		return "", nil, short
	}
	b = b[2*formats:]
	args = make([][]byte, int(binary.BigEndian.Uint16(b)))
	b = b[2:]
	for i := range args {
		if len(b) < 4 {
			return "", nil, short
		}
		n := int(int32(binary.BigEndian.Uint32(b)))
		b = b[4:]
		if n < 0 {
			continue
		}
		if len(b) < n {
			return "", nil, short
		}
		args[i], b = bytes.Clone(b[:n]), b[n:]
	}
	return statement, args, nil
}

// flushMessage asks the server to answer what it has so far; the client sees nothing of it.
var flushMessage = []byte{'H', 0, 0, 0, 4}

// answers follows the server's bytes and tells when a statement was answered.
type answers struct {
	header []byte // of an unfinished message
	skip   int    // bytes of its body still to come
}

// see returns the types of the messages whose headers these bytes complete. A message may arrive in pieces; its type is
// told with its last byte.
func (a *answers) see(p []byte) (types []byte) {
	for len(p) > 0 {
		if len(a.header) < 5 {
			n := min(5-len(a.header), len(p))
			a.header = append(a.header, p[:n]...)
			p = p[n:]
			if len(a.header) < 5 {
				return types
			}
			a.skip = int(binary.BigEndian.Uint32(a.header[1:])) - 4
		}
		n := min(a.skip, len(p))
		a.skip -= n
		p = p[n:]
		if a.skip == 0 {
			types = append(types, a.header[0])
			a.header = a.header[:0]
		}
	}
	return types
}
