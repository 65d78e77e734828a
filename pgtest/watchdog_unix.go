//go:build unix

package pgtest

import (
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

//go:embed watchdog.sh
var watchdogScript string

// watchdog is a shell in a session of its own that outlives us by the moment that
// it takes to end the server and to remove its folder. It learns of our death by
// the end of its standard input, which comes after a panic, os.Exit and SIGKILL
// alike. (A parent-death signal would be bound to the thread that forked, and would
// leave the folder.)
type watchdog struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser // ours alone: Go opens it close-on-exec
}

// startWatchdog watches over dir from now on.
func startWatchdog(dir string) (*watchdog, error) {
	cmd := exec.Command("sh", "-c", watchdogScript, "pgtest-watchdog", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, pipe: pipe}, nil
}

// starting says that a program of the server is about to be started.
func (w *watchdog) starting() error { return w.tell("starting\n") }

// running names the postmaster's process.
func (w *watchdog) running(pid int) error { return w.tell(fmt.Sprintf("pid %d\n", pid)) }

// ended says that no program of the server runs.
func (w *watchdog) ended() error { return w.tell("pid\n") }

func (w *watchdog) tell(line string) error {
	if _, err := io.WriteString(w.pipe, line); err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	return nil
}

// dismiss ends the watch: there is nothing left to clean up.
func (w *watchdog) dismiss() error {
	err := w.tell("done\n")
	if closeErr := w.pipe.Close(); err == nil {
		err = closeErr
	}
	if waitErr := w.cmd.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	return nil
}
