package pgtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The tests of the watchdog run this program again, as the owner of a server
// that ends in a bad way.
const (
	childMode  = "PGTEST_CHILD"
	childPlace = "PGTEST_CHILD_PLACE"
)

// runChild starts a server, says where, and ends as it was told. It never returns.
func runChild(mode string) {
	opts := private(Options{TempDir: os.Getenv(childPlace), NoCache: mode == "initdb"})
	server, err := Start(context.Background(), opts)
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(3)
	}
	c := server.back.(*cluster)
	switch mode {
	case "paused":
		err = server.Pause()
	case "killed":
		err = server.Kill()
	case "restarted":
		err = server.Restart(context.Background())
	}
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(3)
	}
	fmt.Println("started", c.dir, c.proc.pid(), c.readLockFile().segment)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // go, or the parent's end
	switch mode {
	case "panic":
		panic("as told")
	case "exit":
		os.Exit(1)
	}
	select {} // until a signal
}

func startChild(t *testing.T, mode, place string) (cmd *exec.Cmd, out *bufio.Reader, proceed func()) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childPlace+"="+place)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test failed before
		_ = cmd.Wait()         // it ended badly, as told
	})
	return cmd, bufio.NewReader(stdout), func() { fmt.Fprintln(stdin, "go") }
}

// However the owner ends, the processes, the folder and the shared memory are gone soon after.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	for _, end := range []struct {
		mode   string
		signal syscall.Signal
	}{
		{"panic", 0},
		{"exit", 0},
		{"interrupted", syscall.SIGINT},
		{"terminated", syscall.SIGTERM},
		{"sigkill", syscall.SIGKILL},
		{"paused", syscall.SIGKILL},
		{"killed", syscall.SIGKILL},
		{"restarted", syscall.SIGKILL},
	} {
		t.Run(end.mode, func(t *testing.T) {
			cmd, out, proceed := startChild(t, end.mode, "")
			line, _ := out.ReadString('\n')
			var dir string
			var pid, segment int
			if _, err := fmt.Sscanf(line, "started %s %d %d", &dir, &pid, &segment); err != nil {
				t.Fatalf("the child said %q: %v", line, err)
			}
			table, err := processTable()
			if err != nil {
				t.Fatal(err)
			}
			all := descendants(table, pid)
			if postmaster, there := table[pid]; there {
				all = append(all, postmaster)
			}
			if len(all) == 0 && end.mode != "killed" {
				t.Fatal("the child's server has no processes")
			}
			if end.signal == 0 {
				proceed()
			} else if err := cmd.Process.Signal(end.signal); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the folder is gone", func() bool {
				_, err := os.Lstat(dir)
				return os.IsNotExist(err)
			})
			mustBeDead(t, all)
			if _, err := exec.LookPath("ipcrm"); (err == nil || end.mode != "killed") && hasSegment(t, segment) {
				t.Errorf("segment %d is still there", segment)
			}
		})
	}
}

// The owner is killed in the middle of Start: in initdb, while the cache is copied,
// and when the server has begun to start.
func TestWatchdogDuringStart(t *testing.T) {
	t.Parallel()
	for _, when := range []struct{ mode, path string }{
		{"initdb", "awa-pg-*/data/base"},
		{"copy", "awa-pg-*/data"},
		{"launch", "awa-pg-*/log"},
	} {
		t.Run(when.mode, func(t *testing.T) {
			place := openPlace(t)
			cmd, _, _ := startChild(t, when.mode, place)
			eventually(t, when.path+" appears", func() bool {
				found, _ := filepath.Glob(filepath.Join(place, when.path)) // a constant pattern
				return len(found) > 0
			})
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the folder is gone", func() bool {
				left, err := os.ReadDir(place)
				return err == nil && len(left) == 0
			})
			eventually(t, "no process is left", func() bool { return len(commandsWith(t, place)) == 0 })
		})
	}
}

// commandsWith lists the command lines of this machine's processes that have text in them.
func commandsWith(t *testing.T, text string) (found []string) {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "command=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}
