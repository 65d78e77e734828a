package fuzz

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/awa-engine/awa/pgtest"
)

var server *pgtest.Server

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(pgtest.Runner(m, pgtest.Options{}, func(s *pgtest.Server) error {
		server = s
		return nil
	}))
}

func TestLockstep(t *testing.T) {
	report, err := Lockstep(t.Context(), server, Options{Runs: 20, Steps: 40})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failure != nil {
		t.Fatalf("%s\n%s", report.Failure, report.Failure.Finding)
	}
	t.Logf("%d runs, %d steps, %.1f s: %v", report.Runs, report.Steps, report.Seconds, report.Actions)
}
