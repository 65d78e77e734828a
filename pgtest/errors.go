package pgtest

import (
	"errors"
	"fmt"
	"strings"
)

// The errors that callers tell apart, with errors.Is.
var (
	// ErrNoServer: neither a DSN nor usable binaries. The error is a *NoServerError.
	ErrNoServer = errors.New("no PostgreSQL found")
	// ErrUnreachable: the DSN that was given can't be connected to. The error is an *UnreachableError.
	ErrUnreachable = errors.New("PostgreSQL can't be reached")
	// ErrTooOld: the server that the DSN names is older than MinMajor.
	ErrTooOld = errors.New("PostgreSQL is too old")
	// ErrStart: a private cluster didn't come up. The error is a *StartError.
	ErrStart = errors.New("PostgreSQL didn't start")
	// ErrNoProcess: a fault that needs the server's process was asked of a server that is reached by DSN.
	ErrNoProcess = errors.New("the server's process isn't ours: this needs a private cluster (Options.Local)")
	// ErrNotRunning: the server is stopped, killed, or ended by itself.
	ErrNotRunning = errors.New("the server isn't running")
	// ErrClosed: the server, or the pool of schemas, was closed.
	ErrClosed = errors.New("closed")
)

// NoServerError lists where a server was looked for, and how to get one.
type NoServerError struct {
	// Looked has one line for each place: the place and why nothing there will do.
	Looked []string
}

// Error names every place that was looked at and says what to install.
func (e *NoServerError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pgtest: %v (%d or later is needed); looked at:\n", ErrNoServer, MinMajor)
	for _, place := range e.Looked {
		b.WriteString("  - " + place + "\n")
	}
	b.WriteString("install one: apt-get install postgresql (Debian, Ubuntu), dnf install postgresql-server (Fedora), " +
		"brew install postgresql@17 (macOS); or name a running one in " + EnvDSN)
	return b.String()
}

// Is makes errors.Is(err, ErrNoServer) true.
func (e *NoServerError) Is(target error) bool { return target == ErrNoServer }

// UnreachableError says which server wasn't reached, without its password.
type UnreachableError struct {
	Server string // host, port, database and user
	From   string // where the DSN came from: "Options.DSN" or EnvDSN
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("pgtest: %v: %s (from %s): %v", ErrUnreachable, e.Server, e.From, e.Err)
}

// Unwrap gives the error of the attempt to connect.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrUnreachable) true.
func (e *UnreachableError) Is(target error) bool { return target == ErrUnreachable }

// StartError says why a private cluster didn't come up.
type StartError struct {
	What string // the step: "initdb", "postgres", …
	Log  string // the last lines of that step's log
	Err  error
}

func (e *StartError) Error() string {
	text := fmt.Sprintf("pgtest: %v: %s: %v", ErrStart, e.What, e.Err)
	if e.Log != "" {
		text += "\n" + e.Log
	}
	return text
}

// Unwrap gives the step's own error.
func (e *StartError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrStart) true.
func (e *StartError) Is(target error) bool { return target == ErrStart }

// InputError names a value that was refused before anything was started or written.
type InputError struct {
	Name   string // the option or parameter
	Value  string
	Reason string
}

func (e *InputError) Error() string {
	return fmt.Sprintf("pgtest: %s: %q: %s", e.Name, e.Value, e.Reason)
}
