package awa_test

import (
	"path"
	"regexp"
	"strings"
)

// checkRecords reads the accounts of the decision records: each row is held by something that exists, or says why nothing
// has to.
func checkRecords(tr *tree, f *findings) {
	const page = "docs/records.md"
	held := regexp.MustCompile("`([^`]+)`")
	known := evidence(tr)
	for i, line := range strings.Split(tr.text[page], "\n") {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| promise ") {
			if strings.HasPrefix(line, "| ") && len(cells) != 3 {
				f.breach("%s:%d: %d columns, want 3", page, i+1, len(cells))
			}
			continue
		}
		shown := strings.TrimSpace(cells[2])
		names := held.FindAllStringSubmatch(shown, -1)
		if len(names) == 0 && !strings.HasPrefix(shown, "not applicable: ") {
			f.breach("%s:%d: nothing holds this promise", page, i+1)
		}
		for _, name := range names {
			if !known[name[1]] {
				f.breach("%s:%d: %s is no test, defect, scenario or check of the audit", page, i+1, name[1])
			}
		}
	}
}

var breachOfRecords = &tree{text: map[string]string{"docs/records.md": "| promise | here | shown by |\n| --- | --- | --- |\n| all | yes | `TestOfNothing` |\n"}}

// evidence are the names of what may hold a promise.
func evidence(tr *tree) map[string]bool {
	known := map[string]bool{}
	test := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	check := regexp.MustCompile(`(?m)^\t\{"(\w+)", "P\d+"`)
	for _, name := range tr.paths(".go", ".txt") {
		switch {
		case strings.HasPrefix(name, "mutants/defects/"), strings.HasPrefix(name, "fuzz/schedule/scenarios/"):
			known[strings.TrimSuffix(path.Base(name), ".txt")] = true
		case strings.HasSuffix(name, "_test.go"):
			for _, m := range test.FindAllStringSubmatch(tr.text[name], -1) {
				known[m[1]] = true
			}
		case name == "engine/audit.go":
			for _, m := range check.FindAllStringSubmatch(tr.text[name], -1) {
				known[m[1]] = true
			}
		}
	}
	return known
}
