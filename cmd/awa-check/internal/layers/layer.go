// Package layers runs the layers of the verification in order and judges what they say of themselves.
package layers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
	"github.com/awa-engine/awa/cmd/awa-check/internal/term"
)

// Profile is how much time there is.
type Profile string

// The profiles: minutes, a quarter of an hour, as long as it takes.
const (
	Quick    Profile = "quick"
	Standard Profile = "standard"
	Full     Profile = "full"
)

// ParseProfile refuses what isn't a profile.
func ParseProfile(text string) (Profile, error) {
	if p := Profile(text); slices.Contains([]Profile{Quick, Standard, Full}, p) {
		return p, nil
	}
	return "", fmt.Errorf("--profile %q: must be quick, standard or full", text)
}

// Layer is one way to look at the engine or at its model.
type Layer struct {
	ID, Name string // "L1", "exploration"
	Run      func(context.Context, Settings) (Outcome, error)
}

// Settings is what a layer may want to know.
type Settings struct {
	Profile  Profile
	DSN      string // a server to use, "" for a private one
	Offline  bool   // download and install nothing
	Progress *term.Progress
}

// Outcome is what a layer says when it has run. A failed property isn't an error of Run but one of Failed, so that a
// layer can tell of several; an error of Run that is no PropertyError means that the layer couldn't run to its end.
type Outcome struct {
	What   string        // what ran, in a few words: "3 configurations"
	Did    report.Counts // how much; all zero is a failure
	Failed []string      // the properties that failed, each with what its finder needs
	NotRun []string      // the parts that didn't run, each with the reason
}

// Item is a layer's line in the report.
type Item struct {
	Layer   string         `json:"layer"`
	Name    string         `json:"name"`
	Ran     bool           `json:"ran"`
	Why     string         `json:"why,omitempty"` // it didn't run, or not to its end
	What    string         `json:"what,omitempty"`
	Did     report.Counts  `json:"did"`
	Failed  []string       `json:"failed,omitempty"`
	NotRun  []string       `json:"not_run,omitempty"` // parts of it
	Seconds report.Seconds `json:"seconds"`
	OK      bool           `json:"ok"`
}

// Result is the item's verdict in a word.
func (i Item) Result() string {
	switch {
	case i.OK:
		return "ok"
	case !i.Ran:
		return "NOT RUN"
	default:
		return "FAILED"
	}
}

// RunAll runs each layer, also after one has failed, and returns an item for each. The error is nil when all are well,
// a PropertyError when one failed, and another error when one couldn't run and none failed.
func RunAll(ctx context.Context, all []Layer, s Settings) ([]Item, error) {
	var items []Item
	var failed, missing []string
	for _, l := range all {
		item := runOne(ctx, l, s)
		items = append(items, item)
		switch {
		case item.OK:
		case item.Ran:
			failed = append(failed, l.ID)
		default:
			missing = append(missing, l.ID)
		}
	}
	switch {
	case len(failed) > 0:
		return items, report.Failed("%d of %d layers failed: %v", len(failed), len(all), failed)
	case len(missing) > 0:
		return items, fmt.Errorf("%d of %d layers did not run: %v", len(missing), len(all), missing)
	case len(items) == 0:
		return items, errors.New("there is no layer to run")
	}
	return items, nil
}

func runOne(ctx context.Context, l Layer, s Settings) Item {
	start := time.Now()
	s.Progress.Begin(l.ID + " " + l.Name)
	outcome, err := guarded(ctx, l, s)
	s.Progress.End()

	item := Item{
		Layer: l.ID, Name: l.Name, Ran: true, What: outcome.What, Did: outcome.Did, Failed: outcome.Failed,
		NotRun: outcome.NotRun, Seconds: report.Seconds(time.Since(start)),
	}
	switch {
	case err != nil && report.ExitCode(err) == report.ExitFailed:
		item.Failed = append(item.Failed, err.Error())
	case err != nil:
		item.Why, item.Ran = err.Error(), len(item.Failed) > 0 // what failed before it stopped has failed
	case len(item.Failed) == 0 && item.Did.Nothing():
		item.Failed = append(item.Failed, "the layer ran and did nothing, which shows nothing")
	}
	item.OK = item.Ran && len(item.Failed) == 0
	return item
}

// guarded keeps the verdicts of the other layers when one panics.
func guarded(ctx context.Context, l Layer, s Settings) (outcome Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = report.Failed("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	return l.Run(ctx, s)
}
