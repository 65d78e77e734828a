package term

import (
	"strings"
	"unicode/utf8"
)

// Table lays out cells in columns. The styles don't count for the width.
type Table struct {
	columns []Column
	rows    [][]Cell
}

// Column is a heading; the cells under it stand at its left, or at its right when Right is set.
type Column struct {
	Title string
	Right bool
}

// Cell is a text on one line.
type Cell struct {
	Text  string
	Style Style
}

// NewTable begins a table.
func NewTable(columns ...Column) *Table { return &Table{columns: columns} }

// Row adds a row; what is missing at its end stays empty.
func (t *Table) Row(cells ...Cell) {
	row := make([]Cell, len(t.columns))
	copy(row, cells)
	for i := range row {
		row[i].Text = strings.Join(strings.Fields(row[i].Text), " ")
	}
	t.rows = append(t.rows, row)
}

// Text makes a plain cell.
func Text(text string) Cell { return Cell{Text: text} }

// PrintTable writes a table to Out.
func (t *Terminal) PrintTable(table *Table) {
	head := make([]Cell, len(table.columns))
	widths := make([]int, len(table.columns))
	for i, c := range table.columns {
		head[i] = Cell{Text: c.Title, Style: Bold}
	}
	rows := append([][]Cell{head}, table.rows...)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	for _, row := range rows {
		t.Printf("%s\n", t.line(table.columns, widths, row))
	}
}

func (t *Terminal) line(columns []Column, widths []int, row []Cell) string {
	var b strings.Builder
	pending := 0 // spaces that are only written when something follows them
	for i, cell := range row {
		if cell.Text == "" {
			pending += widths[i] + 2
			continue
		}
		space := widths[i] - utf8.RuneCountInString(cell.Text)
		if columns[i].Right {
			pending, space = pending+space, 0
		}
		b.WriteString(strings.Repeat(" ", pending) + t.Paint(cell.Style, cell.Text))
		pending = space + 2
	}
	return b.String()
}
