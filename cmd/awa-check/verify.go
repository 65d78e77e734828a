package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
)

// allLayers is the verification, in the order in which it runs: what needs least comes first.
func allLayers() []layers.Layer {
	return []layers.Layer{exploration(), specs(), lockstepLayer(), schedulesLayer(), linLayer(), chaosLayer(), plantedDefects()}
}

func (a *app) verify() *cobra.Command {
	var profile, html, junit string
	var offline bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Run all layers and show a table of what each did",
		Long: `Runs every layer of the verification, one after the other, and shows for each what ran, how much, how long,
and the result. A layer that ran and did nothing has failed; one that could not run is said loudly, and the exit code is 2.`,
		Example: `  awa-check verify
  awa-check verify --profile standard --html report.html --junit report.xml --json report.json`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&profile, "profile", string(layers.Quick), "how long it may take: quick, standard or full")
	cmd.Flags().StringVar(&html, "html", "", "write a page for people to this `file`")
	cmd.Flags().StringVar(&junit, "junit", "", "write JUnit's XML for a CI system to this `file`")
	cmd.Flags().BoolVar(&offline, "offline", false, "neither download nor install anything")
	a.wantsServer(cmd)
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		p, err := layers.ParseProfile(profile)
		if err != nil {
			return err
		}
		htmlFile, err := create("--html", html)
		if err != nil {
			return err
		}
		junitFile, err := create("--junit", junit)
		if err != nil {
			return err
		}

		start := time.Now()
		r.Environment["profile"] = profile
		settings := layers.Settings{Profile: p, DSN: a.dsn, Offline: offline, Progress: a.term.Progress}
		items, err := layers.RunAll(ctx, allLayers(), settings)
		for _, i := range items {
			r.Items = append(r.Items, i)
		}
		r.End(err, time.Since(start))
		layers.Print(a.term, items, r.Seconds)
		return errors.Join(err,
			save(htmlFile, func(w io.Writer) error { return layers.WriteHTML(w, r, items) }),
			save(junitFile, func(w io.Writer) error { return layers.WriteJUnit(w, items, r.Seconds) }))
	})
	return cmd
}
