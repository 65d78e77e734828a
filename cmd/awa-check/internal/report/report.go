// Package report holds what a command found out, in the shape that --json promises, and the errors that decide its
// exit code.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Report is the one object of --json. Its keys are stable: they are added to and never renamed.
type Report struct {
	Command     string            `json:"command"`
	Version     string            `json:"version"`
	OK          bool              `json:"ok"`
	Seconds     Seconds           `json:"seconds"`
	Error       string            `json:"error,omitempty"` // why ok is false
	Environment map[string]string `json:"environment"`
	Items       []any             `json:"items"` // their keys depend on the command
}

// New begins the report of a command.
func New(command string) *Report {
	return &Report{
		Command: command,
		Version: Version(),
		Environment: map[string]string{
			"go":   runtime.Version(),
			"os":   runtime.GOOS,
			"arch": runtime.GOARCH,
			"cpus": strconv.Itoa(runtime.GOMAXPROCS(0)),
		},
		Items: []any{},
	}
}

// End closes the report with the command's outcome.
func (r *Report) End(err error, took time.Duration) {
	r.OK, r.Seconds = err == nil, Seconds(took)
	if err != nil {
		r.Error = err.Error()
	}
}

// Write prints the report as indented JSON.
func (r *Report) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// Version is the module's version and, where the build knows it, the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(info.Main.Version, s.Value[:min(12, len(s.Value))]) {
			return info.Main.Version + " " + s.Value
		}
	}
	return info.Main.Version
}

// Seconds is a duration that reads as a number of seconds, to the millisecond.
type Seconds time.Duration

// MarshalJSON writes 1.25 for a second and a quarter.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(time.Duration(s).Seconds()*1000) / 1000)
}

// String is for tables: one digit after the point.
func (s Seconds) String() string { return fmt.Sprintf("%.1f", time.Duration(s).Seconds()) }

// Exit codes of every command.
const (
	ExitOK     = 0
	ExitFailed = 1 // a property failed
	ExitNotRun = 2 // could not run, so nothing is known
)

// PropertyError says that something that must hold doesn't: the command did its work, and the verdict is no.
type PropertyError struct{ Text string }

// Failed makes a PropertyError.
func Failed(format string, args ...any) error {
	return &PropertyError{Text: fmt.Sprintf(format, args...)}
}

func (e *PropertyError) Error() string { return e.Text }

// ExitCode is ExitFailed only for what is known to be a failed property: whatever else went wrong, nothing was shown.
func ExitCode(err error) int {
	var failed *PropertyError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &failed):
		return ExitFailed
	default:
		return ExitNotRun
	}
}
