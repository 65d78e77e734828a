package main

import (
	"bytes"
	"strings"
	"testing"
)

var cases = []struct {
	name, in string
	ok       bool
	want     []string
}{
	{
		"passes and skips are counted apart",
		`{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: needs Java\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Elapsed":1.25}
`,
		true,
		[]string{"ok   p 1.2s\n", "skipped TestB: b_test.go:3: needs Java\n", "\n1 passed, 0 failed, 1 skipped\n"},
	},
	{
		"a failure shows its output",
		`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"b_test.go:3: lost a job\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
`,
		false,
		[]string{"lost a job", "FAIL p", "1 passed, 1 failed, 0 skipped\n"},
	},
	{
		"a build error fails although no test did",
		`{"Action":"pass","Package":"p","Test":"TestA"}
{"ImportPath":"q","Action":"build-output","Output":"q.go:1: undefined: x\n"}
{"ImportPath":"q","Action":"build-fail"}
{"Action":"fail","Package":"q"}
`,
		false,
		[]string{"undefined: x", "1 passed, 1 failed, 0 skipped\n"},
	},
	{
		"a test that was running when the package died has failed",
		`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"p"}
`,
		false,
		[]string{"timed out", "1 passed, 1 failed, 0 skipped\n"},
	},
	{"an empty run is no proof", "", false, []string{"no test ran\n0 passed, 0 failed, 0 skipped\n"}},
	{
		"what isn't JSON is passed on",
		"go: downloading something\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n",
		true,
		[]string{"go: downloading something\n", "1 passed, 0 failed, 0 skipped\n"},
	},
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s := newSummary(&out)
			if err := s.read(strings.NewReader(c.in)); err != nil {
				t.Fatal(err)
			}
			if ok := s.close(); ok != c.ok {
				t.Errorf("well = %v, want %v", ok, c.ok)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q:\n%s", want, out.String())
				}
			}
		})
	}
}
