package linearizability

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/awa-engine/awa/engine"
)

func TestRun(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "lin.html")
	v, err := Run(t.Context(), Config{Plan: Plan{Clients: 8, Ops: 1500, Seed: 7}, Server: server, Picture: picture})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", v.Summary())
	if !v.OK {
		t.Fatalf("%s", v.Form())
	}
	if v.Dir != "" {
		t.Errorf("a history without a finding was kept in %s", v.Dir)
	}
	if text, err := os.ReadFile(picture); err != nil || !strings.Contains(string(text), "<svg") {
		t.Errorf("no picture of the busiest job: %v", err)
	}
}

// twice hands every hundredth attempt out again, to whoever claims next.
type twice struct {
	Queue
	mu    sync.Mutex
	seen  int
	stash []engine.Attempt
}

func (q *twice) Claim(ctx context.Context, queue string, limit int) ([]engine.Attempt, error) {
	got, err := q.Queue.Claim(ctx, queue, limit)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		return got, err
	}
	again := q.stash
	q.stash = nil
	for _, a := range got {
		if q.seen++; q.seen%100 == 0 {
			q.stash = append(q.stash, a)
		}
	}
	return append(got, again...), nil
}

// TestPlantedDoubleHandOut: two clients are given one attempt; the judge names it, and draws it.
func TestPlantedDoubleHandOut(t *testing.T) {
	dir := t.TempDir()
	v, err := Run(t.Context(), Config{
		Plan: Plan{Clients: 8, Ops: 1000, Seed: 11}, Server: server, Dir: dir,
		Wrap: func(q Queue) Queue { return &twice{Queue: q} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if v.OK || !v.Has(KindHandedOutTwice) || !v.Has(KindLife) {
		t.Fatalf("not found:\n%s", v.Form())
	}
	text, err := os.ReadFile(v.Picture)
	if err != nil || filepath.Dir(v.Picture) != dir {
		t.Fatalf("no picture beside the history: %q, %v", v.Picture, err)
	}
	if strings.Count(string(text), "claim → attempt") < 2 {
		t.Error("the picture lacks the two claims")
	}
	again, err := Judge(dir)
	if err != nil || again.More != v.More || len(again.Violations) != len(v.Violations) {
		t.Errorf("judged again, it is found %d times, not %d (%v)", len(again.Violations)+again.More, len(v.Violations)+v.More, err)
	}
}

// TestPlansThatShowNothing are refused before anything is made.
func TestPlansThatShowNothing(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Plan{
		"one client":     {Clients: 1},
		"no operations":  {Ops: 1},
		"all disturbed":  {Disturb: 1},
		"stale at once":  {StaleAfter: 1},
		"always turning": {TurnEvery: 1},
	} {
		if _, err := Run(t.Context(), Config{Plan: p, Server: server}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
