package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/layers"
	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/mutants"
)

// mutantItem is an item of the mutants command's JSON.
type mutantItem struct {
	ID      string          `json:"id"`
	Area    string          `json:"area"`
	Place   string          `json:"place"`
	Reached bool            `json:"reached"`
	Killed  bool            `json:"killed"`
	Named   string          `json:"named"`
	By      []string        `json:"by"`
	Seconds float64         `json:"seconds"`
	Control string          `json:"control,omitempty"`
	Models  string          `json:"models"`
	Result  string          `json:"result"`
	Why     string          `json:"why,omitempty"`
	Layers  []mutants.Trial `json:"layers"`
}

// namedLayer stands for the layer that should find a defect, whichever that is.
const namedLayer = "named"

func (a *app) mutants() *cobra.Command {
	var only, layer string
	var all bool
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Plant known defects and see which layer finds each",
		Long: `Builds the engine, its model or its specs with one defect at a time and lets the layers look, those that take least
time first, until the one that is named beforehand has found it. A defect that survives, or that only another layer finds
without a note that says why, is a failure. Identities must survive everywhere, canaries must die everywhere.

It needs the source: run it in a folder of the module.`,
		Example: `  awa-check mutants
  awa-check mutants --only prune-second-proof --json kill.json
  awa-check mutants --layer L1
  awa-check mutants --all-layers`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&only, "only", "", "plant only these defects (`ids`, comma separated; a * at the end stands for the rest)")
	cmd.Flags().StringVar(&layer, "layer", "", "let only this `layer` look: L1 to L6, tests, or named for the one that is named for each")
	cmd.Flags().BoolVar(&all, "all-layers", false, "let every layer look at each defect: the whole matrix")
	cmd.RunE = a.does(func(ctx context.Context, r *report.Report, _ []string) error {
		defects, err := mutants.Defects()
		if err != nil {
			return err
		}
		o := mutants.Options{Defects: chosen(defects, only), Depth: mutants.UntilNamed, Layer: layer}
		switch {
		case all:
			o.Depth = mutants.AllLayers
		case layer == namedLayer:
			o.Depth, o.Layer = mutants.OnlyNamed, ""
		}
		if len(o.Defects) == 0 {
			return fmt.Errorf("--only %q: no defect is called that", only)
		}
		if !slices.ContainsFunc(mutants.Layers(), func(l mutants.Layer) bool { return layer == "" || layer == namedLayer || l.ID == layer }) {
			return fmt.Errorf("--layer %q: no layer is called that", layer)
		}
		a.term.Progress.Begin("planting defects")
		results, err := plantDefects(ctx, o, a.term.Progress)
		a.term.Progress.End()
		for _, one := range results {
			r.Items = append(r.Items, itemOf(one))
		}
		a.printMatrix(results, all && layer == "")
		return errors.Join(err, mutantsVerdict(results))
	})
	return cmd
}

// chosen keeps the defects that are named; all when none is.
func chosen(defects []mutants.Defect, only string) []mutants.Defect {
	if only == "" {
		return defects
	}
	return slices.DeleteFunc(defects, func(d mutants.Defect) bool {
		return !slices.ContainsFunc(strings.Split(only, ","), func(name string) bool {
			start, open := strings.CutSuffix(name, "*")
			return d.ID == name || open && strings.HasPrefix(d.ID, start)
		})
	})
}

func plantDefects(ctx context.Context, o mutants.Options, progress *term.Progress) ([]mutants.Result, error) {
	var err error
	if o.Tree, err = mutants.FindTree(); err != nil {
		return nil, err
	}
	if o.Program, err = os.Executable(); err != nil {
		return nil, err
	}
	done := int64(0)
	o.Trying = func(id, layer string) {
		progress.Update(done, int64(len(o.Defects)), fmt.Sprintf("defects, %s at %s", layer, id))
	}
	o.Report = func(r mutants.Result) {
		done++
		standing, _ := r.Judge()
		progress.Say("%s: %s, killed by %s", r.Defect.ID, standing, orNobody(r.By()))
	}
	return mutants.Run(ctx, o)
}

func orNobody(ids []string) string {
	if len(ids) == 0 {
		return "nobody"
	}
	return strings.Join(ids, ", ")
}

func itemOf(r mutants.Result) mutantItem {
	d, by := r.Defect, r.By()
	standing, why := r.Judge()
	return mutantItem{
		ID: d.ID, Area: d.Area, Place: string(d.Place), Reached: r.Reached(), Killed: len(by) > 0, Named: d.Named, By: by,
		Seconds: r.Seconds(), Control: string(d.Control), Models: d.Models, Result: string(standing), Why: why, Layers: r.Trials,
	}
}

func (a *app) printMatrix(results []mutants.Result, whole bool) {
	columns := []term.Column{{Title: "defect"}, {Title: "place"}, {Title: "reached"}, {Title: "named"}}
	for _, l := range mutants.Layers() {
		columns = append(columns, term.Column{Title: l.ID, Right: true})
	}
	table := term.NewTable(append(columns, term.Column{Title: "result"})...)
	for _, r := range results {
		reached, named := "yes", r.Defect.Named
		if !r.Reached() {
			reached = "no"
		}
		if r.Defect.Control != "" {
			named = string(r.Defect.Control)
		}
		row := []term.Cell{term.Text(r.Defect.ID), term.Text(string(r.Defect.Place)), term.Text(reached), term.Text(named)}
		for _, t := range r.Trials {
			row = append(row, trialCell(t))
		}
		standing, _ := r.Judge()
		style := map[mutants.Standing]term.Style{mutants.Good: term.Good, mutants.Bad: term.Bad, mutants.Unknown: term.Warn}[standing]
		for len(row) < len(columns) {
			row = append(row, term.Text(""))
		}
		table.Row(append(row, term.Cell{Text: string(standing), Style: style})...)
	}
	a.term.PrintTable(table)
	a.term.Printf("a number: killed in so many seconds; 0: survived; -: not run; ?: could not run; nothing: can't see it\n")
	for _, r := range results {
		if standing, why := r.Judge(); why != "" {
			a.term.Printf("\n%s: %s: %s\n", a.term.Paint(term.Bold, r.Defect.ID), standing, why)
		}
		for _, t := range r.Trials {
			if t.Verdict == mutants.Failed {
				a.term.Printf("  %s: %s\n", t.Layer, t.Why)
			}
		}
	}
	killed, of := mutants.Score(results, "")
	a.term.Printf("\n%d of %d defects killed\n", killed, of)
	for _, l := range mutants.Layers() {
		if ids := mutants.OnlyBy(results, l.ID); len(ids) > 0 {
			a.term.Printf("only %s finds %s\n", l.ID, strings.Join(ids, ", "))
		}
	}
	if needless := mutants.Needless(results); whole && len(needless) > 0 {
		a.term.Printf("taken away without loss: %s\n", strings.Join(needless, ", "))
	}
}

func trialCell(t mutants.Trial) term.Cell {
	switch t.Verdict {
	case mutants.Killed:
		return term.Cell{Text: fmt.Sprintf("%.1f", t.Seconds), Style: term.Good}
	case mutants.Survived:
		return term.Text("0")
	case mutants.Failed:
		return term.Cell{Text: "?", Style: term.Warn}
	case mutants.Absent, mutants.Skipped:
		return term.Text("-")
	}
	return term.Text("")
}

// mutantsVerdict is nil when each row is as it should be.
func mutantsVerdict(results []mutants.Result) error {
	var bad, unknown []string
	for _, r := range results {
		switch standing, _ := r.Judge(); standing {
		case mutants.Bad:
			bad = append(bad, r.Defect.ID)
		case mutants.Unknown:
			unknown = append(unknown, r.Defect.ID)
		}
	}
	switch {
	case len(bad) > 0:
		return report.Failed("%d of %d defects are not found as they should be: %s", len(bad), len(results), strings.Join(bad, ", "))
	case len(unknown) > 0:
		return fmt.Errorf("of %d defects the layer that should find them did not run: %s", len(unknown), strings.Join(unknown, ", "))
	}
	return nil
}

// plantedDefects is L8.
func plantedDefects() layers.Layer {
	return layers.Layer{ID: "L8", Name: "planted defects", Run: func(ctx context.Context, s layers.Settings) (layers.Outcome, error) {
		defects, err := mutants.Defects()
		if err != nil {
			return layers.Outcome{}, err
		}
		o := mutants.Options{Defects: defects, Depth: mutants.UntilNamed}
		switch s.Profile {
		case layers.Quick:
			o.Depth = mutants.OnlyNamed
			o.Defects = slices.DeleteFunc(defects, func(d mutants.Defect) bool { return !d.Quick })
		case layers.Full:
			o.Depth = mutants.AllLayers
		}
		results, err := plantDefects(ctx, o, s.Progress)
		out := layers.Outcome{What: fmt.Sprintf("%d mutants, controls included", len(results))}
		trials := 0
		for _, r := range results {
			for _, t := range r.Trials {
				if t.Verdict == mutants.Killed || t.Verdict == mutants.Survived {
					trials++
				}
			}
			switch standing, why := r.Judge(); standing {
			case mutants.Bad:
				out.Failed = append(out.Failed, r.Defect.ID+": "+why)
			case mutants.Unknown:
				out.NotRun = append(out.NotRun, r.Defect.ID+": "+why)
			}
		}
		if needless := mutants.Needless(results); s.Profile == layers.Full && len(needless) > 0 {
			out.Failed = append(out.Failed, "taken away without loss: "+strings.Join(needless, ", "))
		}
		killed, _ := mutants.Score(results, "")
		out.Did = report.Counts{{Name: "killed", N: int64(killed)}, {Name: "trials", N: int64(trials)}}
		return out, err
	}}
}
