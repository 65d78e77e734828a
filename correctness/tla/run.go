package tla

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"time"
)

// RunOptions say what to run. Specs, Rows and Checker are needed.
type RunOptions struct {
	Specs   fs.FS
	Rows    []Row
	Checker Checker
	// Explore gives the explorer's graph of one of its configurations, in canonical text; nil leaves the comparison
	// out, and the items say so. Several goroutines call it at once.
	Explore func(ctx context.Context, config string) (Graph, error)
	// Updating leaves out the comparison with the counts of the table, for they are to be written anew.
	Updating bool
	// RowLimit bounds the time for one row; 0 is ten minutes.
	RowLimit time.Duration
	// Report is told each item, in the order of the rows and from Run's goroutine; nil is told nothing.
	Report func(Item)
}

// Item is the result of one row. The names of the fields in JSON are stable.
type Item struct {
	Spec      string  `json:"spec"`
	Module    string  `json:"module"`
	Config    string  `json:"config"`
	Kind      string  `json:"kind"`
	Checker   string  `json:"checker"`
	Expect    string  `json:"expect"`
	Got       string  `json:"got"`
	OK        bool    `json:"ok"`
	Distinct  int     `json:"distinct"`
	Generated int     `json:"generated"`
	Depth     int     `json:"depth"`
	GraphHash string  `json:"graph_hash"`
	Seconds   float64 `json:"seconds"`
	// Ran says whether the row was judged. Where it wasn't, OK is false and Why tells the reason; it is no failure.
	Ran bool `json:"ran"`
	// Compared says whether the graph was compared with the explorer's.
	Compared bool `json:"compared"`
	// Why tells what is wrong, or why it did not run.
	Why string `json:"why,omitempty"`
	// Trace is the counterexample of a row that fails to pass.
	Trace string `json:"trace,omitempty"`
}

// Failed says whether the row was judged and isn't as expected.
func (i Item) Failed() bool { return i.Ran && !i.OK }

// rowsAtOnce bounds how many rows are judged at the same time: each may take a Java machine.
const rowsAtOnce = 4

// Run judges the rows, a few at a time, and gives their items in the order of the rows. The error is there only when
// ctx is over: whatever is wrong with a row is in its item.
func Run(ctx context.Context, options RunOptions) ([]Item, error) {
	todo := make(chan int, len(options.Rows))
	done := make([]chan Item, len(options.Rows))
	for i := range options.Rows {
		todo <- i
		done[i] = make(chan Item, 1)
	}
	close(todo)
	var workers sync.WaitGroup
	defer workers.Wait()
	for range min(rowsAtOnce, runtime.NumCPU(), len(options.Rows)) {
		workers.Go(func() {
			for i := range todo {
				start := time.Now()
				item := options.row(ctx, options.Rows[i])
				item.Seconds = time.Since(start).Seconds()
				done[i] <- item
			}
		})
	}
	var items []Item
	for i := range options.Rows {
		item := <-done[i]
		if ctx.Err() != nil {
			return items, context.Cause(ctx)
		}
		items = append(items, item)
		if options.Report != nil {
			options.Report(item)
		}
	}
	return items, nil
}

func (o RunOptions) row(ctx context.Context, row Row) Item {
	item := Item{
		Spec: row.Spec, Module: row.Module, Config: row.Config, Kind: row.Kind,
		Checker: o.Checker.Name(), Expect: row.Expect,
	}
	if row.Needs == TLC && o.Checker.Name() != TLC {
		item.Why = "not run: needs TLC"
		return item
	}
	limit := o.RowLimit
	if limit == 0 {
		limit = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	outcome, err := o.Checker.Check(ctx, Task{o.Specs, row.Module, row.Config, row.Graph != ""})
	var needs *NeedsTLCError
	if errors.As(err, &needs) {
		item.Why = "not run: needs TLC: " + needs.Why
		return item
	}
	item.Ran = true
	if err != nil {
		item.Got, item.Why = "error", err.Error()
		return item
	}
	item.take(outcome)
	problem := row.judge(item, outcome, o.Updating)
	if problem == "" && row.Graph != "" {
		problem, item.Compared = o.compare(ctx, row, *outcome.Graph)
	}
	item.OK, item.Why = problem == "", problem
	if item.OK {
		item.Trace = ""
	}
	return item
}

func (i *Item) take(outcome Outcome) {
	i.Got, i.Distinct, i.Generated, i.Depth = outcome.Got, outcome.Distinct, outcome.Generated, outcome.Depth
	i.Trace = outcome.Trace
	if outcome.Graph != nil {
		i.GraphHash = outcome.Graph.Hash()
	}
}

// judge says what is wrong with an outcome, "" when nothing is.
func (r Row) judge(item Item, outcome Outcome, updating bool) string {
	switch {
	case outcome.Got != r.Expect && r.Expect == Pass:
		return fmt.Sprintf("%s is violated", outcome.Got)
	case outcome.Got != r.Expect:
		return fmt.Sprintf("it should violate %s, and the verdict is %s", r.Expect, outcome.Got)
	case r.Expect != Pass:
		return ""
	case len(outcome.Unfired) > 0:
		return fmt.Sprintf("actions that never happen: %v", outcome.Unfired)
	case outcome.Distinct < 2:
		return fmt.Sprintf("%d states: nothing happens", outcome.Distinct)
	case r.Graph != "" && outcome.Graph == nil:
		return "the checker gave no state graph"
	case updating:
		return ""
	case r.Distinct == 0:
		return "the table has no result of TLC to compare with: write it"
	}
	return r.disagreement(item)
}

// disagreement compares with the results of TLC that are kept in the table.
func (r Row) disagreement(item Item) string {
	switch {
	case item.Distinct != r.Distinct:
		return fmt.Sprintf("%d distinct states, and TLC found %d", item.Distinct, r.Distinct)
	case item.Depth != 0 && item.Depth != r.Depth:
		return fmt.Sprintf("depth %d, and TLC's was %d", item.Depth, r.Depth)
	case item.GraphHash != r.GraphHash:
		return fmt.Sprintf("the graph has the hash %s, and TLC's had %s", item.GraphHash, r.GraphHash)
	}
	return ""
}

func (o RunOptions) compare(ctx context.Context, row Row, spec Graph) (problem string, compared bool) {
	if o.Explore == nil {
		return "", false
	}
	model, err := o.Explore(ctx, row.Graph)
	if err != nil {
		return fmt.Sprintf("the explorer on %s: %v", row.Graph, err), false
	}
	if diff := Compare(spec, model); !diff.Empty() {
		return fmt.Sprintf("the spec and the model (%s) differ:\n%s", row.Graph, diff), true
	}
	return "", true
}
