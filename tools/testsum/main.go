// Testsum reads the output of `go test -json` from standard input, shows what a person needs of it, and closes with
// a line of counts:
//
//	412 passed, 0 failed, 3 skipped
//
// It exits 1 when a test or a build failed, and also when no test ran at all: an empty run proves nothing. What was
// skipped is listed with its reason, so that it isn't mistaken for what passed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	s := newSummary(os.Stdout)
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	if !s.close() {
		os.Exit(1)
	}
}

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output and build-fail, where Package is empty
	Test       string
	Output     string
	Elapsed    float64
}

type key struct{ pkg, test string }

type summary struct {
	out                     io.Writer
	passed, failed, skipped int
	broken                  bool             // a package failed to build or died outside a test
	failedIn                map[string]int   // package → failed tests
	output                  map[key][]string // held back until the test has ended
	skips                   []string
}

func newSummary(out io.Writer) *summary {
	return &summary{
		out:      out,
		failedIn: map[string]int{},
		output:   map[key][]string{},
	}
}

func (s *summary) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			s.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *summary) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(s.out, line) // not ours: a message of the go command or of make
		return
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "output":
		s.output[k] = append(s.output[k], e.Output)
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "build-fail":
		s.broken = true
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(k, e)
		} else {
			s.endTest(k, e)
		}
	}
}

func (s *summary) endTest(k key, e event) {
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
		s.failedIn[k.pkg]++
		s.show(k)
	case "skip":
		s.skipped++
		s.skips = append(s.skips, k.test+": "+reason(s.output[k]))
	}
	delete(s.output, k)
}

func (s *summary) endPackage(k key, e event) {
	if e.Action == "fail" && s.failedIn[k.pkg] == 0 {
		s.broken = true // a build error, a crash, a leak found by TestMain, or a time-out
		for other := range s.output {
			if other.pkg == k.pkg && other.test != "" {
				s.failed++ // it was running when the package died
				s.show(other)
				delete(s.output, other)
			}
		}
	}
	if e.Action == "fail" {
		s.show(k)
	}
	delete(s.output, k)
	if e.Action != "skip" { // a package without tests
		fmt.Fprintf(s.out, "%-4s %s %.1fs\n", map[string]string{"pass": "ok", "fail": "FAIL"}[e.Action], k.pkg, e.Elapsed)
	}
}

func (s *summary) show(k key) { fmt.Fprint(s.out, strings.Join(s.output[k], "")) }

// close prints the closing lines and says whether all is well.
func (s *summary) close() bool {
	slices.Sort(s.skips)
	for _, skip := range s.skips {
		fmt.Fprintln(s.out, "skipped", skip)
	}
	if s.passed+s.failed == 0 {
		fmt.Fprintln(s.out, "no test ran")
	}
	if s.broken && s.failed == 0 {
		s.failed = 1 // so that the counts never say that a broken package is well
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return !s.broken && s.failed == 0 && s.passed > 0
}

// reason finds what a test gave to Skip: the line before the one that says that it was skipped.
func reason(output []string) string {
	for i := len(output) - 1; i >= 0; i-- {
		text := strings.TrimSpace(output[i])
		if text != "" && !strings.HasPrefix(text, "---") && !strings.HasPrefix(text, "===") {
			return text
		}
	}
	return "no reason given"
}
