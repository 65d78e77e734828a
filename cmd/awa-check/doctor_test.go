package main

import (
	"strings"
	"testing"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
)

func TestDiagnosis(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found []string
		want  string // in the error, "" for none
	}{
		"all is there":           {[]string{namePostgres, nameTLC, nameTLAChecker}, ""},
		"one checker is enough":  {[]string{namePostgres, nameTLAChecker}, ""},
		"no server":              {[]string{nameTLC}, "PostgreSQL"},
		"no checker":             {[]string{namePostgres, "Java", "npm"}, "TLC or tla-checker"},
		"nothing that is needed": {nil, "PostgreSQL"},
	} {
		var all []found
		for _, thing := range c.found {
			all = append(all, found{Name: thing, Found: true})
		}
		all = append(all, found{Name: "Docker"})
		err := diagnosis(all)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && report.ExitCode(err) != report.ExitNotRun {
			t.Errorf("%s: exit code %d", name, report.ExitCode(err))
		}
	}
}
