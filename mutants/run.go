package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A Verdict is what a layer has to say of a mutant.
type Verdict string

// The verdicts. Only the first two are knowledge.
const (
	Killed   Verdict = "killed"
	Survived Verdict = "survived"
	// Failed: exit code 2, a panic, a time-out, or a failure that never came by the changed place.
	Failed Verdict = "could not run"
	// Absent: the program has no such command yet.
	Absent Verdict = "layer not there"
	// Skipped: not asked, since it was not needed or not wanted.
	Skipped Verdict = "not run"
	// Blind: the layer can't see where the defect is planted.
	Blind Verdict = ""
)

// A Trial is one layer's look at one mutant.
type Trial struct {
	Layer   string  `json:"layer"`
	Verdict Verdict `json:"verdict"`
	Reached bool    `json:"reached"`
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why,omitempty"` // the last lines of what it printed
}

// Depth says which layers look at each mutant.
type Depth int

// The depths.
const (
	OnlyNamed  Depth = iota // the layer that is named, alone
	UntilNamed              // those that take least time first, until the one that is named has killed
	AllLayers
)

// Options say what to run.
type Options struct {
	Tree    string // the source, as FindTree finds it
	Program string // awa-check as built of that tree: it tells which layers have a command by now
	Defects []Defect
	Depth   Depth
	Layer   string // only this one; "" for all that Depth says
	// Report is told each result; nil is told nothing.
	Report func(Result)
	// Trying is told before each trial.
	Trying func(id, layer string)
}

// Run plants the defects, one after the other, and lets the layers look at each. An error means that it could not go
// on; what is wrong with a defect is in its result.
func Run(ctx context.Context, o Options) ([]Result, error) {
	dir, err := os.MkdirTemp("", "awa-mutants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := runner{o: o, dir: dir}
	if r.there, err = r.probe(ctx); err != nil {
		return nil, err
	}
	var results []Result
	for i := range o.Defects {
		result, err := r.one(ctx, &o.Defects[i])
		if err != nil {
			return results, err
		}
		results = append(results, result)
		if o.Report != nil {
			o.Report(result)
		}
	}
	return results, nil
}

type runner struct {
	o     Options
	dir   string
	there map[string]bool // layers that the program has a command for
}

// probe asks the program which commands it has.
func (r *runner) probe(ctx context.Context) (map[string]bool, error) {
	there := map[string]bool{Tests: true}
	for _, l := range Layers() {
		if l.Command != "" {
			// A command that isn't there gets the help of all commands.
			help, err := exec.CommandContext(ctx, r.o.Program, l.Command, "--help").Output()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			there[l.ID] = err == nil && strings.Contains(string(help), "awa-check "+l.Command+" ")
		}
	}
	return there, nil
}

// one plants a defect and lets layers look.
func (r *runner) one(ctx context.Context, d *Defect) (Result, error) {
	result := Result{Defect: d}
	dir, err := os.MkdirTemp(r.dir, d.ID+"-")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(dir)
	m, err := plant(r.o.Tree, dir, d)
	if err != nil {
		result.Broken = err.Error()
		return result, nil
	}
	done := false
	for _, l := range Layers() {
		t := Trial{Layer: l.ID}
		switch {
		case !l.sees(d):
			t.Verdict = Blind
		case done || !r.wanted(l, d):
			t.Verdict = Skipped
		case !r.there[l.ID]:
			t.Verdict = Absent
		default:
			if r.o.Trying != nil {
				r.o.Trying(d.ID, l.ID)
			}
			t, err = m.try(ctx, l)
			if data := (*dataError)(nil); errors.As(err, &data) {
				result.Broken = err.Error()
				return result, nil
			}
			if err != nil {
				return result, err
			}
		}
		result.Trials = append(result.Trials, t)
		done = done || r.o.Depth == UntilNamed && d.Control == "" && l.ID == d.Named && t.Verdict == Killed
	}
	return result, nil
}

func (r *runner) wanted(l Layer, d *Defect) bool {
	if r.o.Layer != "" {
		return l.ID == r.o.Layer
	}
	return r.o.Depth != OnlyNamed || l.ID == d.Named
}

// try builds what the layer needs and runs it.
func (m *mutant) try(ctx context.Context, l Layer) (Trial, error) {
	t := Trial{Layer: l.ID}
	cmd, err := m.command(ctx, l)
	if err != nil {
		return t, err
	}
	out, err := os.MkdirTemp(m.dir, "out-")
	if err != nil {
		return t, err
	}
	for i := range cmd.args {
		cmd.args[i] = strings.ReplaceAll(cmd.args[i], "{out}", out)
	}
	if cmd.dir == "" {
		cmd.dir = out
	}
	reached := filepath.Join(out, "reached")
	start := time.Now()
	text, code := cmd.run(ctx, l.Limit, append(os.Environ(), reachedVariable+"="+reached))
	t.Seconds = time.Since(start).Seconds()
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	_, err = os.Stat(reached)
	t.Reached = err == nil
	t.judge(m.defect, code, text)
	return t, nil
}

// judge reads the verdict from the exit code of the command.
func (t *Trial) judge(d *Defect, code exitCode, text string) {
	if d.mark() == "" {
		t.Reached = code == exitOK || code == exitFailed
	}
	switch {
	case code == exitOK:
		t.Verdict = Survived
	case code == exitFailed && t.Reached && (t.Layer != Tests || strings.Contains(text, "--- FAIL: ")):
		t.Verdict = Killed
	default:
		t.Verdict = Failed
	}
	if t.Verdict != Survived {
		t.Why = code.String() + lastLines(text, 12)
	}
}

// command is a layer's command line, built.
type command struct {
	program string
	args    []string
	dir     string
}

func (m *mutant) command(ctx context.Context, l Layer) (command, error) {
	args, own := m.defect.Args[l.ID]
	if l.ID == Tests {
		if len(args) != 2 {
			return command{}, &dataError{fmt.Errorf("run tests: %q is not a package and a pattern", args)}
		}
		program, err := m.tests(ctx, args[0])
		return command{program, []string{"-test.run", args[1], "-test.count=1"}, filepath.Join(m.tree, args[0])}, err
	}
	if !own {
		args = l.Args
	}
	program, err := m.check(ctx)
	cmd := command{program: program, args: append(append([]string{l.Command}, l.Always...), args...)}
	if l.InTree {
		cmd.dir = m.tree
	}
	return cmd, err
}

// exitCode is how a command ended: as the shell knows it, or by its limit.
type exitCode int

const (
	exitOK      exitCode = 0
	exitFailed  exitCode = 1
	exitTimeout exitCode = -1
)

func (c exitCode) String() string {
	if c == exitTimeout {
		return "time-out"
	}
	return fmt.Sprintf("exit code %d", int(c))
}

// patience is how long a command that was told to stop may take to clean up.
const patience = 15 * time.Second

// run runs the command. At its limit it is interrupted first, so that it can stop the server that it started.
func (c command) run(ctx context.Context, limit time.Duration, env []string) (text string, code exitCode) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = &out, &out, env, c.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out.String(), exitTimeout
	case err == nil:
		return out.String(), exitOK
	case errors.As(err, &exit):
		return out.String(), exitCode(exit.ExitCode())
	}
	return err.Error() + "\n" + out.String(), 2
}

// lastLines is the end of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return "\n" + strings.Join(lines[max(0, len(lines)-n):], "\n")
}
