package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/soak"
)

func (a *app) soak() *cobra.Command {
	var plan soak.Plan
	var rounds int
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Let everything happen at once for minutes, and look at what is left",
		Long: `Starts a private server with PostgreSQL's own settings. Clients enqueue, claim and close jobs of every fate: success,
retry, failure, snooze, cancellation, callbacks and their timeouts, unique and deferred jobs, time limits, workers that are
never heard of again. The rings turn and are pruned each 250 ms, rescue sweeps each second, operators retry, move and delete
failed jobs, and the audit looks at the live tables each second.

In the end every job must be accounted for, no call may have failed, no table may have grown, no row of a ring may have been
updated, or deleted by anybody but an operator, and at most 300 dead tuples may be left once autovacuum has come by. With
--pinned another session keeps a snapshot open: the last third of the load must then be as fast as the first.`,
		Example: `  awa-check soak
  awa-check soak --duration 3m --rate 0 --pinned --audit-at-end --rounds 3 --json pinned.json`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().DurationVar(&plan.Duration, "duration", 10*time.Minute, "how long the load lasts")
	cmd.Flags().DurationVar(&plan.Settle, "settle", 150*time.Second, "how long autovacuum has, after the load, to come by")
	cmd.Flags().IntVar(&plan.Clients, "clients", 4, "how many clients there are at once")
	cmd.Flags().Float64Var(&plan.Rate, "rate", 500, "how many jobs are enqueued a second (0: as many as the clients can)")
	cmd.Flags().BoolVar(&plan.Pinned, "pinned", false, "keep another session's snapshot open through the load")
	cmd.Flags().BoolVar(&plan.AuditAtEnd, "audit-at-end", false, "leave out the audits of each second: their cost grows with the tables")
	cmd.Flags().IntVar(&rounds, "rounds", 1, "how many times it is run, each on a server of its own")
	cmd.Flags().Uint64Var(&plan.Seed, "seed", 0, "draw the jobs' fates from this seed (default: a new one, printed)")
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		if plan.Seed == 0 {
			plan.Seed = drawSeed()
		}
		r.Environment["seed"] = fmt.Sprint(plan.Seed)
		a.term.Progress.Say("soak: seed %d", plan.Seed)
		var bad []string
		for n := range rounds {
			a.term.Progress.Begin(fmt.Sprintf("soak %d/%d", n+1, rounds))
			one, err := soak.Run(ctx, soak.Config{Plan: plan, Progress: func(load time.Duration, closed int64) {
				a.term.Progress.Update(int64(load.Seconds()), int64(plan.Duration.Seconds()), fmt.Sprintf("seconds, %d attempts closed", closed))
			}})
			a.term.Progress.End()
			if err != nil {
				return err
			}
			r.Items = append(r.Items, one)
			a.term.Printf("%s\n", one.Summary())
			bad = append(bad, one.Violations...)
		}
		if len(bad) > 0 {
			return report.Failed("%d findings:\n%s", len(bad), strings.Join(bad, "\n"))
		}
		return nil
	})
	return cmd
}
