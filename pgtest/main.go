package pgtest

import (
	"context"
	"fmt"
	"os"
)

// TestRunner is what this package needs of a *testing.M.
type TestRunner interface{ Run() int }

// exitNoServer is the exit code of a package of tests that has no server to run on.
const exitNoServer = 2

// Main runs a package of tests with one server: it starts it, hands it to use,
// runs the tests, closes it, and returns the exit code for os.Exit. When the server
// doesn't start, or use fails, no test runs: the reason goes to stderr and the code is 2.
func Main(m TestRunner, opts Options, use func(*Server) error) int {
	return Runner(m, opts, use).Run()
}

// Runner is Main as a TestRunner, to be given to goleak.VerifyTestMain.
func Runner(m TestRunner, opts Options, use func(*Server) error) TestRunner {
	return runner{m, opts, use}
}

type runner struct {
	m    TestRunner
	opts Options
	use  func(*Server) error
}

// Run runs the tests; see Main.
func (r runner) Run() (code int) {
	server, err := Start(context.Background(), r.opts)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitNoServer
	}
	defer func() {
		if err := server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}()
	if err := r.use(server); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitNoServer
	}
	return r.m.Run()
}
