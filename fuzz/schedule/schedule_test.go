package schedule

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/awa-engine/awa/pgtest"
)

var server *pgtest.Server

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(pgtest.Runner(m, ServerOptions(), func(s *pgtest.Server) error {
		server = s
		return nil
	}))
}

// Every scenario of the project, reduced.
func TestScenarios(t *testing.T) {
	all, err := Scenarios()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	for _, sc := range all {
		t.Run(sc.Name, func(t *testing.T) {
			r, err := Explore(t.Context(), server, "schedules", sc, Options{Mode: &Mode{Kind: Reduced}, Budget: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d schedules, %d statements, %d reduced, %d lock waits, %.1f s", r.Mode, r.Schedules, r.Statements, r.Reduced, r.LockWaits, r.Seconds)
			for what, n := range r.Outcomes {
				t.Logf("%6d  %s", n, what)
			}
			if !r.OK {
				t.Errorf("%+v %s\n%s\n%s", r.Why, r.Missing, r.Failure, r.Story)
			}
		})
	}
}
