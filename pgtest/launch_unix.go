//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Ports are drawn below those that systems give to outgoing connections, so that
// a stopped server's port is still free when it comes back.
const (
	firstPort = 20000
	lastPort  = 31999
)

// startFirst starts the server for the first time, on a port that was free a moment
// ago; when somebody was faster it draws another.
func (c *cluster) startFirst(ctx context.Context) error {
	if err := c.write(filepath.Join(c.data(), "pg_hba.conf"), hostRules); err != nil {
		return &StartError{What: "write pg_hba.conf", Err: err}
	}
	var lost error
	for range 20 {
		port, err := freePort()
		if err != nil {
			return &StartError{What: "find a port", Err: err}
		}
		c.port = port
		conf := configFile(c.opts, c.dir, port)
		if err := c.write(filepath.Join(c.data(), "postgresql.conf"), conf); err != nil {
			return &StartError{What: "write postgresql.conf", Err: err}
		}
		err = c.launch(ctx)
		if err == nil || !portLost(err) {
			return err
		}
		lost = err
	}
	return lost
}

func freePort() (int, error) {
	var err error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("100 ports of 127.0.0.1 between %d and %d, and none is free: %w", firstPort, lastPort, err)
}

// startAgain starts it at its old port. What a killed server held may take a
// moment to come free; ctx bounds the wait.
func (c *cluster) startAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.StartTimeout)
	defer cancel()
	var held error
	err := poll(ctx, 100*time.Millisecond, func() (bool, error) {
		err := c.launch(ctx)
		if err != nil && (portLost(err) || memoryHeld(err)) {
			held = err
			return false, nil
		}
		return true, err
	})
	if err != nil && ctx.Err() != nil {
		return errors.Join(err, held)
	}
	return err
}

// launch starts a postmaster and waits until it takes connections.
func (c *cluster) launch(ctx context.Context) error {
	log, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return &StartError{What: "open the log", Err: err}
	}
	defer func() { _ = log.Close() }() // the server has its own
	info, err := log.Stat()
	if err != nil {
		return &StartError{What: "open the log", Err: err}
	}
	if err := c.dog.starting(); err != nil {
		return &StartError{What: "postgres", Err: err}
	}
	cmd := c.command("postgres", "-D", c.data())
	cmd.Stdout, cmd.Stderr = log, log
	c.paused = false
	proc, err := startProcess(cmd)
	if err != nil {
		return &StartError{What: "postgres", Err: err}
	}
	c.proc = proc
	err = c.dog.running(proc.pid())
	if err == nil {
		err = c.awaitReady(ctx)
	}
	if err != nil {
		err = errors.Join(err, c.endNow())
		return &StartError{What: "postgres", Log: tail(c.logPath(), info.Size(), startLogLines), Err: err}
	}
	return nil
}

// awaitReady waits until the server says that it is ready, and then connects.
func (c *cluster) awaitReady(ctx context.Context) error {
	var last error
	err := poll(ctx, 5*time.Millisecond, func() (bool, error) {
		if !c.proc.running() {
			return false, fmt.Errorf("ended while starting: %v", c.proc.cmd.ProcessState)
		}
		if file := c.readLockFile(); file.pid != c.proc.pid() || file.status != "ready" {
			return false, nil
		}
		conn, err := connectWithin(ctx, c.dsn(), 5*time.Second)
		if err != nil {
			last = err
			return false, nil
		}
		return true, conn.Close(ctx)
	})
	if err != nil && last != nil {
		err = fmt.Errorf("%w (last attempt: %v)", err, last)
	}
	return err
}

// lockFile is what postmaster.pid says: the first line, the second word of the
// seventh, the eighth. A server that ended by itself has removed it, one that
// was killed has not. What isn't there is zero.
type lockFile struct {
	pid     int
	segment int    // of System V shared memory
	status  string // starting, ready, stopping, standby
}

func (c *cluster) readLockFile() lockFile {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return lockFile{}
	}
	lines := append(strings.Split(string(text), "\n"), make([]string, 8)...)
	var file lockFile
	file.pid, _ = strconv.Atoi(lines[0]) // half written: zero
	if words := strings.Fields(lines[6]); len(words) == 2 {
		file.segment, _ = strconv.Atoi(words[1]) // half written: wrong, and the status is missing
	}
	file.status = strings.TrimSpace(lines[7])
	return file
}

const (
	startLogLines = 20
	tailLogLines  = 40
)

func (c *cluster) logTail() string { return tail(c.logPath(), 0, tailLogLines) }

// tail is the last lines of a file from an offset on, of at most 16 KB; "" when it can't be read.
func tail(path string, from int64, lines int) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	from = max(from, info.Size()-16<<10)
	text := make([]byte, max(0, info.Size()-from))
	n, _ := file.ReadAt(text, from) // a short read is still a tail
	all := strings.Split(strings.TrimRight(string(text[:n]), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// The server says why it didn't start only in its log, which is in English.

func portLost(err error) bool {
	return logSays(err, "Address already in use") || logSays(err, "could not create any TCP/IP sockets")
}

func memoryHeld(err error) bool {
	return logSays(err, "is still in use") || logSays(err, `lock file "postmaster.pid" already exists`)
}

func logSays(err error, text string) bool {
	start, ok := errors.AsType[*StartError](err)
	return ok && strings.Contains(start.Log, text)
}
