package chaos

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A short run with all faults, and then the suite's own test: its evidence with one thing changed must be rejected.
func TestShortRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := Plan{Seed: 7, Faults: []Fault{ServerKill, WorkerKill}, Rounds: 1, Rate: 1000, MinRate: 250, QueueSlots: 4, ClaimSlots: 2}
	v, err := Run(t.Context(), Config{Plan: plan, Worker: again, Dir: dir, Tell: func(line string) { t.Log(line) }})
	if err != nil || !v.OK {
		keep(t, dir)
		t.Fatalf("%v\n%s", err, v.Form())
	}
	t.Logf("%s; %+v", v.Summary(), v.Did)
	if left, _ := filepath.Glob(filepath.Join(dir, journalsDir, "*.jsonl")); len(left) != 7 {
		t.Errorf("%d journals, want those of 6 workers and of the one in the place of the killed", len(left))
	}
	ev, err := readEvidence(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("planted", func(t *testing.T) { planted(t, ev) })
	t.Run("any line", func(t *testing.T) { anyLine(t, ev) })
	t.Run("in the files", func(t *testing.T) { inTheFiles(t, dir) })
}

// A worker that can't go on is a finding, and the others are judged all the same.
func TestWorkerThatDies(t *testing.T) {
	dir := t.TempDir()
	worker := func(file string) *exec.Cmd {
		return again(strings.Replace(file, "claimer-3", "nobody", 1))
	}
	v, err := Run(t.Context(), Config{Dir: dir, Plan: Plan{Seed: 1, MinRate: 100}, Worker: worker})
	if err != nil || v.OK || !v.Has(KindDied) || !strings.Contains(v.Form(), "nobody.json") {
		t.Errorf("%v\n%s", err, v.Form())
	}
	if len(v.Violations) != 1 {
		t.Errorf("%d violations, of which one is right:\n%s", len(v.Violations), v.Form())
	}
}

// Whoever ends the run ends its processes; goleak sees to the rest.
func TestCancelledRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	_, err := Run(ctx, Config{Dir: dir, Plan: Plan{Seed: 1}, Worker: again, Tell: func(line string) {
		if strings.Contains(line, string(roleMaintainer)) {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
	if _, err := Judge(dir); errors.Is(err, ErrTooLittle) {
		t.Error("half a run is whole evidence")
	}
}

// keep saves a failure's evidence from the end of the test.
func keep(t *testing.T, dir string) {
	kept, err := os.MkdirTemp("", "awa-chaos-")
	if err == nil {
		err = os.CopyFS(kept, os.DirFS(dir))
	}
	t.Logf("evidence kept in %s (%v)", kept, err)
}

// copied is evidence whose journals may be changed.
func copied(ev evidence) evidence {
	ev.journals = maps.Clone(ev.journals)
	for name, lines := range ev.journals {
		ev.journals[name] = slices.Clone(lines)
	}
	s := *ev.state
	s.Orders, s.Final = slices.Clone(s.Orders), maps.Clone(s.Final)
	ev.state = &s
	return ev
}

// pick returns the first call of the kind that did something to a job that may be tried again, as its two lines, and
// takes it out if asked to; the calls after it are numbered anew, so that only what it did is missing. (What is missing
// of jobs in their last attempt, a rescue may have done.)
func pick(ev evidence, as op, remove bool) (name string, call []line) {
	again := ev.mayBeTriedAgain()
	for _, name := range slices.Sorted(maps.Keys(ev.journals)) {
		lines := ev.journals[name]
		for i := 1; i < len(lines); i++ {
			l := lines[i]
			if l.Op != as || l.Outcome != outcomeOK || len(l.Stale) > 0 {
				continue
			}
			of := slices.Clone(l.IDs)
			for _, a := range slices.Concat(l.Attempts, lines[i-1].Attempts) {
				of = append(of, a.job)
			}
			if !slices.ContainsFunc(of, func(id int64) bool { return again[id] }) {
				continue
			}
			call := slices.Clone(lines[i-1 : i+1])
			if remove {
				ev.journals[name] = slices.Delete(lines, i-1, i+1)
				for k := i - 1; k < len(ev.journals[name]); k++ {
					ev.journals[name][k].Call--
				}
			}
			return name, call
		}
	}
	panic("no such call: " + as)
}

// mayBeTriedAgain lists the jobs of acknowledged enqueues that have many attempts.
func (ev evidence) mayBeTriedAgain() map[int64]bool {
	some := map[int64]bool{}
	for _, lines := range ev.journals {
		most := 0 // of the enqueue under way
		for _, l := range lines {
			if l.Outcome == "" {
				most = l.Max
				continue
			}
			for _, id := range l.IDs {
				some[id] = most == manyAttempts
			}
		}
	}
	return some
}

// put appends a call to a journal.
func put(ev evidence, name string, call []line) {
	lines := ev.journals[name]
	n := lines[len(lines)-1].Call + 1
	call[0].Call, call[1].Call = n, n
	ev.journals[name] = append(lines, call...)
}

func planted(t *testing.T, ev evidence) {
	for name, p := range map[string]struct {
		change func(evidence)
		kind   Kind
	}{
		"a completion is missing": {func(ev evidence) { pick(ev, opComplete, true) }, KindLost},
		"a claim is missing":      {func(ev evidence) { pick(ev, opClaim, true) }, KindUnowned},
		"a COPY is missing":       {func(ev evidence) { pick(ev, opEnqueueMany, true) }, KindPhantom},
		"a completion is there twice": {func(ev evidence) {
			name, call := pick(ev, opComplete, false)
			put(ev, name, call)
		}, KindTwice},
		"a claim is there twice": {func(ev evidence) {
			name, call := pick(ev, opClaim, false)
			put(ev, name, call)
		}, KindHandedOutTwice},
		"a business row is missing":   {func(ev evidence) { ev.state.Orders = ev.state.Orders[1:] }, KindHalf},
		"a business row is too many":  {func(ev evidence) { ev.state.Orders = append(ev.state.Orders, order{"nobody.1.0", 1 << 40}) }, KindPhantom},
		"the counts are one too high": {func(ev evidence) { c := ev.state.Final[queues[0]]; c.PrunedCompleted++; ev.state.Final[queues[0]] = c }, KindCounts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := copied(ev)
			p.change(changed)
			if v := judge(changed); v.OK || !v.Has(p.kind) {
				t.Errorf("no violation of the kind %s: %v\n%s", p.kind, v.short, v.Form())
			}
		})
	}
	if v := judge(copied(ev)); !v.OK {
		t.Errorf("the unchanged evidence is rejected: %v\n%s", v.short, v.Form())
	}
}

// anyLine takes lines out, and doubles lines, anywhere. Only the last line of a worker that was killed may be missing.
func anyLine(t *testing.T, ev evidence) {
	rng := rand.New(rand.NewPCG(1, 1))
	cut := ev.cutShort()
	for name, lines := range ev.journals {
		last := len(lines)
		if cut[name] {
			last--
		}
		if last < 1 {
			continue // a worker that was told to stop before its first call
		}
		for range 10 {
			i := rng.IntN(last)
			for what, change := range map[string]func([]line) []line{
				"without": func(l []line) []line { return slices.Delete(l, i, i+1) },
				"twice":   func(l []line) []line { return slices.Insert(l, i, l[i]) },
			} {
				changed := copied(ev)
				changed.journals[name] = change(changed.journals[name])
				if v := judge(changed); v.OK || !v.Has(KindJournal) {
					t.Errorf("%s line %d of %s: accepted", what, i+1, name)
				}
			}
		}
	}
}

// inTheFiles is the way from the folder: what Judge accepted it rejects once a line is gone from a file.
func inTheFiles(t *testing.T, dir string) {
	if v, err := Judge(dir); err != nil || !v.OK {
		t.Fatalf("%v\n%s", err, v.Form())
	}
	files, err := filepath.Glob(filepath.Join(dir, journalsDir, string(roleMaintainer)+"*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(files[0], []byte(rest), 0o644); err != nil {
		t.Fatal(err)
	}
	v, err := Judge(dir)
	if err != nil || v.OK {
		t.Fatalf("accepted, though the first line of %s is gone (%v)", files[0], err)
	}
	for _, want := range []string{"what failed:", "journal:", "seed:           7", "configuration:  1 rounds", "healing", "awa-check replay " + dir} {
		if !strings.Contains(v.Form(), want) {
			t.Errorf("the form lacks %q:\n%s", want, v.Form())
		}
	}
	if err := os.Remove(filepath.Join(dir, runFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Judge(dir); err == nil {
		t.Error("a folder without a run was judged")
	}
}
