package mapping

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// schema is what the migrations create.
type schema struct {
	tables    []table
	sequences []string // but for those of lanes, which the registration of a queue makes
}

// table is one table; a table that each ring has is there twice.
type table struct {
	name    string
	columns []string
}

var (
	// createTable finds a table written over several lines, or on one. A partition has no columns of its own.
	createTable    = regexp.MustCompile(`(?ms)^CREATE TABLE \{\{\$?\.S\}\}\.(\S+) \((?:\n(.*?)^\)|([^\n]*)\);$)`)
	columnHead     = regexp.MustCompile(`(?m)^ {4}([a-z]\w*) +[a-z]`)
	addColumn      = regexp.MustCompile(`(?m)^ALTER TABLE \{\{\$?\.S\}\}\.(\S+)\s+ADD COLUMN (\w+)`)
	createSequence = regexp.MustCompile(`(?m)^CREATE SEQUENCE \{\{\$?\.S\}\}\.(\w+)`)
)

// ringPrefix is how a migration names a table that it makes for each ring.
const ringPrefix = "{{$ring.Name}}"

// readSchema reads the migrations in their order.
func readSchema(tree fs.FS) (schema, error) {
	var s schema
	files, err := fs.Glob(tree, "engine/schema/*.sql")
	if err != nil {
		return s, err
	}
	for _, name := range files {
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return s, err
		}
		s.add(string(content))
	}
	return s, nil
}

func (s *schema) add(migration string) {
	for _, m := range createTable.FindAllStringSubmatch(migration, -1) {
		for _, name := range bothRings(m[1]) {
			t := table{name: name}
			for _, column := range columnHead.FindAllStringSubmatch(m[2]+"    "+m[3], -1) {
				t.columns = append(t.columns, column[1])
			}
			s.tables = append(s.tables, t)
		}
	}
	for _, m := range addColumn.FindAllStringSubmatch(migration, -1) {
		for i := range s.tables {
			if slices.Contains(bothRings(m[1]), s.tables[i].name) {
				s.tables[i].columns = append(s.tables[i].columns, m[2])
			}
		}
	}
	for _, m := range createSequence.FindAllStringSubmatch(migration, -1) {
		s.sequences = append(s.sequences, m[1])
	}
}

// bothRings gives the names that a name of a migration stands for.
func bothRings(name string) []string {
	if rest, ok := strings.CutPrefix(name, ringPrefix); ok {
		return []string{"queue" + rest, "claim" + rest}
	}
	return []string{name}
}
