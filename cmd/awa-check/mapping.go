package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
	"github.com/awa-engine/awa/correctness/mapping"
)

// mappingItem is an item of the mapping command's JSON: a table with its rows, or something that is wrong.
type mappingItem struct {
	Table   string `json:"table,omitempty"`
	Rows    int    `json:"rows,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func (a *app) mapping() *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "mapping",
		Short: "Compare the names of engine, model, specs and tests",
		Long: `Makes the table of which names mean the same thing in the engine, the model, the specs and the tests, and compares it
with ` + mapping.File + `. Exit code 1 says what is out of date, or which name has no row, or no counterpart and no
reason why: reasons stand in correctness/mapping/notes.txt.

It reads the source, so it runs in a clone, in any folder of it.`,
		Example: `  awa-check mapping
  awa-check mapping --write`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&write, "write", false, "write "+mapping.File+" anew")
	cmd.RunE = a.does(func(_ context.Context, r *report.Report, _ []string) error {
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		m, err := mapping.Make(os.DirFS(root))
		if err != nil {
			return err
		}
		problems := m.Problems
		file := filepath.Join(root, filepath.FromSlash(mapping.File))
		committed, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		drift := m.Drift(string(committed))
		switch {
		case !write:
			problems = append(problems, drift...)
		case len(drift) > 0:
			if err := os.WriteFile(file, []byte(m.Text), 0o644); err != nil {
				return err
			}
		}
		a.printMapping(r, m, problems)
		switch {
		case len(problems) == 0:
			return nil
		case len(problems) == len(m.Problems):
			return report.Failed("%d problems, in the source or in correctness/mapping/notes.txt", len(problems))
		}
		return report.Failed("%s is out of date: see what differs, then run awa-check mapping --write", mapping.File)
	})
	return cmd
}

func (a *app) printMapping(r *report.Report, m *mapping.Mapping, problems []string) {
	table := term.NewTable(term.Column{Title: "table"}, term.Column{Title: "rows", Right: true})
	for _, name := range mapping.Tables() {
		r.Items = append(r.Items, mappingItem{Table: name, Rows: m.Rows[name]})
		table.Row(term.Text(name), term.Text(fmt.Sprint(m.Rows[name])))
	}
	a.term.PrintTable(table)
	for _, p := range problems {
		r.Items = append(r.Items, mappingItem{Problem: p})
		a.term.Printf("%s %s\n", a.term.Paint(term.Bad, "wrong:"), p)
	}
}

// moduleRoot finds the folder of our go.mod, from the working folder upwards.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/awa-engine/awa\n") {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("this isn't a clone of github.com/awa-engine/awa: run it in one")
		}
		dir = above
	}
}
