package layers

import (
	_ "embed"
	"html/template"
	"io"
	"maps"
	"slices"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
)

//go:embed page.html
var pageText string

// WriteHTML writes the report of a verification as one page that needs nothing else.
func WriteHTML(w io.Writer, r *report.Report, items []Item) error {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	return page.Execute(w, map[string]any{
		"Report": r,
		"Items":  items,
		"Keys":   slices.Sorted(maps.Keys(r.Environment)),
	})
}
