package linearizability

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/awa-engine/awa/pgtest"
)

// server is the PostgreSQL of the package's tests.
var server *pgtest.Server

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(pgtest.Runner(m, pgtest.Options{}, func(s *pgtest.Server) error {
		server = s
		return nil
	}))
}
