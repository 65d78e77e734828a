package main

import (
	"testing"

	"github.com/awa-engine/awa/fuzz/schedule"
)

// Each flag chooses its own mode; without one a scenario is explored as its file says.
func TestScheduleModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags schedulesFlags
		want  *schedule.Mode
	}{
		{schedulesFlags{preemptions: -1}, nil},
		{schedulesFlags{preemptions: -1, exhaustive: true}, &schedule.Mode{Kind: schedule.Exhausted}},
		{schedulesFlags{preemptions: -1, reduced: true}, &schedule.Mode{Kind: schedule.Reduced}},
		{schedulesFlags{preemptions: 0}, &schedule.Mode{Kind: schedule.Bounded}},
		{schedulesFlags{preemptions: 2}, &schedule.Mode{Kind: schedule.Bounded, Preemptions: 2}},
		{schedulesFlags{preemptions: -1, pct: 3, runs: 7}, &schedule.Mode{Kind: schedule.Sampled, Depth: 3, Runs: 7}},
	} {
		o, err := c.flags.options()
		switch {
		case err != nil:
			t.Error(err)
		case (o.Mode == nil) != (c.want == nil) || o.Mode != nil && *o.Mode != *c.want:
			t.Errorf("%+v: mode %v, want %v", c.flags, o.Mode, c.want)
		}
	}
	if _, err := (&schedulesFlags{preemptions: -1, pct: 3}).options(); err == nil {
		t.Error("no schedules at all were taken for a wish")
	}
}
