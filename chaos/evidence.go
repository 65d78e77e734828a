package chaos

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// evidence is everything that a judgement rests on.
type evidence struct {
	run      runFacts
	story    []event
	journals map[string][]line // by process
	state    *state            // nil when the run didn't come that far
}

// IsRun tells whether a folder is one that a run left, which Judge can judge.
func IsRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, runFile))
	return err == nil
}

// readEvidence reads the folder of a run.
func readEvidence(dir string) (ev evidence, err error) {
	if err := readJSON(filepath.Join(dir, runFile), &ev.run); err != nil {
		return ev, err
	}
	if ev.story, err = readLog[event](filepath.Join(dir, storyFile)); err != nil {
		return ev, err
	}
	ev.journals = map[string][]line{}
	files, err := os.ReadDir(filepath.Join(dir, journalsDir))
	if err != nil {
		return ev, err
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".jsonl")
		if ev.journals[name], err = readLog[line](filepath.Join(dir, journalsDir, f.Name())); err != nil {
			return ev, err
		}
	}
	var s state
	switch err := readJSON(filepath.Join(dir, stateFile), &s); {
	case err == nil:
		ev.state = &s
	case !errors.Is(err, fs.ErrNotExist):
		return ev, err
	}
	return ev, nil
}

// A call is one call of a worker, put together from its two lines.
type call struct {
	worker string
	line         // from before the call
	end    int64 // when it returned; never, if it didn't
	ret    line  // from its return; its Outcome is unknown when there was none
}

func (c *call) String() string { return fmt.Sprintf("%s of %s, call %d", c.Op, c.worker, c.Call) }

// open says that the call may or may not have done what it was to do.
func (c *call) open() bool {
	return c.ret.Outcome == outcomeUnknown || c.ret.Outcome == outcomeCommitted
}

// faults lists the faults of the story.
func (ev *evidence) faults() []event {
	return slices.DeleteFunc(slices.Clone(ev.story), func(e event) bool { return e.What != eventFault })
}

// happened tells whether the story has such an event.
func (ev *evidence) happened(what string) bool {
	return slices.ContainsFunc(ev.story, func(e event) bool { return e.What == what })
}

// cutShort lists the workers whose journals may end within a call.
func (ev *evidence) cutShort() map[string]bool {
	some := map[string]bool{}
	for _, e := range ev.story {
		if e.What == eventFault && e.Fault == WorkerKill || e.What == eventDied {
			some[e.Who] = true
		}
	}
	return some
}

// calls puts the lines of all journals together. Calls are numbered without a hole and made one at a time, so that a
// line that is missing or there twice shows; only the last call of a killed worker may lack its return.
func (ev *evidence) calls(wrong func(Kind, string, ...any)) []*call {
	var all []*call
	cut := ev.cutShort()
	for _, name := range slices.Sorted(maps.Keys(ev.journals)) {
		var last *call
		for _, l := range ev.journals[name] {
			switch {
			case l.Outcome == "":
				if last != nil && last.end == math.MaxInt64 || l.Call != numberOf(last)+1 {
					wrong(KindJournal, "%s: call %d follows call %d, which hasn't returned or isn't the one before", name, l.Call, numberOf(last))
				}
				last = &call{worker: name, line: l, end: math.MaxInt64, ret: line{Outcome: outcomeUnknown}}
				all = append(all, last)
			case last == nil || l.Call != last.Call || l.Op != last.Op || last.end != math.MaxInt64:
				wrong(KindJournal, "%s: a return of call %d (%s), which wasn't under way", name, l.Call, l.Op)
			default:
				last.end, last.ret = l.At, l
			}
		}
		if last != nil && last.end == math.MaxInt64 && !cut[name] {
			wrong(KindJournal, "%s: call %d has no return, though nobody killed the worker", name, last.Call)
		}
	}
	return all
}

func numberOf(c *call) int64 {
	if c == nil {
		return 0
	}
	return c.Call
}
