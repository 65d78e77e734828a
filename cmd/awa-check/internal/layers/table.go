package layers

import (
	"fmt"
	"strings"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
)

// Print shows the items as a table, then whatever a row has no room for.
func Print(t *term.Terminal, items []Item, took report.Seconds) {
	table := term.NewTable(
		term.Column{Title: "layer"}, term.Column{Title: "name"}, term.Column{Title: "what ran"},
		term.Column{Title: "how much"}, term.Column{Title: "seconds", Right: true}, term.Column{Title: "result"},
	)
	counts, parts := map[string]int{}, 0
	for _, i := range items {
		parts += len(i.NotRun)
		style := map[string]term.Style{"ok": term.Good, "NOT RUN": term.Warn, "FAILED": term.Bad}[i.Result()]
		counts[i.Result()]++
		table.Row(term.Text(i.Layer), term.Text(i.Name), term.Text(i.What), term.Text(i.Did.String()),
			term.Text(i.Seconds.String()), term.Cell{Text: i.Result(), Style: style})
	}
	t.PrintTable(table)
	for _, i := range items {
		printRest(t, i)
	}
	t.Printf("\n%d layers: %d ok, %d failed, %d not run (and %d parts of others), %s s\n",
		len(items), counts["ok"], counts["FAILED"], counts["NOT RUN"], parts, took)
}

func printRest(t *term.Terminal, i Item) {
	if i.Why != "" {
		t.Printf("\n%s did not run to its end: %s\n", i.Layer, indented(i.Why))
	}
	for _, failed := range i.Failed {
		t.Printf("\n%s %s: %s\n", i.Layer, t.Paint(term.Bad, "failed"), indented(failed))
	}
	for _, part := range i.NotRun {
		t.Printf("\n%s %s: %s\n", i.Layer, t.Paint(term.Warn, "not run"), indented(part))
	}
}

func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", fmt.Sprintf("\n%4s", ""))
}
