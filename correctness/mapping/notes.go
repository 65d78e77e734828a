package mapping

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// notesFile is what people write; all else is derived.
const notesFile = "correctness/mapping/notes.txt"

// notes are the hand-written cells, by row and side.
type notes struct {
	sections []*section
	problems []string
}

// section holds the cells of one row: a line `[kind name]`, then `side: text` lines. A line that begins with a space
// goes on with the text before.
type section struct {
	kind, name string
	line       int
	cells      map[string]string
	used       bool
}

// sides are the cells that each kind of row may have.
var sides = map[string][]string{
	"operation": {"model", "tla", "engine", "statements", "tests", "lockstep", "note"},
	"spec":      {"model"},
	"variable":  {"model", "engine"},
	"field":     {"engine"},
	"table":     {"besides"},
	"invariant": {"spec", "model", "engine"},
}

// reason begins a cell that says why there is nothing.
const reason = "– "

var sectionHead = regexp.MustCompile(`^\[(\w+) ([^\]]+)\]$`)

func readNotes(tree fs.FS) (*notes, error) {
	content, err := fs.ReadFile(tree, notesFile)
	if err != nil {
		return nil, err
	}
	n := &notes{}
	var current *section
	side := ""
	for i, line := range strings.Split(string(content), "\n") {
		wrong := func(what string) { n.problems = append(n.problems, fmt.Sprintf("%s:%d: %s", notesFile, i+1, what)) }
		switch m := sectionHead.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case m != nil:
			current, side = &section{kind: m[1], name: m[2], line: i + 1, cells: map[string]string{}}, ""
			if sides[m[1]] == nil {
				wrong("there is no table of " + m[1])
			}
			if n.find(m[1], m[2]) != nil {
				wrong("a second section for " + m[1] + " " + m[2])
			}
			n.sections = append(n.sections, current)
		case strings.HasPrefix(line, " ") && side != "":
			current.cells[side] += " " + strings.TrimSpace(line)
		case current == nil:
			wrong("this stands in no section")
		default:
			name, text, ok := strings.Cut(line, ": ")
			if !ok || !slices.Contains(sides[current.kind], name) {
				wrong(fmt.Sprintf("%q is no side of a row of %s: %s", name, current.kind, strings.Join(sides[current.kind], ", ")))
				continue
			}
			side = name
			current.cells[side] = strings.TrimSpace(text)
		}
	}
	return n, nil
}

func (n *notes) find(kind, name string) *section {
	for _, s := range n.sections {
		if s.kind == kind && s.name == name {
			return s
		}
	}
	return nil
}

// of gives the cells of a row, which may be none, and notes that there is such a row.
func (n *notes) of(kind, name string) map[string]string {
	s := n.find(kind, name)
	if s == nil {
		return nil
	}
	s.used = true
	return s.cells
}

// unused lists the sections whose row is gone.
func (n *notes) unused() []string {
	var all []string
	for _, s := range n.sections {
		if !s.used && sides[s.kind] != nil {
			all = append(all, fmt.Sprintf("%s:%d: the %s %s is gone", notesFile, s.line, s.kind, s.name))
		}
	}
	return all
}

var quoted = regexp.MustCompile("`([^`]+)`")

// unknown lists the names in the notes that nothing has any more.
func (n *notes) unknown(known map[string]bool) []string {
	var all []string
	for _, s := range n.sections {
		for _, side := range sides[s.kind] {
			for _, m := range quoted.FindAllStringSubmatch(s.cells[side], -1) {
				if !known[m[1]] {
					all = append(all, fmt.Sprintf("%s:%d: %s %s: nothing is called `%s` (any more)", notesFile, s.line, s.kind, s.name, m[1]))
				}
			}
		}
	}
	return all
}

// firstQuoted is the name that a cell begins with, "" when it gives a reason instead.
func firstQuoted(cell string) string {
	if m := quoted.FindStringSubmatch(cell); m != nil && !strings.HasPrefix(cell, reason) {
		return m[1]
	}
	return ""
}
