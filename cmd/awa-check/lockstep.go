package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/fuzz"
	"github.com/awa-engine/awa/pgtest"
)

// lockstepItem is an item of the lockstep command's JSON.
type lockstepItem struct {
	Seed    uint64         `json:"seed"`
	Runs    int            `json:"runs"`
	Steps   int            `json:"steps"`
	Actions map[string]int `json:"actions"`
	Shapes  map[string]int `json:"shapes"` // ring layouts, and how many runs had each
	Seconds float64        `json:"seconds"`
	Failure string         `json:"failure,omitempty"` // the seed file
	OK      bool           `json:"ok"`
}

func (a *app) lockstep() *cobra.Command {
	var o fuzz.Options
	var out string
	cmd := &cobra.Command{
		Use:   "lockstep",
		Short: "Run random operations on engine and model, comparing everything after each",
		Long: `Draws sequences of operations and runs each on the engine, on a real PostgreSQL in virtual time, and on the
model. After every step the answers and the whole state must be equal. A failure is shrunk and saved as a seed file.`,
		Example: `  awa-check lockstep --runs 500 --steps 40
  awa-check lockstep --seed 42`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().IntVar(&o.Runs, "runs", 100, "how many sequences")
	cmd.Flags().IntVar(&o.Steps, "steps", 40, "operations of each sequence")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 0, "draw from this seed (default: a new one, printed)")
	cmd.Flags().BoolVar(&o.AsDrawn, "as-drawn", false, "don't shrink a failure")
	cmd.Flags().StringVar(&out, "out", "awa-failures", "save the seed file of a failure in this `folder`")
	a.wantsServer(cmd)
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		if o.Runs < 1 || o.Steps < 1 {
			return fmt.Errorf("--runs %d --steps %d: both must be at least 1", o.Runs, o.Steps)
		}
		a.term.Progress.Begin("lockstep")
		done, err := runLockstep(ctx, a.dsn, o, a.term.Progress)
		a.term.Progress.End()
		if err != nil {
			return err
		}
		item := lockstepItem{
			Seed: done.Seed, Runs: done.Runs, Steps: done.Steps, Actions: done.Actions, Shapes: done.Worlds, Seconds: done.Seconds,
		}
		problems := lockstepProblems(done, out, &item.Failure)
		item.OK = len(problems) == 0
		r.Items = append(r.Items, item)
		a.term.Printf("%s runs, %s steps, %.1f s, seed %d\n", report.Grouped(int64(done.Runs)), report.Grouped(int64(done.Steps)), done.Seconds, done.Seed)
		a.printOutcomes(done.Actions)
		if len(problems) > 0 {
			return report.Failed("%s", strings.Join(problems, "\n"))
		}
		return nil
	})
	return cmd
}

// runLockstep runs on a server of its own, or on the one that is named.
func runLockstep(ctx context.Context, dsn string, o fuzz.Options, progress *term.Progress) (*fuzz.Report, error) {
	server, err := pgtest.Start(ctx, pgtest.Options{DSN: dsn})
	if err != nil {
		return nil, err
	}
	var runs atomic.Int64
	o.Progress = func() { progress.Update(runs.Add(1), int64(o.Runs), "runs on "+server.Describe()) }
	done, err := fuzz.Lockstep(ctx, server, o)
	if closeErr := server.Close(); err == nil {
		err = closeErr
	}
	return done, err
}

// lockstepProblems lists what is wrong with a run, a difference with all that its finder needs.
func lockstepProblems(r *fuzz.Report, out string, file *string) []string {
	problems := r.Vacuous()
	if r.Failure == nil {
		return problems
	}
	path, err := r.Failure.Save(out)
	if err != nil {
		return append(problems, err.Error(), r.Failure.String(), r.Failure.Finding.Error())
	}
	*file = path
	return append(problems, fmt.Sprintf("engine and model differ\nwhat:  %s\nseed:  %d\nworld: %s\n%s\nagain: awa-check replay %s",
		r.Failure.Finding.What, r.Seed, r.Failure.World, r.Failure.Finding, path))
}

func (a *app) printOutcomes(actions map[string]int) {
	table := term.NewTable(term.Column{Title: "operation, outcome"}, term.Column{Title: "times", Right: true})
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		table.Row(term.Text(name), term.Text(report.Grouped(int64(actions[name]))))
	}
	a.term.PrintTable(table)
}

// lockstepRuns is how many sequences there is time for.
var lockstepRuns = map[layers.Profile]int{layers.Quick: 100, layers.Standard: 500, layers.Full: 5000}

// lockstepLayer is L3.
func lockstepLayer() layers.Layer {
	return layers.Layer{ID: "L3", Name: "lockstep", Run: func(ctx context.Context, s layers.Settings) (layers.Outcome, error) {
		done, err := runLockstep(ctx, s.DSN, fuzz.Options{Runs: lockstepRuns[s.Profile], Steps: 40}, s.Progress)
		if err != nil {
			return layers.Outcome{}, err
		}
		var file string
		return layers.Outcome{
			What:   fmt.Sprintf("random sequences in %d ring layouts, seed %d", len(done.Worlds), done.Seed),
			Did:    report.Counts{{Name: "runs", N: int64(done.Runs)}, {Name: "steps", N: int64(done.Steps)}},
			Failed: lockstepProblems(done, "awa-failures", &file),
		}, nil
	}}
}
