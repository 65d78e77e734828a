package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// workerFile is the environment variable that makes this program a worker of the suite.
const workerFile = "AWA_CHAOS_WORKER"

func TestMain(m *testing.M) {
	if file := os.Getenv(workerFile); file != "" {
		if err := RunWorker(context.Background(), file, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// again is this program as a worker.
func again(file string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerFile+"="+file)
	return cmd
}
