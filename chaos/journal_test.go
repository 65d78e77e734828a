package chaos

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestJournalComesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	l, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []line{
		{Call: 1, Op: opClaim, At: 5, Queue: "mail", Count: 10},
		{Call: 1, Op: opClaim, At: 7, Outcome: outcomeOK, Attempts: []attempt{{12, 1, "p.1.0"}, {13, 2, ""}}},
		{Call: 2, Op: opRescue, At: 9, Outcome: outcomeNotDone, Error: "no \"server\"\n", Code: "57P01", Requeued: 3},
	}
	for _, one := range want {
		if err := l.write(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	got, err := readLog[line](path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := openLog(path); err == nil {
		t.Error("a journal was opened by a second writer")
	}
}

// A killed writer may leave a last line without its end; it comes whole, or not at all.
func TestTornLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	write := func(text string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("{\"call\":1}\n{\"ca")
	if all, err := readLog[line](path); err != nil || len(all) != 1 {
		t.Errorf("%d lines, %v", len(all), err)
	}
	tail, err := openTail(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tail.close(); err != nil {
			t.Error(err)
		}
	}()
	want := func(text string, wanted error) {
		t.Helper()
		if got, err := tail.next(); string(got) != text || !errors.Is(err, wanted) {
			t.Errorf("%q, %v; want %q, %v", got, err, text, wanted)
		}
	}
	want("{\"call\":1}\n", nil)
	want("", io.EOF)
	write("ll\":2}")
	want("", io.EOF)
	write("\n")
	want("{\"call\":2}\n", nil)
	want("", io.EOF)

	write("not JSON\n")
	if _, err := readLog[line](path); err == nil {
		t.Error("a line that isn't JSON was accepted")
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	if batch, i, ok := parseMark(mark("producer-1.17", 3)); batch != "producer-1.17" || i != 3 || !ok {
		t.Error(batch, i, ok)
	}
	for _, bad := range []string{"", "p", "p.", "p.x", "p.-1"} {
		if _, _, ok := parseMark(bad); ok {
			t.Errorf("%q is taken for a mark", bad)
		}
	}
	for _, bad := range []string{"", "1", "1/", "/1", "a/1 m"} {
		var a attempt
		if err := a.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken for an attempt", bad)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]Plan{
		"negative rounds":           {Rounds: -1},
		"a load over what is asked": {Rate: 500, MinRate: 1000},
		"too many processes":        {Claimers: 100},
		"no time to be late":        {StaleAfter: 1},
	} {
		if _, err := p.withDefaults(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := ParseFaults("server-kill,fire"); err == nil {
		t.Error("an unknown fault was accepted")
	}
	faults, err := ParseFaults("worker-kill, server-kill,worker-kill")
	if err != nil || len(faults) != 2 {
		t.Error(faults, err)
	}
}
