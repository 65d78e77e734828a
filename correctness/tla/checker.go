package tla

import (
	"context"
	"fmt"
	"io/fs"
)

// The names of the checkers, and Auto, which lets Choose take TLC when it is there.
const (
	Auto       = "auto"
	TLC        = "tlc"
	TLAChecker = "tla-checker"
)

// What a checker may say of a spec besides the name of the invariant or property that is violated.
const (
	Pass       = "pass"
	Deadlock   = "deadlock"
	Assumption = "assumption"
)

// Checker judges specs. Several goroutines may use it at once.
type Checker interface {
	// Name is TLC or TLAChecker.
	Name() string
	// Version tells which build was found, and where.
	Version() string
	// Check explores a spec. An error means that it could not be judged: a *NeedsTLCError when only TLC could.
	Check(ctx context.Context, task Task) (Outcome, error)
	// Close frees what the checker holds.
	Close(ctx context.Context) error
}

// Task names a module and its configuration, both without their suffixes, among some specs.
type Task struct {
	Specs          fs.FS
	Module, Config string
	// Graph asks for the state graph.
	Graph bool
}

// Outcome is what a checker found.
type Outcome struct {
	// Got is Pass, Deadlock, Assumption, or the name of what is violated.
	Got string
	// Distinct, Generated and Depth are the distinct states, the states computed to find them and the levels of the
	// search, 0 when the checker doesn't tell.
	Distinct, Generated, Depth int
	// Graph is there when it was asked for and the spec passes.
	Graph *Graph
	// Unfired are the actions that no state of a passing spec enables.
	Unfired []string
	// Trace is the counterexample as the checker prints it.
	Trace string
}

// NeedsTLCError says why a spec can't be judged without TLC.
type NeedsTLCError struct {
	Module, Config, Why string
}

func (e *NeedsTLCError) Error() string {
	return fmt.Sprintf("%s with %s needs TLC: %s", e.Module, e.Config, e.Why)
}

// MissingError says that a checker was not found and how to get it.
type MissingError struct {
	Checker string
	// Why tells where it was looked for and what happened there.
	Why string
	// Fix is what to do.
	Fix string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s was not found: %s. %s", e.Checker, e.Why, e.Fix)
}
