package fuzz

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/awa-engine/awa/model"
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
	t.Parallel()
	report, err := Lockstep(t.Context(), server, Options{Runs: 25, Steps: 40})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failure != nil {
		t.Fatalf("%s\n%s", report.Failure, report.Failure.Finding)
	}
	if report.Runs != 25 || report.Steps < 25*20 {
		t.Errorf("only %d runs and %d steps", report.Runs, report.Steps)
	}
	t.Logf("%d runs, %d steps, %.1f s", report.Runs, report.Steps, report.Seconds)
}

// A liar is the engine's side with a fault: it says that the first attempt of a job was completed, and does nothing.
type liar struct{ doer }

func (l liar) apply(ctx context.Context, a model.Action) (any, error) {
	c, ok := a.(model.Complete)
	if ok && len(c.Attempts) == 1 && c.Attempts[0].Lease == 1 {
		return model.Closed{Attempts: []model.ClosedAttempt{{ID: c.Attempts[0]}}}, nil
	}
	return l.doer.apply(ctx, a)
}

// The layer must find a fault, shrink it to its core and save what replays.
func TestLockstepFindsAFault(t *testing.T) {
	t.Parallel()
	report, err := Lockstep(t.Context(), server, Options{
		Runs: 300, Steps: 40, Parallel: 1, Seed: 7, lie: func(d doer) doer { return liar{d} },
	})
	if err != nil {
		t.Fatal(err)
	}
	seed := report.Failure
	if seed == nil {
		t.Fatal("an engine that doesn't complete what it says it completed was not found")
	}
	if len(seed.Actions) != 3 {
		t.Errorf("shrunk to %d operations, Enqueue, Claim and Complete are enough:\n%s", len(seed.Actions), seed)
	}
	path, err := seed.Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Replay(t.Context(), server, again); err != nil || d != nil {
		t.Errorf("on an honest engine the seed passes; got %v, %v", d, err)
	}
	if !strings.Contains(again.String(), "Complete attempts=") {
		t.Errorf("the saved seed lost its operations:\n%s", again)
	}
}

// Every seed that the project keeps must pass.
func TestKeptSeeds(t *testing.T) {
	t.Parallel()
	kept, err := Kept()
	if err != nil || len(kept) == 0 {
		t.Fatalf("%d seeds, %v", len(kept), err)
	}
	for name, seed := range kept {
		if d, err := Replay(t.Context(), server, seed); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d != nil {
			t.Errorf("%s: %v", name, d)
		}
	}
}
