package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/chaos"
	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
)

// chaosPlans are the profiles of both commands: chaos has soak where verify has full.
var chaosPlans = map[string]chaos.Plan{
	"quick":    {Rounds: 2},
	"standard": {Rounds: 5},
	"full":     {Rounds: 10, Faults: []chaos.Fault{chaos.ServerKill, chaos.WorkerKill}},
	"soak":     {Rounds: 10, Faults: []chaos.Fault{chaos.ServerKill, chaos.WorkerKill}, Duration: 10 * time.Minute},
}

// workerCommand is the hidden command that workers of the suite are.
const workerCommand = "chaos-worker"

// chaosFlags are the flags of the command chaos.
type chaosFlags struct {
	profile, faults, shard, evidence string
	duration                         time.Duration
	workers                          int
	seed                             uint64
}

func (a *app) chaos() *cobra.Command {
	var f chaosFlags
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Kill the server under load, and look for what was lost",
		Long: `Starts a private server and whole processes that enqueue, claim and close jobs and maintain the rings. In each
round the faults are injected at a random moment while at least 1,000 jobs are enqueued per second. In the end everything
must drain, and every job is accounted for: nothing lost, nothing ended twice, counts exact, rings turned and empty.

Faults: server-kill (SIGKILL of all processes of the server), worker-kill (SIGKILL of one process of the suite).
The evidence of a failure is kept, and awa-check replay DIR judges it again.`,
		Example: `  awa-check chaos
  awa-check chaos --profile standard --seed 17
  awa-check chaos --profile soak --duration 1h --faults server-kill,worker-kill --workers 8`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&f.profile, "profile", "quick", "how long it may take: quick (2 rounds), standard (5) or soak (10 minutes)")
	cmd.Flags().DurationVar(&f.duration, "duration", 0, "let rounds go on until the load has lasted so long")
	cmd.Flags().StringVar(&f.faults, "faults", "", "inject these in every round (default server-kill, in soak both)")
	cmd.Flags().IntVar(&f.workers, "workers", 4, "how many processes enqueue and claim, half of them each; two more maintain the rings")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "draw everything from this seed (default: another each time)")
	cmd.Flags().StringVar(&f.shard, "shard", "1/1", "run the `I/N`th share of the rounds, with a seed of its own")
	cmd.Flags().StringVar(&f.evidence, "evidence", "", "keep the evidence in this `folder`, whatever the verdict (default: a temporary one, kept on failure)")
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		plan, err := f.plan()
		if err != nil {
			return err
		}
		r.Environment["seed"] = fmt.Sprint(plan.Seed)
		a.term.Progress.Say("chaos: seed %d", plan.Seed)
		v, err := runChaos(ctx, plan, f.evidence, func(line string) { a.term.Progress.Say("%s", line) })
		if v.Jobs > 0 {
			r.Items = append(r.Items, v)
			a.term.Printf("%s\n", v.Summary())
		}
		return chaosError(v, err)
	})
	return cmd
}

// plan makes the plan that the flags ask for.
func (f *chaosFlags) plan() (chaos.Plan, error) {
	plan, ok := chaosPlans[f.profile]
	if !ok || f.profile == "full" {
		return plan, fmt.Errorf("--profile %q: must be quick, standard or soak", f.profile)
	}
	if f.faults != "" {
		faults, err := chaos.ParseFaults(f.faults)
		if err != nil {
			return plan, fmt.Errorf("--faults: %w", err)
		}
		plan.Faults = faults
	}
	if f.duration != 0 {
		plan.Duration = f.duration
	}
	if f.workers < 2 {
		return plan, fmt.Errorf("--workers %d: at least 2, one to enqueue and one to claim", f.workers)
	}
	plan.Producers, plan.Claimers = f.workers/2, f.workers-f.workers/2
	var i, n uint64
	if got, err := fmt.Sscanf(f.shard, "%d/%d", &i, &n); err != nil || got != 2 || i < 1 || i > n || fmt.Sprintf("%d/%d", i, n) != f.shard {
		return plan, fmt.Errorf("--shard %q: must be I/N with 1 ≤ I ≤ N", f.shard)
	}
	plan.Seed = f.seed
	if plan.Seed == 0 {
		plan.Seed = drawSeed()
	}
	plan.Seed += i - 1
	plan.Rounds = max(1, (plan.Rounds+int(min(n, 1000))-1)/int(min(n, 1000)))
	plan.Duration /= time.Duration(n)
	return plan, nil
}

// drawSeed draws one that people can type.
func drawSeed() uint64 { return 1 + rand.Uint64N(999_999_999) }

// runChaos runs the suite with this program as the workers'.
func runChaos(ctx context.Context, plan chaos.Plan, dir string, tell func(string)) (chaos.Verdict, error) {
	self, err := os.Executable()
	if err != nil {
		return chaos.Verdict{}, err
	}
	worker := func(file string) *exec.Cmd { return exec.Command(self, workerCommand, file) }
	return chaos.Run(ctx, chaos.Config{Plan: plan, Worker: worker, Dir: dir, Tell: tell})
}

// chaosError is nil for a run that passed.
func chaosError(v chaos.Verdict, err error) error {
	if err == nil && !v.OK {
		return report.Failed("%s", v.Form())
	}
	return err
}

// chaosWorker is what the suite starts: one process of its load.
func (a *app) chaosWorker() *cobra.Command {
	return &cobra.Command{
		Use:    workerCommand + " FILE",
		Short:  "Be a process of the load of awa-check chaos",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return chaos.RunWorker(cmd.Context(), args[0], os.Stdin)
		},
	}
}

// chaosLayer is L6.
func chaosLayer() layers.Layer {
	return layers.Layer{ID: "L6", Name: "chaos", Run: func(ctx context.Context, s layers.Settings) (layers.Outcome, error) {
		plan, ok := chaosPlans[string(s.Profile)]
		if !ok {
			return layers.Outcome{}, errors.New("no plan for the profile " + string(s.Profile))
		}
		plan.Seed = drawSeed()
		var told int64
		v, err := runChaos(ctx, plan, "", func(line string) {
			told++
			s.Progress.Update(told, 0, "events, "+strings.Join(strings.Fields(line), " "))
		})
		out := layers.Outcome{
			What: fmt.Sprintf("%d %s under %d jobs/s or more, recovery within %.1f s, seed %d", v.Injected, v.Fault, v.JobsPerSecond, v.RecoverySeconds, plan.Seed),
			Did: report.Counts{
				{Name: "faults", N: int64(v.Injected)},
				{Name: "jobs", N: int64(v.Jobs)},
				{Name: "repeats", N: int64(v.Repeats)},
				{Name: "lost", N: int64(v.Lost)},
				{Name: "finalised_twice", N: int64(v.FinalisedTwice)},
			},
		}
		if err == nil && !v.OK {
			out.Failed = append(out.Failed, v.Form())
		}
		return out, err
	}}
}
