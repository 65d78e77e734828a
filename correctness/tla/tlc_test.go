package tla

import (
	"slices"
	"strings"
	"testing"
)

// tlcText writes messages the way TLC does with -tool.
func tlcText(messages ...string) []byte {
	var b strings.Builder
	for _, m := range messages {
		head, text, isMessage := strings.Cut(m, "|")
		if !isMessage {
			b.WriteString(m + "\n")
			continue
		}
		code, _, _ := strings.Cut(head, ":")
		b.WriteString("@!@!@STARTMSG " + head + " @!@!@\n" + text + "\n@!@!@ENDMSG " + code + " @!@!@\n")
	}
	return []byte(b.String())
}

var tlcDone = []string{
	"Parsing file S.tla", "2193:0|Model checking completed. No error has been found.",
	"2201:0|The coverage statistics", "2772:0|<Up line 1, col 1 to line 1, col 8 of module S>: 0:0",
	"2201:0|The coverage statistics", "2773:0|<Init line 1, col 1 to line 1, col 4 of module S>: 1:1",
	"2772:0|<Up line 1, col 1 to line 1, col 8 of module S>: 0:9", "2772:0|<Down line 2, col 1 to line 2, col 8 of module S>: 4:9",
	"2199:0|1,021 states generated, 112 distinct states found, 0 states left on queue.",
	"2194:0|The depth of the complete state graph search is 7.",
}

func TestReadingTLC(t *testing.T) {
	t.Parallel()
	safe := config{invariants: []string{"TypeOK"}}
	live := config{properties: []string{"Converges"}}
	two := config{properties: []string{"Converges", "Returns"}}
	for name, c := range map[string]struct {
		out  []string
		code int
		cfg  config
		want string // "" when there is no verdict
	}{
		"pass":                  {tlcDone, 0, safe, Pass},
		"invariant":             {[]string{"2110:1|Invariant TypeOK is violated.", "2199:0|4 states generated, 3 distinct states found, 1 states left"}, 12, safe, "TypeOK"},
		"initial state":         {[]string{"2107:1|Invariant TypeOK is violated by the initial state:\nx = 1"}, 12, safe, "TypeOK"},
		"action property":       {[]string{"2112:1|Action property Grows is violated."}, 13, live, "Grows"},
		"temporal property":     {[]string{"2116:1|Temporal properties were violated.\n"}, 13, live, "Converges"},
		"one of two":            {[]string{"2116:1|Temporal properties were violated.\n"}, 13, two, ""},
		"deadlock":              {[]string{"2114:1|Deadlock reached."}, 11, safe, Deadlock},
		"assumption":            {[]string{"2104:1|Assumption line 4, col 16 is false."}, 10, safe, Assumption},
		"warning":               {append([]string{"2144:3|The EXCEPT was applied to non-existing fields"}, tlcDone...), 0, safe, ""},
		"warning of the parser": {append([]string{"*** Warnings: 1", "", "line 3: declared twice"}, tlcDone...), 0, safe, ""},
		"parse error":           {[]string{"*** Errors: 1", "line 3"}, 150, safe, ""},
		"unfinished":            {[]string{"Starting"}, 0, safe, ""},
		"killed":                {[]string{"2193:0|Model"}, 1, safe, ""},
	} {
		report := parseTLC(tlcText(c.out...))
		got, err := report.verdict(c.code, c.cfg)
		if got.Got != c.want || (err == nil) == (c.want == "") {
			t.Errorf("%s: the verdict is %q (%v), and should be %q", name, got.Got, err, c.want)
		}
	}
	report := parseTLC(tlcText(tlcDone...))
	if report.generated != 1021 || report.distinct != 112 || report.depth != 7 || len(report.unfired()) != 0 {
		t.Errorf("read as %+v", report)
	}
	report = parseTLC(tlcText(tlcDone[:4]...))
	if got := report.unfired(); !slices.Equal(got, []string{"Up"}) {
		t.Errorf("actions that never happen: %v", got)
	}
}
