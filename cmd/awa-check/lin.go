package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/linearizability"
	"github.com/awa-engine/awa/pgtest"
)

func (a *app) lin() *cobra.Command {
	var plan linearizability.Plan
	var html, out string
	cmd := &cobra.Command{
		Use:   "lin",
		Short: "Run concurrent clients under maintenance and judge what they were told",
		Long: `Runs concurrent clients on a real PostgreSQL while the rings turn, are pruned, and attempts are rescued. Every call
is written to a history with the times of its call and its return. porcupine then looks for an order of each job's calls
that fits the model; a monitor judges the order of the lanes; the final counts must be what happened. Connections are cut
around commits on purpose: an outcome that nobody was told is settled from what the database persisted.

The history of a failure is kept, with a picture, and awa-check replay judges it again.`,
		Example: `  awa-check lin
  awa-check lin --clients 8 --ops 4000 --seed 42 --html lin.html`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().IntVar(&plan.Clients, "clients", 16, "how many clients there are at once")
	cmd.Flags().IntVar(&plan.Ops, "ops", 20_000, "how many calls they make together before the queues are drained")
	cmd.Flags().Uint64Var(&plan.Seed, "seed", 0, "draw what the clients do from this seed (default: a new one, printed)")
	cmd.Flags().StringVar(&html, "html", "", "draw the first job that fits no life, or else the busiest, into this `file`")
	cmd.Flags().StringVar(&out, "out", "", "keep the history in this new `folder`, whatever the verdict (default: a temporary one, kept on failure)")
	a.wantsServer(cmd)
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		if plan.Seed == 0 {
			plan.Seed = drawSeed()
		}
		r.Environment["seed"] = fmt.Sprint(plan.Seed)
		a.term.Progress.Say("lin: seed %d", plan.Seed)
		a.term.Progress.Begin("lin")
		v, err := runLin(ctx, a.dsn, linearizability.Config{Plan: plan, Dir: out, Picture: html}, a.term.Progress)
		a.term.Progress.End()
		if v.Operations > 0 {
			r.Items = append(r.Items, v)
			a.term.Printf("%s\n", v.Summary())
		}
		return linError(v, err)
	})
	return cmd
}

// runLin runs on a server of its own, or on the one that is named.
func runLin(ctx context.Context, dsn string, cfg linearizability.Config, progress *term.Progress) (linearizability.Verdict, error) {
	server, err := pgtest.Start(ctx, pgtest.Options{DSN: dsn})
	if err != nil {
		return linearizability.Verdict{}, err
	}
	cfg.Server = server
	cfg.Progress = func(calls int) { progress.Update(int64(calls), int64(cfg.Ops), "calls on "+server.Describe()) }
	v, err := linearizability.Run(ctx, cfg)
	return v, errors.Join(err, server.Close())
}

// linError is nil for a history that passed.
func linError(v linearizability.Verdict, err error) error {
	if len(v.Violations) > 0 {
		return errors.Join(report.Failed("%s", v.Form()), err)
	}
	return err
}

// linPlans is how much there is time for.
var linPlans = map[layers.Profile]linearizability.Plan{
	layers.Quick:    {Clients: 8, Ops: 4_000},
	layers.Standard: {Clients: 16, Ops: 20_000},
	layers.Full:     {Clients: 32, Ops: 200_000},
}

// linLayer is L5.
func linLayer() layers.Layer {
	return layers.Layer{ID: "L5", Name: "histories", Run: func(ctx context.Context, s layers.Settings) (layers.Outcome, error) {
		plan, ok := linPlans[s.Profile]
		if !ok {
			return layers.Outcome{}, fmt.Errorf("no plan for the profile %s", s.Profile)
		}
		plan.Seed = drawSeed()
		v, err := runLin(ctx, s.DSN, linearizability.Config{Plan: plan}, s.Progress)
		out := layers.Outcome{
			What: fmt.Sprintf("%d clients, %d rotations, %d prunes, %d rescues, seed %d", plan.Clients, v.Did.Rotated, v.Did.Pruned, v.Did.Rescued, plan.Seed),
			Did: report.Counts{
				{Name: "operations", N: int64(v.Operations)},
				{Name: "jobs", N: int64(v.Partitions)},
				{Name: "unknown", N: int64(v.Unknown)},
				{Name: "stale", N: int64(v.Did.Stale)},
				{Name: "lane_claims", N: int64(v.Did.Ordered)},
			},
		}
		if len(v.Violations) > 0 {
			out.Failed = append(out.Failed, v.Form())
		}
		return out, err
	}}
}
