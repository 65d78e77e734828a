//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// processInfo is one line of the system's process table.
type processInfo struct {
	pid, parent int
	state       byte   // R, S, D, T (stopped), Z (ended, not yet reaped), …
	born        string // tells two processes with one number apart; "" where unknown
}

// process is a postmaster that is our direct child. One goroutine waits for it.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it was reaped
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// signal doesn't mind a process that has ended.
func (p *process) signal(sig syscall.Signal) error {
	if !p.running() {
		return nil
	}
	return send(p.pid(), sig)
}

// wait waits for the end of the process.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func send(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %v to process %d: %w", sig, pid, err)
	}
	return nil
}

// Each process of PostgreSQL leads a session, and so a process group, of its own:
// signals to the postmaster's group reach the postmaster only. The family is
// found by parenthood.

// freeze stops the postmaster and then lists everything under it: a stopped
// postmaster starts nothing, so the list is whole.
func (p *process) freeze(ctx context.Context) ([]processInfo, error) {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	var family []processInfo
	err := poll(ctx, time.Millisecond, func() (bool, error) {
		table, err := processTable()
		if err != nil {
			return false, err
		}
		head, alive := table[p.pid()]
		if !alive || head.state == 'Z' {
			return false, ErrNotRunning
		}
		family = descendants(table, p.pid())
		return head.state == 'T', nil
	})
	return family, err
}

// descendants lists what lives under root, without root.
func descendants(table map[int]processInfo, root int) []processInfo {
	byParent := map[int][]processInfo{}
	for _, info := range table {
		byParent[info.parent] = append(byParent[info.parent], info)
	}
	var family []processInfo
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, child := range byParent[queue[0]] {
			family = append(family, child)
			queue = append(queue, child.pid)
		}
	}
	return family
}

// awaitEach waits until good holds for every process that is still the one listed.
// One that ended, reaped or not, is good.
func awaitEach(ctx context.Context, list []processInfo, good func(processInfo) bool) error {
	return poll(ctx, time.Millisecond, func() (bool, error) {
		table, err := processTable()
		if err != nil {
			return false, err
		}
		for _, was := range list {
			is, there := table[was.pid]
			if there && is.born == was.born && is.state != 'Z' && !good(is) {
				return false, nil
			}
		}
		return true, nil
	})
}

func sendAll(list []processInfo, sig syscall.Signal) error {
	var errs []error
	for _, info := range list {
		errs = append(errs, send(info.pid, sig))
	}
	return errors.Join(errs...)
}

// poll asks until the answer is yes, an error, or ctx ends.
func poll(ctx context.Context, every time.Duration, ask func() (bool, error)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
