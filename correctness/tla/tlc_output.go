package tla

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tlcReport is what TLC prints with -tool: messages with a code and a severity, one inside the other at times, and
// between them lines of the parser.
type tlcReport struct {
	distinct, generated, depth int
	finished                   bool
	violated                   string
	coverage                   map[string]int // action → steps found, from the last report
	errors, warnings, trace    []string
}

// The codes of the messages that we look at.
const (
	tlcSuccess       = 2193
	tlcDepth         = 2194
	tlcStats         = 2199
	tlcCoverageStart = 2201
	tlcCoverageNext  = 2772
	tlcState         = 2217
	tlcBackToState   = 2122
	tlcStuttering    = 2218
)

// The severities.
const (
	tlcError   = 1
	tlcBug     = 2
	tlcWarning = 3
)

var (
	tlcStart  = regexp.MustCompile(`^@!@!@STARTMSG (\d+)(?::(\d+))? @!@!@$`)
	tlcEnd    = regexp.MustCompile(`^@!@!@ENDMSG (\d+) @!@!@$`)
	tlcNamed  = regexp.MustCompile(`^(?:Invariant|Action property|Property) (\w+) is violated`)
	tlcCounts = regexp.MustCompile(`([\d,]+) states generated.*?([\d,]+) distinct states found`)
	tlcLevels = regexp.MustCompile(`graph search is (\d+)`)
	tlcAction = regexp.MustCompile(`^<(\w+)[^>]*>: (\d+):(\d+)`)
)

type tlcMessage struct {
	code, severity int
	lines          []string
}

func parseTLC(out []byte) tlcReport {
	report := tlcReport{coverage: map[string]int{}}
	var open []tlcMessage
	var parser *[]string // where the parser's lines go, which are in no message: its warnings follow its errors
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		if m := tlcStart.FindStringSubmatch(line); m != nil {
			code, _ := strconv.Atoi(m[1])     // digits
			severity, _ := strconv.Atoi(m[2]) // digits or nothing
			open = append(open, tlcMessage{code: code, severity: severity})
			continue
		}
		if tlcEnd.MatchString(line) && len(open) > 0 {
			report.take(open[len(open)-1])
			open = open[:len(open)-1]
			continue
		}
		if len(open) > 0 {
			open[len(open)-1].lines = append(open[len(open)-1].lines, line)
			continue
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		switch {
		case strings.HasPrefix(line, "*** Warnings"):
			parser = &report.warnings
		case strings.HasPrefix(line, "*** Errors"), strings.HasPrefix(line, "***Parse Error"), strings.HasPrefix(line, "Fatal"):
			parser = &report.errors
		}
		if parser != nil {
			*parser = append(*parser, line)
		}
	}
	for _, m := range open { // TLC died
		report.errors = append(report.errors, strings.Join(m.lines, " "))
	}
	return report
}

func (r *tlcReport) take(m tlcMessage) {
	text := strings.Join(m.lines, "\n")
	switch m.severity {
	case tlcWarning:
		r.warnings = append(r.warnings, text)
		return
	case tlcError, tlcBug:
		r.errors = append(r.errors, text)
		if named := tlcNamed.FindStringSubmatch(text); named != nil && r.violated == "" {
			r.violated = named[1]
		}
		return
	}
	switch m.code {
	case tlcSuccess:
		r.finished = true
	case tlcStats:
		if counts := tlcCounts.FindStringSubmatch(text); counts != nil {
			r.generated, r.distinct = number(counts[1]), number(counts[2])
		}
	case tlcDepth:
		if levels := tlcLevels.FindStringSubmatch(text); levels != nil {
			r.depth = number(levels[1])
		}
	case tlcCoverageStart:
		clear(r.coverage)
	case tlcCoverageNext:
		if action := tlcAction.FindStringSubmatch(text); action != nil {
			r.coverage[action[1]] += number(action[3])
		}
	case tlcState, tlcBackToState, tlcStuttering:
		r.trace = append(r.trace, text)
	}
}

func (r *tlcReport) unfired() []string {
	var names []string
	for name, steps := range r.coverage {
		if steps == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// trouble is what went wrong, in TLC's words.
func (r *tlcReport) trouble() string {
	all := slices.Concat(r.errors, r.warnings)
	if len(all) == 0 {
		return "TLC says nothing"
	}
	return strings.Join(all, "; ")
}

func number(digits string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(digits, ",", "")) // digits and commas
	return n
}
