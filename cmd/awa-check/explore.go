package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/model/explore"
)

func (a *app) explore() *cobra.Command {
	var config, dot, graph string
	cmd := &cobra.Command{
		Use:   "explore",
		Short: "Visit every state of the model in small worlds",
		Long: `Explores the model breadth first and checks every invariant in every state and every property on every step.
A violation is told as the shortest story that leads to it. An action that never fires, or an invariant that was never
put to the test, is a failure too, unless the configuration gives the reason.

Configurations:` + configurations(),
		Example: `  awa-check explore
  awa-check explore --config claimring-small --dot ring.dot`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&config, "config", "", "explore only the configuration of this `name`")
	cmd.Flags().StringVar(&dot, "dot", "", "write the graph to this `file` for Graphviz (needs --config)")
	cmd.Flags().StringVar(&graph, "graph", "", "write the graph to this `file` as JSON (needs --config)")
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		if config == "" && dot+graph != "" {
			return errors.New("--dot and --graph write one graph: name its configuration with --config")
		}
		configs := explore.Configs()
		if config != "" {
			one, err := explore.Find(config)
			if err != nil {
				return fmt.Errorf("--config: %w", err)
			}
			configs = []explore.Config{one}
		}
		dotFile, err := create("--dot", dot)
		if err != nil {
			return err
		}
		graphFile, err := create("--graph", graph)
		if err != nil {
			return err
		}
		a.term.Progress.Begin("exploring")
		reports, err := exploreAll(ctx, configs, explore.Options{KeepGraph: dot+graph != ""}, a.term.Progress)
		a.term.Progress.End()
		for _, one := range reports {
			r.Items = append(r.Items, one)
		}
		a.printExplored(reports)
		if err != nil {
			return err
		}
		return errors.Join(exploredWell(reports),
			save(dotFile, reports[0].Graph.WriteDOT),
			save(graphFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(reports[0].Graph) }))
	})
	return cmd
}

func configurations() string {
	var b strings.Builder
	for _, c := range explore.Configs() {
		fmt.Fprintf(&b, "\n  %-18s %s", c.Name, c.About)
	}
	return b.String()
}

func exploreAll(ctx context.Context, configs []explore.Config, o explore.Options, progress *term.Progress) ([]*explore.Report, error) {
	var reports []*explore.Report
	for _, c := range configs {
		o.Progress = func(p explore.Progress) {
			progress.Update(int64(p.States), 0, fmt.Sprintf("states of %s, depth %d", c.Name, p.Depth))
		}
		one, err := explore.Run(ctx, c, o)
		if err != nil {
			return reports, err
		}
		reports = append(reports, one)
	}
	return reports, nil
}

func exploredWell(reports []*explore.Report) error {
	var failed []string
	for _, one := range reports {
		if !one.OK() {
			failed = append(failed, one.Config)
		}
	}
	if len(failed) > 0 {
		return report.Failed("%d of %d configurations failed: %s", len(failed), len(reports), strings.Join(failed, ", "))
	}
	return nil
}

func (a *app) printExplored(reports []*explore.Report) {
	table := term.NewTable(term.Column{Title: "configuration"}, term.Column{Title: "states", Right: true},
		term.Column{Title: "transitions", Right: true}, term.Column{Title: "depth", Right: true},
		term.Column{Title: "seconds", Right: true}, term.Column{Title: "result"})
	for _, one := range reports {
		result := term.Cell{Text: "ok", Style: term.Good}
		if !one.OK() {
			result = term.Cell{Text: "FAILED", Style: term.Bad}
		}
		table.Row(term.Text(one.Config), term.Text(report.Grouped(int64(one.States))), term.Text(report.Grouped(int64(one.Transitions))),
			term.Text(fmt.Sprint(one.Depth)), term.Text(fmt.Sprintf("%.1f", one.Seconds)), result)
	}
	a.term.PrintTable(table)
	for _, one := range reports {
		a.term.Printf("\n%s: %s\n", a.term.Paint(term.Bold, one.Config), fired(one.Actions))
		for _, problem := range problems(one) {
			a.term.Printf("%s\n", problem)
		}
	}
}

// fired tells how often each action did, in the order of their names.
func fired(actions map[string]int) string {
	var counts report.Counts
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		counts = append(counts, report.Count{Name: name, N: int64(actions[name])})
	}
	return counts.String()
}

// problems lists what is wrong with an exploration, violations with their story.
func problems(r *explore.Report) []string {
	var all []string
	for _, v := range r.Violations {
		all = append(all, r.Config+": "+v.String())
	}
	for _, sentence := range r.Vacuous {
		all = append(all, r.Config+": "+sentence)
	}
	return all
}

// exploration is L1. Its worlds are the same in every profile: they are small enough.
func exploration() layers.Layer {
	return layers.Layer{ID: "L1", Name: "exploration", Run: func(ctx context.Context, s layers.Settings) (layers.Outcome, error) {
		reports, err := exploreAll(ctx, explore.Configs(), explore.Options{}, s.Progress)
		out := layers.Outcome{What: fmt.Sprintf("%d configurations of the model", len(reports))}
		states, transitions := 0, 0
		for _, one := range reports {
			states, transitions = states+one.States, transitions+one.Transitions
			out.Failed = append(out.Failed, problems(one)...)
		}
		out.Did = report.Counts{{Name: "states", N: int64(states)}, {Name: "transitions", N: int64(transitions)}}
		return out, err
	}}
}
