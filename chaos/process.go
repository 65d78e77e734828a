package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A process is a worker process that the driver owns.
type process struct {
	spec   workerSpec
	said   string // path of what it says on its standard error
	cmd    *exec.Cmd
	stdin  io.Closer     // its end is the order to stop
	exited chan struct{} // closed when it was reaped
	err    error         // how it ended, once exited is closed
}

// The layout of a run's folder.
const (
	runFile     = "run.json"
	storyFile   = "story.jsonl"
	stateFile   = "state.json"
	journalsDir = "journals" // one file per process: NAME.jsonl
	workersDir  = "workers"  // what each was told, and what it said on standard error
	serverLog   = "server.log"
)

func startProcess(dir string, spec workerSpec, command func(string) *exec.Cmd) (*process, error) {
	spec.Journal = filepath.Join(dir, journalsDir, spec.Name+".jsonl")
	file := filepath.Join(dir, workersDir, spec.Name+".json")
	if err := writeJSON(file, spec); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, workersDir, spec.Name+".stderr")
	said, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	p := &process{spec: spec, said: path, cmd: command(file), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = said, said
	p.stdin, err = p.cmd.StdinPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err := errors.Join(err, said.Close()); err != nil {
		return nil, fmt.Errorf("worker %s: %w", spec.Name, err)
	}
	go func() { // ends with the process, which stop and kill wait for
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// ended tells whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// order tells the process to stop; it goes on for as long as it needs.
func (p *process) order() { _ = p.stdin.Close() } // a broken pipe is a process that has ended

// wait waits for the end, and takes patience as the bound; then it kills.
func (p *process) wait(patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.exited:
		return p.err
	case <-timer.C:
		p.kill()
		return fmt.Errorf("worker %s had not stopped after %s", p.spec.Name, patience)
	}
}

// kill is SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.exited
}

// death is the line of the story for a worker that ended as it shouldn't have, with the last of what it said.
func (p *process) death(err error) event {
	said, _ := os.ReadFile(p.said) // without it the story is only shorter
	const most = 2000
	return event{What: eventDied, Who: p.spec.Name, Note: fmt.Sprintf("%v: %s", err, said[max(0, len(said)-most):])}
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
