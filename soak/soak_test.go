package soak

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// A short load, and then the suite's own test: its evidence with one thing changed must be rejected.
func TestShortLoad(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), Config{Plan: Plan{Duration: 8 * time.Second, Clients: 2, Rate: 300, Seed: 7}})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.Summary())
	for _, v := range r.Violations {
		t.Error(v)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{{Duration: time.Second}, {Clients: 65}, {Clients: -1}, {Settle: -1}, {Rate: -1}} {
		if _, err := Run(t.Context(), Config{Plan: p}); err == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}

// good is evidence with which nothing is wrong.
func good() evidence {
	ev := evidence{
		plan: Plan{Duration: time.Minute, Settle: time.Second}, drained: true,
		did: map[string]int64{
			"enqueued": 100, "PruneQueue pruned": 9, "PruneClaims pruned": 9, "PruneLeases pruned": 9, "carried": 1, "rescued": 1, "promoted": 1, "removed": 4, "operator": 7, "audits": 8,
			"Park ok": 1, "Resume ok": 1, "Cancel ok": 1, "Cancel too late": 1, "Progress ok": 1,
		},
		churn:  map[string]int64{"done_entries": 7, "ready_entries": 0},
		counts: map[string]engine.Counts{"mail": {Completed: 10, PrunedCompleted: 70, Failed: 3}, "invoices": {Cancelled: 5, DLQ: 5, PrunedFailed: 3}},
	}
	for i := range int64(10) {
		ev.samples = append(ev.samples, sample{
			at: time.Duration(i) * time.Second, closed: 100 * i, handed: 100 * i, buffers: 700 * i, dead: 40,
			sizes: map[string]int64{"ready_entries": 1 << 20, "attempt_state": 1 << 20},
		})
	}
	ev.after = sample{dead: 40, sizes: ev.samples[9].sizes}
	return ev
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*evidence)
		want   string // in the violation; empty for none
	}{
		"nothing":                    {func(*evidence) {}, ""},
		"an error":                   {func(ev *evidence) { ev.wrong = []string{"Claim: deadlock detected"} }, "deadlock detected"},
		"a job is missing":           {func(ev *evidence) { ev.did["enqueued"]++ }, "101 jobs were enqueued"},
		"a job is too many":          {func(ev *evidence) { ev.did["enqueued"]-- }, "99 jobs were enqueued"},
		"it didn't drain":            {func(ev *evidence) { ev.drained = false }, "drained"},
		"nothing was carried":        {func(ev *evidence) { ev.did["carried"] = 0 }, "nothing was seen of: carried"},
		"nothing was carried, short": {func(ev *evidence) { ev.did["carried"], ev.plan.Duration = 0, time.Second }, ""},
		"no audit":                   {func(ev *evidence) { ev.did["audits"] = 0 }, "nothing was seen of: audits"},
		"no audit, as planned":       {func(ev *evidence) { ev.did["audits"], ev.plan.AuditAtEnd = 0, true }, ""},
		"a deadlock":                 {func(ev *evidence) { ev.deadlocks = 1 }, "1 deadlocks"},
		"a receipt was updated":      {func(ev *evidence) { ev.churn["ready_entries"] = 1 }, "1 rows of ready_entries"},
		"a row is deleted":           {func(ev *evidence) { ev.churn["done_entries"] = 8 }, "8 rows of done_entries"},
		"dead tuples":                {func(ev *evidence) { ev.after.dead = 301 }, "301 dead tuples"},
		"dead tuples, no time":       {func(ev *evidence) { ev.after.dead, ev.plan.Settle = 301, 0 }, ""},
		"dead tuples, pinned":        {func(ev *evidence) { ev.after.dead, ev.plan.Pinned = 301, true }, ""},
		"growth":                     {func(ev *evidence) { ev.samples[8].sizes = map[string]int64{"ready_entries": 9 << 20} }, "ready_entries grew"},
		"growth, pinned":             {func(ev *evidence) { grow(ev, "ready_entries") }, "ready_entries grew"},
		"growth that a pin causes":   {func(ev *evidence) { grow(ev, "attempt_state") }, ""},
		"slower, pinned":             {func(ev *evidence) { ev.plan.Pinned = true; slower(ev) }, "last third's rate"},
		"slower":                     {slower, ""},
		"more to read, pinned":       {func(ev *evidence) { ev.plan.Pinned = true; ev.samples[9].buffers += 300 }, "buffers for each attempt"},
		"not counted, pinned":        {func(ev *evidence) { ev.plan.Pinned = true; uncounted(ev) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := good()
			c.change(&ev)
			r := judge(ev)
			if r.OK != (c.want == "") {
				t.Fatalf("ok: %t\n%s", r.OK, strings.Join(r.Violations, "\n"))
			}
			if c.want != "" && !slices.ContainsFunc(r.Violations, func(v string) bool { return strings.Contains(v, c.want) }) {
				t.Errorf("no violation says %q:\n%s", c.want, strings.Join(r.Violations, "\n"))
			}
		})
	}
}

func grow(ev *evidence, table string) {
	ev.plan.Pinned = true
	ev.samples[8].sizes = maps.Clone(ev.samples[8].sizes)
	ev.samples[8].sizes[table] = 9 << 20
}

func slower(ev *evidence) {
	for i := range ev.samples[7:] {
		ev.samples[7+i].closed -= 20 * int64(i+1)
	}
}

func uncounted(ev *evidence) {
	for i := range ev.samples {
		ev.samples[i].buffers = -1
	}
}
