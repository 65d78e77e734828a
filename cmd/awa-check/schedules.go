package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/fuzz/schedule"
	"github.com/awa-engine/awa/pgtest"
)

// explorers is how many scenarios are explored at once, each on a server of its own.
const explorers = 2

// schedulesFlags are the flags of the command schedules.
type schedulesFlags struct {
	exhaustive, reduced    bool
	preemptions, pct, runs int
	seed                   uint64
	budget                 time.Duration
	out                    string
}

func (a *app) schedules() *cobra.Command {
	var f schedulesFlags
	cmd := &cobra.Command{
		Use:   "schedules [SCENARIO ...]",
		Short: "Run the interleavings of a few operations, statement by statement",
		Long: `Holds every statement of two to four sessions back until a scheduler lets it go, on a private PostgreSQL, and runs
the interleavings of each scenario. At the end of each schedule the answers and the rows must fit one order of the
model's actions; no two sessions may ever wait for each other. A failure is saved as a seed file.

Without a flag each scenario is explored as its file says: exhausted (every order of statements), reduced (every order, up
to statements that don't touch each other) or with few preemptions.`,
		Example: `  awa-check schedules
  awa-check schedules complete-rescue --exhaustive
  awa-check schedules claim-rotate-prune --pct 3 --runs 1000 --seed 42`,
	}
	cmd.Flags().BoolVar(&f.exhaustive, "exhaustive", false, "run every order of statements")
	cmd.Flags().BoolVar(&f.reduced, "reduced", false, "run every order, up to statements that don't touch each other")
	cmd.Flags().IntVar(&f.preemptions, "preemptions", -1, "run every order with at most `N` switches away from a session that could go on")
	cmd.Flags().IntVar(&f.pct, "pct", 0, "draw schedules at random, so that a failure of this `depth` is likely met")
	cmd.Flags().IntVar(&f.runs, "runs", 200, "how many schedules --pct draws of each scenario")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "draw from this seed (default: a new one, printed)")
	cmd.Flags().DurationVar(&f.budget, "budget", 0, "stop a scenario after so long (default: when all is run)")
	cmd.Flags().StringVar(&f.out, "out", "awa-failures", "save the seed file of a failure in this `folder`")
	cmd.MarkFlagsMutuallyExclusive("exhaustive", "reduced", "preemptions", "pct")
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, names []string) error {
		o, err := f.options()
		if err != nil {
			return err
		}
		scenarios, err := chosenScenarios(names)
		if err != nil {
			return err
		}
		if f.pct > 0 {
			r.Environment["seed"] = fmt.Sprint(o.Seed)
			a.term.Progress.Say("schedules: seed %d", o.Seed)
		}
		results, err := a.exploreSchedules(ctx, scenarios, o)
		problems := a.printSchedules(results, f.out)
		for _, res := range results {
			if res != nil {
				r.Items = append(r.Items, res)
			}
		}
		if err == nil && len(problems) > 0 {
			err = report.Failed("%s", strings.Join(problems, "\n"))
		}
		return err
	})
	return cmd
}

func (f *schedulesFlags) options() (schedule.Options, error) {
	o := schedule.Options{Seed: f.seed, Budget: f.budget}
	switch {
	case f.exhaustive:
		o.Mode = &schedule.Mode{Kind: schedule.Exhausted}
	case f.reduced:
		o.Mode = &schedule.Mode{Kind: schedule.Reduced}
	case f.preemptions >= 0:
		o.Mode = &schedule.Mode{Kind: schedule.Bounded, Preemptions: f.preemptions}
	case f.pct != 0:
		if f.pct < 1 || f.runs < 1 {
			return o, fmt.Errorf("--pct %d --runs %d: both must be at least 1", f.pct, f.runs)
		}
		o.Mode = &schedule.Mode{Kind: schedule.Sampled, Depth: f.pct, Runs: f.runs}
		if o.Seed == 0 {
			o.Seed = drawSeed()
		}
	}
	return o, nil
}

// chosenScenarios are those that are named, or all.
func chosenScenarios(names []string) ([]*schedule.Scenario, error) {
	all, err := schedule.Scenarios()
	if err != nil || len(names) == 0 {
		return all, err
	}
	var chosen []*schedule.Scenario
	for _, name := range names {
		i := slices.IndexFunc(all, func(s *schedule.Scenario) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("no scenario %q; known are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (a *app) exploreSchedules(ctx context.Context, scenarios []*schedule.Scenario, o schedule.Options) ([]*schedule.Result, error) {
	a.term.Progress.Begin("schedules")
	defer a.term.Progress.End()
	return schedule.ExploreAll(ctx, scenarios, explorers, counted(o, a.term.Progress), nil)
}

// counted shows the schedules of all explorers together.
func counted(o schedule.Options, progress *term.Progress) schedule.Options {
	var n atomic.Int64
	o.Progress = func(int) { progress.Update(n.Add(1), 0, "schedules") }
	return o
}

// printSchedules shows the table and saves the failures; it returns what is wrong.
func (a *app) printSchedules(results []*schedule.Result, out string) (problems []string) {
	table := term.NewTable(term.Column{Title: "scenario"}, term.Column{Title: "sessions", Right: true}, term.Column{Title: "mode"},
		term.Column{Title: "schedules", Right: true}, term.Column{Title: "cut short", Right: true}, term.Column{Title: "statements", Right: true},
		term.Column{Title: "lock waits", Right: true}, term.Column{Title: "outcomes", Right: true}, term.Column{Title: "seconds", Right: true}, term.Column{Title: "result"})
	for _, r := range results {
		if r == nil {
			continue // not reached
		}
		mode := string(r.Mode)
		if r.Limit != "" {
			mode += ", " + r.Limit
		}
		verdict := term.Cell{Text: "ok", Style: term.Good}
		if !r.OK {
			verdict = term.Cell{Text: "FAILED", Style: term.Bad}
		}
		table.Row(term.Text(r.Scenario), term.Text(fmt.Sprint(r.Sessions)), term.Text(mode), term.Text(report.Grouped(int64(r.Schedules))),
			term.Text(report.Grouped(int64(r.Reduced))), term.Text(report.Grouped(int64(r.Statements))), term.Text(report.Grouped(int64(r.LockWaits))),
			term.Text(fmt.Sprint(len(r.Outcomes))), term.Text(fmt.Sprintf("%.1f", r.Seconds)), verdict)
		problems = append(problems, scheduleProblems(r, out)...)
	}
	a.term.PrintTable(table)
	return problems
}

// scheduleProblems lists what is wrong with a scenario's run, a failure with all that its finder needs.
func scheduleProblems(r *schedule.Result, out string) (problems []string) {
	for _, line := range r.Missing {
		problems = append(problems, fmt.Sprintf("scenario %s: not met: %s\nseen:\n  %s", r.Scenario, line, strings.Join(slices.Sorted(maps.Keys(r.Outcomes)), "\n  ")))
	}
	if r.Failure == nil {
		return problems
	}
	path, err := r.Failure.Save(out)
	if err != nil {
		return append(problems, err.Error(), r.Failure.String())
	}
	return append(problems, fmt.Sprintf("a schedule of %s fails\nwhat:  %s\nwhy:   %s\n%s\nagain: awa-check replay %s\nless:  awa-check shrink %s",
		r.Scenario, r.Why.What, r.Why.Detail, r.Story, path, path))
}

// schedulesLayer is L4: in a short time the scenarios of two sessions, with one preemption; else all of them, as their
// files say.
func schedulesLayer() layers.Layer {
	return layers.Layer{ID: "L4", Name: "schedules", Run: func(ctx context.Context, s layers.Settings) (layers.Outcome, error) {
		scenarios, err := schedule.Scenarios()
		if err != nil {
			return layers.Outcome{}, err
		}
		var o schedule.Options
		switch s.Profile {
		case layers.Quick:
			o.Mode = &schedule.Mode{Kind: schedule.Bounded, Preemptions: 1}
			scenarios = slices.DeleteFunc(scenarios, func(sc *schedule.Scenario) bool { return len(sc.Sessions) > 2 })
		case layers.Standard:
			o.Budget = time.Minute
		}
		results, err := schedule.ExploreAll(ctx, scenarios, explorers, counted(o, s.Progress), nil)
		out := layers.Outcome{What: fmt.Sprintf("%d scenarios of real statements", len(scenarios))}
		var schedules, statements, waits, outcomes int64
		for _, r := range results {
			if r == nil {
				continue // not reached
			}
			schedules += int64(r.Schedules)
			statements += int64(r.Statements)
			waits += int64(r.LockWaits)
			outcomes += int64(len(r.Outcomes))
			out.Failed = append(out.Failed, scheduleProblems(r, "awa-failures")...)
		}
		out.Did = report.Counts{{Name: "schedules", N: schedules}, {Name: "statements", N: statements}, {Name: "lock_waits", N: waits}, {Name: "outcomes", N: outcomes}}
		return out, err
	}}
}

// replaySchedule runs a seed of a schedule again, on a server as schedules need it.
func (a *app) replaySchedule(ctx context.Context, file string) (item replayItem, err error) {
	seed, err := schedule.Load(file)
	if err != nil {
		return item, err
	}
	server, err := pgtest.Start(ctx, schedule.ServerOptions())
	if err != nil {
		return item, err
	}
	again, err := schedule.Replay(ctx, server, "replay", seed)
	if closeErr := server.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return item, fmt.Errorf("%s: %w", file, err)
	}
	item = replayItem{File: file, Property: schedule.Property, Operations: seed.Steps(), OK: again.Failure == nil}
	if again.Failure == nil {
		a.term.Printf("%s: %s\n", file, a.term.Paint(term.Good, "passes"))
		return item, nil
	}
	item.Fails = again.Failure.What
	a.term.Printf("%s: %s\n%s\n%s\n%s", file, a.term.Paint(term.Bad, "FAILS"), again.Failure.What, again.Failure.Detail, again.Story)
	return item, nil
}
