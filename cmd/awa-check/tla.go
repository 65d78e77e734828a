package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/correctness/tla"
	"github.com/awa-engine/awa/model/explore"
)

func (a *app) tla() *cobra.Command {
	var checker, update string
	var compare, offline bool
	cmd := &cobra.Command{
		Use:   "tla [SPEC ...]",
		Short: "Judge the TLA+ specs and compare their state graphs with the model's",
		Long: `Runs each configuration of the specs, the broken variants that have to fail included, and compares the verdicts
with the table of expectations; with --compare, the state graphs with those that the explorer makes of the model.

TLC is the authority: it is taken from AWA_TLC_JAR, from the user's cache, or downloaded (a pinned release). Where it
can't be had, tla-checker judges what it can, and the rest is reported as not run.`,
		Example: `  awa-check tla --compare
  awa-check tla --checker tla-checker ClaimRing
  awa-check tla --checker tlc --update correctness/tla/expectations.json`,
	}
	cmd.Flags().StringVar(&checker, "checker", tla.Auto, "auto, tlc or tla-checker")
	cmd.Flags().BoolVar(&compare, "compare", false, "compare the state graphs with the model's")
	cmd.Flags().BoolVar(&offline, "offline", false, "neither download nor install a checker")
	cmd.Flags().StringVar(&update, "update", "", "write what TLC found to this `file`, a table of expectations")
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, specs []string) error {
		all, err := tla.ReadTable(tla.Specs())
		if err != nil {
			return err
		}
		rows, err := rowsOf(all, specs)
		if err != nil {
			return err
		}
		if update != "" {
			checker = tla.TLC
		}
		o := tla.Options{Want: checker, Offline: offline}
		a.term.Progress.Begin("judging the specs")
		judged, err := judge(ctx, o, rows, compare, update != "", a.term.Progress)
		a.term.Progress.End()
		r.Environment["tla"] = judged.version
		for _, item := range judged.items {
			r.Items = append(r.Items, item)
		}
		a.printJudged(judged)
		if err == nil && update != "" {
			err = tla.WriteTable(update, tla.Update(all, judged.items))
		}
		return errors.Join(err, judged.verdict())
	})
	return cmd
}

// rowsOf keeps the rows of some specs, modules or configurations; all when none is named.
func rowsOf(rows []tla.Row, names []string) ([]tla.Row, error) {
	if len(names) == 0 {
		return rows, nil
	}
	var some []tla.Row
	for _, name := range names {
		is := func(r tla.Row) bool { return r.Spec == name || r.Module == name || r.Config == name }
		if !slices.ContainsFunc(rows, is) {
			return nil, fmt.Errorf("no spec, module or configuration is named %q in the table of expectations", name)
		}
		for _, r := range rows {
			if is(r) && !slices.Contains(some, r) {
				some = append(some, r)
			}
		}
	}
	return some, nil
}

// judgement is what a checker said of some rows.
type judgement struct {
	checker string // its name
	version string // and where it was found
	noTLC   string // why it isn't TLC
	items   []tla.Item
}

func judge(ctx context.Context, o tla.Options, rows []tla.Row, compare, updating bool, progress *term.Progress) (j judgement, err error) {
	o.Say = func(message string) { progress.Say("%s", message) }
	checker, noTLC, err := tla.Choose(ctx, o)
	if err != nil {
		return judgement{}, err
	}
	defer func() { err = errors.Join(err, checker.Close(context.WithoutCancel(ctx))) }()

	j = judgement{checker: checker.Name(), version: checker.Version(), noTLC: noTLC}
	run := tla.RunOptions{Specs: tla.Specs(), Rows: rows, Checker: checker, Updating: updating}
	run.Report = func(i tla.Item) {
		j.items = append(j.items, i)
		progress.Update(int64(len(j.items)), int64(len(rows)), "specs judged, "+i.Config)
	}
	if compare {
		run.Explore = modelGraph
	}
	_, err = tla.Run(ctx, run)
	return j, err
}

// modelGraph explores a configuration and gives its graph to the specs' package, which doesn't know the explorer's type.
func modelGraph(ctx context.Context, config string) (tla.Graph, error) {
	c, err := explore.Find(config)
	if err != nil {
		return tla.Graph{}, err
	}
	r, err := explore.Run(ctx, c, explore.Options{})
	if err != nil {
		return tla.Graph{}, err
	}
	if !r.OK() {
		return tla.Graph{}, errors.New(strings.Join(problems(r), "\n"))
	}
	g := tla.Graph{Init: r.Graph.Init, States: r.Graph.States, Edges: make([]tla.Edge, len(r.Graph.Edges))}
	for i, e := range r.Graph.Edges {
		g.Edges[i] = tla.Edge(e)
	}
	return g, nil
}

func (j judgement) verdict() error {
	failed := 0
	for _, i := range j.items {
		if i.Failed() {
			failed++
		}
	}
	if failed > 0 {
		return report.Failed("%d of %d configurations are not as expected", failed, len(j.items))
	}
	return nil
}

func (a *app) printJudged(j judgement) {
	a.term.Printf("checked by %s\n", j.version)
	if j.noTLC != "" {
		a.term.Printf("%s: %s\n", a.term.Paint(term.Warn, "TLC: NOT RUN"), j.noTLC)
	}
	table := term.NewTable(term.Column{Title: "configuration"}, term.Column{Title: "expected"}, term.Column{Title: "got"},
		term.Column{Title: "distinct", Right: true}, term.Column{Title: "depth", Right: true},
		term.Column{Title: "graph"}, term.Column{Title: "seconds", Right: true}, term.Column{Title: "result"})
	for _, i := range j.items {
		result, graph := term.Cell{Text: "ok", Style: term.Good}, ""
		switch {
		case i.Failed():
			result = term.Cell{Text: "FAILED", Style: term.Bad}
		case !i.Ran:
			result = term.Cell{Text: "NOT RUN", Style: term.Warn}
		}
		if i.Compared && i.OK {
			graph = "equal"
		}
		table.Row(term.Text(i.Config), term.Text(i.Expect), term.Text(i.Got), term.Text(countOrNothing(i.Distinct)),
			term.Text(countOrNothing(i.Depth)), term.Text(graph), term.Text(fmt.Sprintf("%.1f", i.Seconds)), result)
	}
	a.term.PrintTable(table)
	for _, i := range j.items {
		if !i.OK {
			a.term.Printf("\n%s: %s\n%s", a.term.Paint(term.Bold, i.Config), i.Why, i.Trace)
		}
	}
}

func countOrNothing(n int) string {
	if n == 0 {
		return ""
	}
	return report.Grouped(int64(n))
}

// specs is L2. Its configurations are the same in every profile.
func specs() layers.Layer {
	return layers.Layer{ID: "L2", Name: "TLA+", Run: func(ctx context.Context, s layers.Settings) (layers.Outcome, error) {
		rows, err := tla.ReadTable(tla.Specs())
		if err != nil {
			return layers.Outcome{}, err
		}
		j, err := judge(ctx, tla.Options{Offline: s.Offline}, rows, true, false, s.Progress)
		var out layers.Outcome
		if j.noTLC != "" {
			out.NotRun = append(out.NotRun, "TLC: "+j.noTLC)
		}
		ran, states, graphs := 0, 0, 0
		for _, i := range j.items {
			switch {
			case i.Failed():
				out.Failed = append(out.Failed, i.Config+": "+i.Why+"\n"+i.Trace)
			case !i.Ran:
				out.NotRun = append(out.NotRun, i.Config+": "+i.Why)
			}
			if i.Ran {
				ran, states = ran+1, states+i.Distinct
			}
			if i.Compared {
				graphs++
			}
		}
		out.What = fmt.Sprintf("%d of %d configurations, by %s", ran, len(rows), j.checker)
		out.Did = report.Counts{
			{Name: "states", N: int64(states)}, {Name: "graphs_compared", N: int64(graphs)},
		}
		return out, err
	}}
}
