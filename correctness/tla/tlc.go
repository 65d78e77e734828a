package tla

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// tlc runs TLC as a process of its own.
type tlc struct{ java, jar, version string }

func (t *tlc) Name() string                { return TLC }
func (t *tlc) Version() string             { return t.version }
func (t *tlc) Close(context.Context) error { return nil }

// tlcExits are the exit codes that carry a verdict; with any other the spec was not judged.
var tlcExits = map[int]string{0: Pass, 10: Assumption, 11: Deadlock, 12: "safety", 13: "liveness"}

func (t *tlc) Check(ctx context.Context, task Task) (outcome Outcome, err error) {
	cfg, err := readConfig(task.Specs, task.Config)
	if err != nil {
		return Outcome{}, err
	}
	dir, err := os.MkdirTemp("", "awa-tlc-")
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := copySpecs(dir, task.Specs); err != nil {
		return Outcome{}, err
	}
	out, code, err := t.run(ctx, dir, task)
	if err != nil {
		return Outcome{}, fmt.Errorf("TLC on %s with %s: %w", task.Module, task.Config, err)
	}
	report := parseTLC(out)
	outcome, err = report.verdict(code, cfg)
	if err != nil {
		return Outcome{}, fmt.Errorf("TLC on %s with %s: %w", task.Module, task.Config, err)
	}
	if task.Graph && outcome.Got == Pass {
		graph, err := readDotFile(filepath.Join(dir, dotName))
		if err != nil {
			return Outcome{}, err
		}
		outcome.Graph = &graph
	}
	return outcome, nil
}

const dotName = "graph.dot"

func (t *tlc) run(ctx context.Context, dir string, task Task) (out []byte, code int, err error) {
	// One worker: with several, the depth may be off by one, and which of two violations is found is chance.
	args := []string{
		"-XX:+UseParallelGC", "-Djava.io.tmpdir=" + dir, "-cp", t.jar, "tlc2.TLC",
		"-tool", "-fp", "0", "-workers", "1", "-coverage", "1",
		"-metadir", filepath.Join(dir, "states"), "-config", task.Config + ".cfg",
	}
	if task.Graph {
		args = append(args, "-dump", "dot,actionlabels", dotName)
	}
	cmd := exec.CommandContext(ctx, t.java, append(args, task.Module+".tla")...)
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, 0, context.Cause(ctx)
	case errors.As(err, &exit) && exit.Exited():
		return text.Bytes(), exit.ExitCode(), nil
	default:
		return text.Bytes(), 0, err
	}
}

func copySpecs(dir string, specs fs.FS) error {
	for _, pattern := range []string{"*.tla", "*.cfg"} {
		names, err := fs.Glob(specs, pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			content, err := fs.ReadFile(specs, name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func readDotFile(path string) (_ Graph, err error) {
	file, err := os.Open(path)
	if err != nil {
		return Graph{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return readDot(file)
}

// verdict turns the exit code and the messages into an outcome. The code decides whether there is one, and the
// messages give it its name; where they contradict each other there is none.
func (r tlcReport) verdict(code int, cfg config) (Outcome, error) {
	kind, ok := tlcExits[code]
	if !ok {
		return Outcome{}, fmt.Errorf("exit code %d: %s", code, r.trouble())
	}
	if len(r.warnings) > 0 {
		return Outcome{}, fmt.Errorf("warnings are errors here: %s", strings.Join(r.warnings, "; "))
	}
	outcome := Outcome{
		Got: kind, Distinct: r.distinct, Generated: r.generated, Depth: r.depth,
		Trace: strings.Join(r.trace, "\n"),
	}
	switch kind {
	case Pass:
		if len(r.errors) > 0 || !r.finished {
			return Outcome{}, fmt.Errorf("exit code 0, but not a finished search: %s", r.trouble())
		}
		outcome.Unfired = r.unfired()
	case "safety", "liveness":
		outcome.Got = r.violated
		if outcome.Got == "" && len(cfg.properties) == 1 {
			outcome.Got = cfg.properties[0] // TLC doesn't name temporal properties
		}
		if outcome.Got == "" {
			return Outcome{}, fmt.Errorf("one of %s is violated, and TLC doesn't say which: one property per configuration", strings.Join(cfg.properties, ", "))
		}
	}
	return outcome, nil
}
