package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/linearizability"
)

// TestLinError holds what decides the exit code: a finding is 1, also when something else went wrong besides; a history
// that shows too little is 2.
func TestLinError(t *testing.T) {
	t.Parallel()
	found := linearizability.Verdict{
		Seed: 17, Dir: "awa-lin-17",
		Violations: []linearizability.Violation{{Kind: linearizability.KindHandedOutTwice, What: "attempt 1/1"}},
	}
	for name, c := range map[string]struct {
		v    linearizability.Verdict
		err  error
		want int
	}{
		"all is well":                       {linearizability.Verdict{OK: true}, nil, report.ExitOK},
		"a finding":                         {found, nil, report.ExitFailed},
		"a finding and no room for picture": {found, errors.New("disk full"), report.ExitFailed},
		"too little":                        {linearizability.Verdict{}, linearizability.ErrTooLittle, report.ExitNotRun},
	} {
		if got := report.ExitCode(linError(c.v, c.err)); got != c.want {
			t.Errorf("%s: exit code %d, want %d", name, got, c.want)
		}
	}
	if text := linError(found, nil).Error(); !strings.Contains(text, "awa-check replay awa-lin-17") || !strings.Contains(text, "17") {
		t.Errorf("the form lacks the seed or the command:\n%s", text)
	}
}

func TestLinHasAPlanForEachProfile(t *testing.T) {
	t.Parallel()
	for _, p := range []layers.Profile{layers.Quick, layers.Standard, layers.Full} {
		if plan := linPlans[p]; plan.Clients < 8 || plan.Ops < 4_000 {
			t.Errorf("%s: %+v is no plan", p, plan)
		}
	}
	a := &app{}
	if cmd := a.lin(); cmd.Name() != "lin" || linLayer().ID != "L5" {
		t.Errorf("the command is %q, the layer %q", cmd.Name(), linLayer().ID)
	}
}
