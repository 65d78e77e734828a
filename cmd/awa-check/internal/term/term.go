// Package term writes for people: tables on standard output, progress on standard error, colour where it is wanted.
package term

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// Terminal is where a command writes. Results go to Out and nothing else does, so that they can be piped.
type Terminal struct {
	Out      io.Writer
	Progress *Progress
	Color    bool // of Out
}

// New looks at the two streams and at the environment: NO_COLOR and TERM=dumb turn colour off, a stream that is no
// terminal gets neither colour nor a live bar.
func New(stdout, stderr io.Writer, getenv func(string) string) *Terminal {
	plain := getenv("NO_COLOR") != "" || getenv("TERM") == "dumb"
	width, err := strconv.Atoi(getenv("COLUMNS"))
	if err != nil || width < 20 {
		width = 80
	}
	live := isTerminal(stderr) && getenv("TERM") != "dumb"
	return &Terminal{
		Out:      stdout,
		Progress: newProgress(stderr, live, width, time.Now),
		Color:    isTerminal(stdout) && !plain,
	}
}

// Printf writes to Out.
func (t *Terminal) Printf(format string, args ...any) { fmt.Fprintf(t.Out, format, args...) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Style is how a text is shown where there is colour.
type Style string

// The styles, as the parameters of the terminal's sequence.
const (
	Plain Style = ""
	Bold  Style = "1"
	Faint Style = "2"
	Bad   Style = "1;31"
	Good  Style = "32"
	Warn  Style = "33"
)

// Paint gives a text in a style.
func (t *Terminal) Paint(s Style, text string) string {
	if !t.Color || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
