package layers

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
)

func layer(id string, outcome Outcome, err error) Layer {
	return Layer{ID: id, Name: "a layer", Run: func(context.Context, Settings) (Outcome, error) { return outcome, err }}
}

var (
	some    = report.Counts{{Name: "states", N: 12}}
	well    = layer("L1", Outcome{What: "1 configuration", Did: some, NotRun: []string{"refinement: needs TLC"}}, nil)
	broken  = layer("L2", Outcome{Did: some, Failed: []string{"NoLostJob <is> false\n  after 3 steps"}}, nil)
	idle    = layer("L3", Outcome{Did: report.Counts{{Name: "steps", N: 0}}}, nil)
	absent  = layer("L4", Outcome{}, errors.New("no PostgreSQL & no way to get one"))
	panicky = Layer{ID: "L5", Name: "a layer", Run: func(context.Context, Settings) (Outcome, error) { panic("out of range") }}
	halfway = layer("L6", Outcome{Did: some, Failed: []string{"a job was lost"}}, errors.New("the server is gone"))
)

func runAll(t *testing.T, all ...Layer) ([]Item, error) {
	t.Helper()
	progress := term.New(io.Discard, io.Discard, func(string) string { return "" }).Progress
	return RunAll(t.Context(), all, Settings{Profile: Quick, Progress: progress})
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		layers []Layer
		result string // of the last
		code   int
	}{
		"well":                             {[]Layer{well}, "ok", report.ExitOK},
		"a property failed":                {[]Layer{well, broken}, "FAILED", report.ExitFailed},
		"ran and did nothing":              {[]Layer{well, idle}, "FAILED", report.ExitFailed},
		"could not run":                    {[]Layer{well, absent}, "NOT RUN", report.ExitNotRun},
		"failed weighs more than not run":  {[]Layer{broken, absent}, "NOT RUN", report.ExitFailed},
		"a panic fails":                    {[]Layer{panicky}, "FAILED", report.ExitFailed},
		"the others run after a panic":     {[]Layer{panicky, well}, "ok", report.ExitFailed},
		"failed before it could not go on": {[]Layer{halfway}, "FAILED", report.ExitFailed},
		"no layer":                         {nil, "", report.ExitNotRun},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items, err := runAll(t, c.layers...)
			if code := report.ExitCode(err); code != c.code {
				t.Errorf("exit code %d, want %d: %v", code, c.code, err)
			}
			if len(items) != len(c.layers) {
				t.Fatalf("%d items for %d layers", len(items), len(c.layers))
			}
			if len(items) > 0 && items[len(items)-1].Result() != c.result {
				t.Errorf("%s, want %s", items[len(items)-1].Result(), c.result)
			}
		})
	}
}

func TestCancelledRunIsNoVerdict(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	progress := term.New(io.Discard, io.Discard, func(string) string { return "" }).Progress
	items, err := RunAll(ctx, []Layer{well}, Settings{Progress: progress})
	if report.ExitCode(err) != report.ExitNotRun || items[0].Ran {
		t.Errorf("%v, %+v", err, items)
	}
}

func TestItemAsJSON(t *testing.T) {
	t.Parallel()
	items, _ := runAll(t, absent)
	b, err := json.Marshal(items[0])
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"layer", "name", "ran", "why", "did", "seconds", "ok"} {
		if _, ok := back[key]; !ok {
			t.Errorf("no %q in %s", key, b)
		}
	}
}

func TestPrintSaysWhatDidNotRun(t *testing.T) {
	t.Parallel()
	items, _ := runAll(t, well, broken, idle, absent)
	var out bytes.Buffer
	Print(&term.Terminal{Out: &out}, items, report.Seconds(time.Minute))
	for _, want := range []string{
		"L1     a layer  1 configuration  12 states", "L1 not run: refinement: needs TLC",
		"L2 failed: NoLostJob <is> false\n      after 3 steps",
		"L3 failed: the layer ran and did nothing", "L4 did not run to its end: no PostgreSQL",
		"4 layers: 1 ok, 2 failed, 1 not run (and 1 parts of others), 60.0 s",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("colour where there is no terminal")
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	items, _ := runAll(t, well, broken, absent)
	var out bytes.Buffer
	if err := WriteJUnit(&out, items, report.Seconds(time.Second)); err != nil {
		t.Fatal(err)
	}
	var back junitSuite
	if err := xml.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatalf("not well formed: %v\n%s", err, out.String())
	}
	if back.Tests != 3 || back.Failures != 1 || back.Errors != 1 || len(back.Cases) != 3 {
		t.Errorf("%d tests, %d failures, %d errors, %d cases", back.Tests, back.Failures, back.Errors, len(back.Cases))
	}
	if f := back.Cases[1].Failure; f == nil || f.Message != "NoLostJob <is> false" {
		t.Errorf("the failure came back as %+v", f)
	}
	if e := back.Cases[2].Error; e == nil || !strings.Contains(e.Text, "PostgreSQL & no way") {
		t.Errorf("the error came back as %+v", e)
	}
}

func TestHTML(t *testing.T) {
	t.Parallel()
	items, err := runAll(t, well, broken, absent)
	r := report.New("verify")
	r.End(err, time.Second)
	var out bytes.Buffer
	if err := WriteHTML(&out, r, items); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, want := range []string{"12 states", "NoLostJob &lt;is&gt; false", "PostgreSQL &amp; no way", "NOT RUN", "1 of 3 layers failed"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	for _, elsewhere := range []string{"<script", "http://", "https://", "<link"} {
		if strings.Contains(page, elsewhere) {
			t.Errorf("the page isn't self-contained: %q", elsewhere)
		}
	}
}
