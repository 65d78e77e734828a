package term

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	t.Parallel()
	table := NewTable(Column{Title: "name"}, Column{Title: "n", Right: true}, Column{Title: "result"})
	table.Row(Text("müller"), Text("7"), Cell{Text: "ok", Style: Good})
	table.Row(Text("a"), Text("1,234"), Cell{Text: "two\nlines", Style: Bad})
	table.Row(Text("b"))
	table.Row(Text("c"), Text(""), Text("x"))

	var out bytes.Buffer
	(&Terminal{Out: &out}).PrintTable(table)
	want := "name        n  result\n" +
		"müller      7  ok\n" +
		"a       1,234  two lines\n" +
		"b\n" +
		"c              x\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}

	var colored bytes.Buffer
	(&Terminal{Out: &colored, Color: true}).PrintTable(table)
	if !strings.Contains(colored.String(), "\x1b[32mok\x1b[0m") {
		t.Errorf("no green in %q", colored.String())
	}
	plain := strings.NewReplacer("\x1b[1m", "", "\x1b[32m", "", "\x1b[1;31m", "", "\x1b[0m", "").Replace(colored.String())
	if plain != want {
		t.Errorf("the columns moved with colour:\n%s", plain)
	}
}

// A character device stands for a terminal here.
func TestColorOnlyWhereWanted(t *testing.T) {
	t.Parallel()
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == key {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if !New(device, device, env()).Color {
		t.Error("a terminal gets no colour")
	}
	for name, term := range map[string]*Terminal{
		"NO_COLOR":     New(device, device, env("NO_COLOR", "1")),
		"TERM=dumb":    New(device, device, env("TERM", "dumb")),
		"not a stream": New(&bytes.Buffer{}, device, env()),
	} {
		if term.Color {
			t.Errorf("%s: colour where none is wanted", name)
		}
	}
}

func TestProgressLines(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var out bytes.Buffer
	p := newProgress(&out, false, 80, func() time.Time { return now })
	p.Begin("L1 exploration")
	for range 100 { // 10 s in steps of a tenth
		now = now.Add(100 * time.Millisecond)
		p.Update(now.Unix(), 20, "specs")
	}
	p.End()
	want := "L1 exploration\n" +
		"L1 exploration 0:05  5/20 (25 %) specs\n" +
		"L1 exploration 0:10  10/20 (50 %) specs\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestProgressBar(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var out bytes.Buffer
	p := newProgress(&out, true, 40, func() time.Time { return now })
	p.Begin("L1")
	now = now.Add(time.Second)
	p.Update(5, 10, "a note that is far too long for this line")
	p.Say("a line that stays")
	p.End()
	states := strings.Split(out.String(), "\r\x1b[K")
	if got, want := states[2], "L1 0:01  [============            ] 5/1"; !strings.HasPrefix(got, want) || len(got) >= 40 {
		t.Errorf("the bar is %q", got)
	}
	if last := states[len(states)-1]; last != "a line that stays\n" {
		t.Errorf("the bar is still there after %q", last)
	}
}
