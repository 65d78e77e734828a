package tla

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// longestLine bounds a line of a state graph: it holds one state.
const longestLine = 16 << 20

// readDot reads a state graph as TLC (-dump dot,actionlabels) or tla-checker prints it. TLC marks initial states;
// tla-checker doesn't, but numbers them first, so that Init may be filled in by the caller.
func readDot(r io.Reader) (Graph, error) {
	d := dotReader{index: map[string]int{}, seen: map[string]int{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		if err := d.line(strings.TrimSpace(lines.Text())); err != nil {
			return Graph{}, fmt.Errorf("line %d of the state graph: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Graph{}, fmt.Errorf("reading a state graph: %w", err)
	}
	for id, i := range d.index {
		if d.graph.States[i] == "" {
			return Graph{}, fmt.Errorf("the state graph has an edge with %s, but not that state", id)
		}
	}
	return d.graph, nil
}

type dotReader struct {
	graph Graph
	index map[string]int // the checker's name of a state → its number
	seen  map[string]int // canonical text → its number
}

func (d *dotReader) line(line string) error {
	head, attributes, ok := strings.Cut(line, " [")
	if !ok || head == "node" {
		return ignorable(line)
	}
	label, rest, err := dotLabel(attributes)
	if err != nil {
		return err
	}
	if from, to, ok := strings.Cut(head, " -> "); ok {
		action, _, _ := strings.Cut(label, "(") // newer TLC adds the parameters
		d.graph.Edges = append(d.graph.Edges, Edge{d.number(from), action, d.number(to)})
		return nil
	}
	text, err := parseState(label)
	if err != nil {
		return err
	}
	i := d.number(head)
	if other, ok := d.seen[text]; ok && other != i {
		return fmt.Errorf("two states have the text %s", text)
	}
	d.seen[text], d.graph.States[i] = i, text
	if strings.Contains(rest, "style = filled") {
		d.graph.Init = append(d.graph.Init, i)
	}
	return nil
}

func (d *dotReader) number(id string) int {
	i, ok := d.index[id]
	if !ok {
		i = len(d.graph.States)
		d.index[id] = i
		d.graph.States = append(d.graph.States, "")
	}
	return i
}

// ignorable knows the lines that are there for looks; any other could be a state that we fail to read.
func ignorable(line string) error {
	for _, prefix := range []string{"strict digraph ", "digraph ", "nodesep=", "subgraph ", "color=", "rankdir=", "node [", "{rank = same;", "}"} {
		if line == "" || strings.HasPrefix(line, prefix) {
			return nil
		}
	}
	return fmt.Errorf("%.80q is no state, edge or decoration", line)
}

// dotLabel takes the label out of a list of attributes that it begins.
func dotLabel(attributes string) (label, rest string, err error) {
	quoted, ok := strings.CutPrefix(attributes, `label="`)
	if !ok {
		return "", "", fmt.Errorf("no label in %.80q", attributes)
	}
	var b strings.Builder
	for i := 0; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '"':
			return b.String(), quoted[i+1:], nil
		case c == '\\' && i+1 < len(quoted):
			i++
			if quoted[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(quoted[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("a label without end: %.80q", attributes)
}
