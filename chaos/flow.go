package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
)

// window is the stretch over which load is measured.
const window = time.Second

// A flow follows the journals while they are written, and knows how much is going on.
type flow struct {
	dir      string
	journals map[string]*followed
	enqueued []sample // acknowledged jobs, of the last window
	claimed  []sample // claims that handed something out, since the last forget
}

// followed is one journal under watch; its process makes one call at a time.
type followed struct {
	tail *tail
	at   int64 // of the newest call
}

// A sample is what one call did.
type sample struct {
	began, at int64
	n         int
}

func newFlow(dir string) *flow { return &flow{dir: dir, journals: map[string]*followed{}} }

// follow begins with a journal, which its process may not have made yet.
func (f *flow) follow(name string) { f.journals[name] = &followed{} }

// read takes in what was written since the last time.
func (f *flow) read() error {
	for name, j := range f.journals {
		if j.tail == nil {
			t, err := openTail(filepath.Join(f.dir, journalsDir, name+".jsonl"))
			if err != nil {
				continue // not there yet; a worker that never makes it is seen to have ended
			}
			j.tail = t
		}
		if err := f.readOne(j); err != nil {
			return fmt.Errorf("journal of %s: %w", name, err)
		}
	}
	return nil
}

func (f *flow) readOne(j *followed) error {
	for {
		text, err := j.tail.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		switch {
		case l.Outcome == "":
			j.at = l.At
		case l.Outcome == outcomeOK && (l.Op == opEnqueueTx || l.Op == opEnqueueMany):
			f.enqueued = append(f.enqueued, sample{j.at, l.At, len(l.IDs)})
		case l.Outcome == outcomeOK && l.Op == opClaim && len(l.Attempts) > 0:
			f.claimed = append(f.claimed, sample{j.at, l.At, len(l.Attempts)})
		}
	}
}

// rate is how many jobs were enqueued in the window before now.
func (f *flow) rate(now int64) int {
	f.enqueued = slices.DeleteFunc(f.enqueued, func(s sample) bool { return s.at < now-int64(window) })
	return jobsIn(f.enqueued, now)
}

// jobsIn counts the jobs of the samples that returned in the window before t.
func jobsIn(enqueued []sample, t int64) int {
	n := 0
	for _, s := range enqueued {
		if s.at >= t-int64(window) && s.at <= t {
			n += s.n
		}
	}
	return n
}

// recovered is the moment at which the first claim that began after t had handed something out.
func recovered(claimed []sample, t int64) (at int64, ok bool) {
	for _, s := range claimed {
		if s.began > t && (!ok || s.at < at) {
			at, ok = s.at, true
		}
	}
	return at, ok
}

// forget drops the claims seen so far.
func (f *flow) forget() { f.claimed = nil }

func (f *flow) close() error {
	var errs []error
	for _, j := range f.journals {
		if j.tail != nil {
			errs = append(errs, j.tail.close())
		}
	}
	return errors.Join(errs...)
}
