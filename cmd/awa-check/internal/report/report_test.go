package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"all is well":                         {nil, 0},
		"a property failed":                   {Failed("a job was lost"), 1},
		"wrapped":                             {fmt.Errorf("lockstep: %w", Failed("a job was lost")), 1},
		"failed, and the report wasn't saved": {errors.Join(Failed("a job was lost"), errors.New("disk full")), 1},
		"could not run":                       {errors.New("no server"), 2},
	} {
		if got := ExitCode(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	r := New("verify")
	r.Items = append(r.Items, Counts{{"states", 11720}, {"edges", 25173}})
	r.End(Failed("1 < 2"), 1250*time.Millisecond)
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Seconds float64          `json:"seconds"`
		Error   string           `json:"error"`
		OK      bool             `json:"ok"`
		Items   []map[string]int `json:"items"`
	}
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Seconds != 1.25 || back.Error != "1 < 2" || back.OK || back.Items[0]["edges"] != 25173 {
		t.Errorf("came back as %+v", back)
	}
	if text := b.String(); strings.Index(text, "states") > strings.Index(text, "edges") {
		t.Errorf("the counts lost their order:\n%s", text)
	}
	if !strings.Contains(emptyReport(t), `"items": []`) {
		t.Error("no items must be an empty list, not null")
	}
}

func emptyReport(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := New("doctor").Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCounts(t *testing.T) {
	t.Parallel()
	c := Counts{{"states", 1234567}, {"crash_points", 12}}
	if got, want := c.String(), "1,234,567 states, 12 crash points"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if c.Nothing() || !(Counts{{"states", 0}}).Nothing() || !(Counts{}).Nothing() {
		t.Error("nothing is what has only zeroes")
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234: "-1,234"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
