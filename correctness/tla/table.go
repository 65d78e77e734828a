package tla

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// TableName is the file with the expectations, beside the specs.
const TableName = "expectations.json"

// Row is what one configuration of a module should give.
type Row struct {
	// Spec is the module that the row is about; Module is the one that is checked, often one that extends it.
	Spec   string `json:"spec"`
	Module string `json:"module"`
	Config string `json:"config"`
	// Expect is "pass", "deadlock", or the name of the invariant or property that has to be violated.
	Expect string `json:"expect"`
	// Kind is "safety" or "liveness".
	Kind string `json:"kind"`
	// Graph names the configuration of the explorer whose graph is the same; "" when there is none.
	Graph string `json:"graph"`
	// Distinct, Depth and GraphHash are what TLC found when this was last written: 0 and "" where nothing is compared,
	// as in a row that has to fail, where they depend on the order of the search.
	Distinct  int    `json:"distinct"`
	Depth     int    `json:"depth"`
	GraphHash string `json:"graph_hash"`
	// Needs is "tlc" where no other checker can judge the row.
	Needs string `json:"needs"`
}

// ReadTable reads the expectations and checks that they are complete.
func ReadTable(specs fs.FS) ([]Row, error) {
	text, err := fs.ReadFile(specs, TableName)
	if err != nil {
		return nil, err
	}
	var rows []Row
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&rows); err != nil {
		return nil, fmt.Errorf("%s: %w", TableName, err)
	}
	if err := checkTable(specs, rows); err != nil {
		return nil, fmt.Errorf("%s: %w", TableName, err)
	}
	return rows, nil
}

// checkTable refuses a table that could be satisfied without showing anything: each spec has a row that passes and one
// that fails, and each temporal property that holds somewhere is violated elsewhere.
func checkTable(specs fs.FS, rows []Row) error {
	passes, fails := map[string]bool{}, map[string]bool{}
	violated := map[string]bool{}
	for i, row := range rows {
		if err := row.check(); err != nil {
			return err
		}
		same := func(other Row) bool { return other.Module == row.Module && other.Config == row.Config }
		if slices.ContainsFunc(rows[:i], same) {
			return fmt.Errorf("%s with %s has two rows", row.Module, row.Config)
		}
		passes[row.Spec] = passes[row.Spec] || row.Expect == Pass
		fails[row.Spec] = fails[row.Spec] || row.Expect != Pass
		violated[row.Expect] = true
	}
	for _, row := range rows {
		if !passes[row.Spec] || !fails[row.Spec] {
			return fmt.Errorf("%s needs a row that passes and a broken variant that fails", row.Spec)
		}
		cfg, err := readConfig(specs, row.Config)
		if err != nil {
			return err
		}
		for _, property := range cfg.properties {
			if !violated[property] {
				return fmt.Errorf("%s with %s claims %s, and no row shows that it can be violated", row.Module, row.Config, property)
			}
		}
	}
	return nil
}

func (r Row) check() error {
	switch {
	case r.Spec == "" || r.Module == "" || r.Config == "" || r.Expect == "":
		return fmt.Errorf("a row lacks its spec, module, config or expect: %+v", r)
	case r.Kind != "safety" && r.Kind != "liveness":
		return fmt.Errorf("%s: the kind is safety or liveness, not %q", r.Config, r.Kind)
	case r.Needs != "" && r.Needs != TLC:
		return fmt.Errorf("%s: what a row may need is %s, not %q", r.Config, TLC, r.Needs)
	case r.Graph != "" && r.Expect != Pass:
		return fmt.Errorf("%s: a spec that fails has no whole graph to compare", r.Config)
	}
	return nil
}

// WriteTable replaces a table of expectations.
func WriteTable(path string, rows []Row) error {
	text := []byte("[")
	for i, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n  "...), line...)
	}
	text = append(text, "\n]\n"...)
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	if err := os.WriteFile(part, text, 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// Update takes over what TLC found for the rows that it judged well; items of other checkers change nothing.
func Update(rows []Row, items []Item) []Row {
	rows = slices.Clone(rows)
	for _, item := range items {
		if item.Checker != TLC || !item.Ran || item.Got != Pass || item.Expect != Pass {
			continue
		}
		for i := range rows {
			if rows[i].Module == item.Module && rows[i].Config == item.Config {
				rows[i].Distinct, rows[i].Depth, rows[i].GraphHash = item.Distinct, item.Depth, item.GraphHash
			}
		}
	}
	return rows
}
