package mapping

import (
	"strings"
	"unicode/utf8"
)

// document is Markdown with lines of a readable length: only tables have longer ones.
type document struct{ strings.Builder }

const width = 118

// preface says how to read the file.
const preface = `# Mapping

One operation has one name on every side: in the engine, in the model that judges it, in the specs, in the tests. This
file is the table of those names, and of what else has to mean the same: state, and what must hold of it.

**It is generated.** ` + "`awa-check mapping --write`" + ` makes it of the code, the specs and
[notes.txt](mapping/notes.txt), which holds what can't be derived; ` + "`awa-check mapping`" + ` and a test compare. A name
without a row, a row whose name is gone, a side with nothing and no reason why: each fails, so that what stands here is
so.

How to read it:

- **–** means that a side has no counterpart; the reason stands beside it.
- *Statements* are named templates in ` + "`engine/*.sql`" + `, in the files of the operation and in those that it shares.
  Which statement is asked for by whom is taken from the calls, not from the comments.
- *Tests* are the engine's, in files named after the operation or after its Go file, that come to it; where there are
  none, those that call it. Beside them the lockstep runs draw every action of the model, and the explorer tries it in
  every state of its worlds.
- *Scenarios* (` + "`model/testdata/scenarios`" + `) and *seeds* (` + "`fuzz/seeds`" + `) are the stories that have the
  operation in them.
- *Wrong on purpose* is how we know that a defect would be found: in the engine, by a seed that a planted defect gave;
  in the model, by a wrong rule and who finds it; in the spec, by a variant and what it violates.
- P1 to P12 are the promises that an invariant guards.
`

func (b *builder) document() string {
	d := &document{}
	d.WriteString(preface)
	b.operationTables(d)
	b.statementTable(d)
	b.variableTables(d)
	b.invariantTables(d)
	return d.String()
}

func (d *document) heading(level int, title string) {
	if !strings.HasSuffix(d.String(), "\n\n") {
		d.WriteString("\n")
	}
	d.WriteString(strings.Repeat("#", level) + " " + title + "\n\n")
}

// prose writes a paragraph.
func (d *document) prose(text string) { d.WriteString(wrap(text, "", "") + "\n") }

// item writes an item of a list, unless it is empty.
func (d *document) item(title, text string) {
	if text != "" {
		d.WriteString(wrap("**"+title+"** "+text, "- ", "  "))
	}
}

// wrap breaks a text between words.
func wrap(text, first, next string) string {
	var b strings.Builder
	line := first
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	b.WriteString(line + "\n")
	return b.String()
}

// table writes a table as Markdown wants it. What stands in cells has no line breaks and no bars of its own.
func (d *document) table(head []string, rows [][]string) {
	line := func(cells []string) {
		for _, cell := range cells {
			d.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		d.WriteString("|\n")
	}
	line(head)
	d.WriteString(strings.Repeat("| --- ", len(head)) + "|\n")
	for _, row := range rows {
		line(row)
	}
}
