package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// readMatrix reads the cells: a line without indent names an operation; an indented one says "answer -> after:", and the
// places that this is true of, which may go on in lines that are indented more.
func readMatrix(text string) (map[string]map[string]cell, error) {
	matrix := map[string]map[string]cell{}
	var op string
	var c cell
	for n, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch indent := len(line) - len(strings.TrimLeft(line, " ")); {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
			continue
		case indent == 0:
			op = trimmed
			if matrix[op] != nil {
				return nil, fmt.Errorf("line %d: %s stands twice", n+1, op)
			}
			matrix[op] = map[string]cell{}
			continue
		case indent == 2:
			told, places, ok := strings.Cut(trimmed, ":")
			answer, after, arrow := strings.Cut(told, " -> ")
			if !ok || !arrow {
				return nil, fmt.Errorf("line %d isn't \"answer -> after: places\"", n+1)
			}
			c, trimmed = cell{answer, after}, places
		}
		for _, place := range strings.Fields(trimmed) {
			if _, twice := matrix[op][place]; twice {
				return nil, fmt.Errorf("line %d: %s of %s stands twice", n+1, op, place)
			}
			matrix[op][place] = c
		}
	}
	return matrix, nil
}

// tell writes an operation's cells as they stand in the file, those with one result together.
func tell(op string, cells map[string]cell) string {
	var b strings.Builder
	fmt.Fprintln(&b, op)
	var results []cell
	of := map[cell][]string{}
	for _, p := range matrixPlaces {
		c := cells[p.name()]
		if of[c] == nil {
			results = append(results, c)
		}
		of[c] = append(of[c], p.name())
	}
	slices.SortStableFunc(results, func(a, b cell) int { return strings.Compare(a.String(), b.String()) })
	for _, c := range results {
		line := fmt.Sprintf("  %s:", c)
		for _, place := range of[c] {
			if len(line)+1+len(place) > 118 {
				fmt.Fprintln(&b, line)
				line = "   "
			}
			line += " " + place
		}
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

func TestReadMatrix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Op\n  ok -> unchanged: a b\n    c\n":                 "",
		"Op\n  ok: a\n":                                       "isn't \"answer -> after: places\"",
		"Op\n  ok -> x: a\nOp\n":                              "stands twice",
		"Op\n  ok -> unchanged: a\n  stale -> unchanged: a\n": "stands twice",
	} {
		m, err := readMatrix(text)
		switch {
		case want == "" && (err != nil || len(m["Op"]) != 3):
			t.Errorf("%q: %v, %v", text, m, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
