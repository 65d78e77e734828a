package tla

import (
	"context"
	"io/fs"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shop() fs.FS { return os.DirFS("testdata/shop") }

// startTLAChecker compiles tla-checker once for all tests of this package.
var startTLAChecker = sync.OnceValues(func() (Checker, error) {
	return FindTLAChecker(context.Background(), Options{})
})

func withTLAChecker(t *testing.T) Checker {
	t.Helper()
	c, err := startTLAChecker()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// withTLC is for tests that are worth nothing without TLC; where there is none they say so.
func withTLC(t *testing.T) Checker {
	t.Helper()
	c, err := FindTLC(t.Context(), Options{Offline: true})
	if err != nil {
		t.Skipf("not run, and %s's part is not tested: %v", TLC, err)
	}
	return c
}
