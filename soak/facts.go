package soak

import (
	"errors"
	"sync"
	"time"

	"github.com/awa-engine/awa/engine"
)

// facts is what the clients and the maintainers were told. Safe for concurrent use.
type facts struct {
	mu      sync.Mutex
	did     map[string]int64
	wrong   []string // in the order of their coming, at most wrongMost
	slowest time.Duration
}

const wrongMost = 20

func (f *facts) add(what string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did[what] += int64(n)
}

func (f *facts) get(what string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.did[what]
}

func (f *facts) blame(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.wrong) < wrongMost {
		f.wrong = append(f.wrong, text)
	}
}

// call counts a call that should have worked; nothing disturbs the server, so that any error is a finding.
func (f *facts) call(name string, err error) (ok bool) {
	f.add(name, 1)
	if err != nil {
		f.blame(name + ": " + err.Error())
	}
	return err == nil
}

// result counts the answer for one job or attempt. That it is over, or being closed, or is where
// this can't be done, is ordinary here.
func (f *facts) result(name string, err error) {
	switch {
	case err == nil:
		f.add(name+" ok", 1)
	case engine.Stale(err), errors.Is(err, engine.ErrWrongState), errors.Is(err, engine.ErrNotFound):
		f.add(name+" too late", 1)
	case errors.Is(err, engine.ErrClosing):
		f.add(name+" busy", 1)
	default:
		f.blame(name + ": " + err.Error())
	}
}

func (f *facts) audited(took time.Duration, err error) {
	f.add("audits", 1)
	f.mu.Lock()
	f.slowest = max(f.slowest, took)
	f.mu.Unlock()
	if err != nil {
		f.blame(err.Error())
	}
}
