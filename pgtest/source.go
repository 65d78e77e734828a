package pgtest

import (
	"context"
	"fmt"
	"time"
)

// Kind is the way in which a server is had.
type Kind string

// The kinds, in the order in which they are tried.
const (
	KindDSN   Kind = "dsn"   // a running server that somebody else owns
	KindLocal Kind = "local" // a private cluster made from binaries on this machine
	// KindContainer is a container of ours, by Docker.
	KindContainer Kind = "container"
	// KindDownload is a private cluster made from downloaded binaries.
	KindDownload Kind = "download"
)

// Version is PostgreSQL's server_version_num: 150013 is 15.13.
type Version int

// Major is 15 for 15.13.
func (v Version) Major() int { return int(v) / 10000 }

// String is "15.13".
func (v Version) String() string { return fmt.Sprintf("%d.%d", int(v)/10000, int(v)%10000) }

// Source is a server that was found and not yet started.
type Source struct {
	Kind    Kind
	Version Version

	where string
	open  func(ctx context.Context, token uint32) (backend, error)
}

// Describe says in one line what was found, without a password.
func (s Source) Describe() string { return fmt.Sprintf("PostgreSQL %s, %s", s.Version, s.where) }

// HasProcess tells whether the server's process will be ours, so that it can be
// stopped, killed and paused.
func (s Source) HasProcess() bool { return s.Kind != KindDSN }

// backend is one kind of running server. A new kind is one implementation and
// one finder. Server serialises the calls.
type backend interface {
	describe() string
	dsn() string
	tcpDSN() string
	logTail() string
	// fault methods return ErrNoProcess where the process isn't ours
	running() bool
	stop(ctx context.Context) error
	kill() error
	pause() error
	resume() error
	restart(ctx context.Context) error
	// close gives everything back; it is called once.
	close() error
}

// finder looks for one kind. It returns a nil Source and the places that it
// looked at when there is nothing; an error ends the search.
type finder func(ctx context.Context, opts Options) (found *Source, looked []string, err error)

// finders in the order in which they are asked.
var finders = []struct {
	kind Kind
	find finder
}{{KindDSN, findDSN}, {KindLocal, findLocal}, {KindContainer, findContainer}, {KindDownload, findDownload}}

// Find looks for a server without starting one. For a DSN it connects, to learn
// the version. Errors: *NoServerError, *UnreachableError, ErrTooOld, *InputError.
func Find(ctx context.Context, opts Options) (Source, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return Source{}, err
	}
	var looked []string
	for _, f := range finders {
		if opts.Only != "" && opts.Only != f.kind {
			looked = append(looked, string(f.kind)+": not asked (Options.Only)")
			continue
		}
		found, places, err := f.find(ctx, opts)
		if err != nil {
			return Source{}, err
		}
		if found != nil {
			return *found, nil
		}
		looked = append(looked, places...)
	}
	return Source{}, &NoServerError{Looked: looked}
}

// Start finds a server and starts it when it is ours to start. The caller calls
// Close. Errors: those of Find, and *StartError.
func Start(ctx context.Context, opts Options) (*Server, error) {
	source, err := Find(ctx, opts)
	if err != nil {
		return nil, err
	}
	return source.Start(ctx)
}

// Start starts what was found. Each call makes a server of its own.
func (s Source) Start(ctx context.Context) (*Server, error) {
	if s.open == nil {
		return nil, &InputError{"Source", "", "is the zero value: take it from Find"}
	}
	began := time.Now()
	token := newToken()
	b, err := s.open(ctx, token)
	if err != nil {
		return nil, err
	}
	if exact, ok := b.(interface{ version() Version }); ok {
		s.Version = exact.version() // of a container: Find knew the image alone
	}
	return newServer(s, b, token, time.Since(began)), nil
}
