package schedule

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awa-engine/awa/fuzz"
	"github.com/awa-engine/awa/model"
)

// A judging looks for one order of model actions that gives the answers and the rows of a schedule, keeps each session's
// order, and never puts an operation before one that had ended when it began.
type judging struct {
	stage *stage
	done  []Done // in the order in which they ended
	rows  *model.Flat

	nearest string // how far the best order came, for the finding
	reached int
}

// A line is one order under way: the model's state, and which job of the database is which of the model.
type ordering struct {
	state   *model.Flat
	names   map[int64]int
	open    map[int]bool        // the operations that are placed, by index into done
	told    []string            // their story
	lastRow map[int][]placement // ready rows by operation, for those that overlap
}

// A placement is a ready row that an operation made.
type placement struct{ lane, seq int }

// judge reads the rows and compares. nil is a verdict of innocence.
func (st *stage) judgeRun(ctx context.Context, o *Outcome) (*Failure, error) {
	if st.scenario.bare {
		return st.judgeInstallation(ctx)
	}
	rows, err := fuzz.Abstract(ctx, st.judge, st.schema, st.scenario.World)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &Failure{What: "the rows at the end are no state of the model", Detail: err.Error()}, nil
	}
	j := &judging{stage: st, done: slices.DeleteFunc(slices.Clone(o.Done), func(d Done) bool { return d.skipped }), rows: rows}
	start := ordering{state: model.Snapshot(st.start), names: maps.Clone(st.names), open: map[int]bool{}, lastRow: map[int][]placement{}}
	if j.place(start) {
		return nil, nil
	}
	return &Failure{What: "no order of the model's actions gives these answers and rows", Detail: j.nearest}, nil
}

// judgeInstallation wants an installation to be whole: a fresh state, and no step done twice.
func (st *stage) judgeInstallation(ctx context.Context) (*Failure, error) {
	rows, err := fuzz.Abstract(ctx, st.judge, st.schema, st.scenario.World)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &Failure{What: "the installation can't be read", Detail: err.Error()}, nil
	}
	if want, got := model.Canonical(st.start), model.Canonical(rows); want != got {
		return &Failure{What: "the installation isn't empty", Detail: got}, nil
	}
	return nil, nil
}

// place tries each operation that may come next, in each way that the model and its explicit exceptions allow.
func (j *judging) place(o ordering) bool {
	if len(o.open) == len(j.done) {
		return j.sameRows(o)
	}
	for i := range j.done {
		if o.open[i] || !j.mayBeNext(o, i) {
			continue
		}
		for _, b := range j.branches(o, i) {
			if j.place(b) {
				return true
			}
		}
	}
	j.note(o, "")
	return false
}

// mayBeNext says that everything that had ended before operation i began, and everything before it in its session, is
// placed.
func (j *judging) mayBeNext(o ordering, i int) bool {
	for k := range j.done {
		if k != i && !o.open[k] && j.precedes(k, i) {
			return false
		}
	}
	return true
}

func (j *judging) precedes(k, i int) bool {
	a, b := &j.done[k], &j.done[i]
	if a.Session == b.Session {
		return a.Op < b.Op
	}
	return a.End < b.Begin
}

// overlaps says that two operations of different sessions were under way at the same time.
func (j *judging) overlaps(i, k int) bool {
	return j.done[i].Session != j.done[k].Session && !j.precedes(i, k) && !j.precedes(k, i)
}

// sameRows compares the model's state at the end with the rows. Numbers that sequences gave are renamed first: jobs by
// the answers, batches and receipts by their attempts.
func (j *judging) sameRows(o ordering) bool {
	renamed, err := rename(j.rows, o)
	if err != nil {
		j.note(o, err.Error())
		return false
	}
	want, got := model.Canonical(fuzz.Comparable(o.state)), model.Canonical(renamed)
	if want == got {
		return true
	}
	j.note(o, "the rows differ (- model, + database):\n"+lineDiff(want, got))
	return false
}

// note keeps the order that came furthest.
func (j *judging) note(o ordering, why string) {
	reached := 2 * len(o.open)
	if why != "" {
		reached++
	}
	if reached < j.reached || j.nearest != "" && reached == j.reached {
		return
	}
	j.reached = reached
	j.nearest = fmt.Sprintf("the nearest order places %d of %d operations:\n%s%s", len(o.open), len(j.done), strings.Join(o.told, ""), why)
	for i, d := range j.done {
		if !o.open[i] {
			j.nearest += fmt.Sprintf("  not placed: %s %s -> %s\n", j.stage.scenario.Sessions[d.Session].Name, d.Operation, d.Answer.tell(d.Operation, j.stage.names))
		}
	}
}

// rename gives the database's rows the numbers that the order gave them. A job that the order doesn't know keeps a
// number that no job of the model has.
func rename(rows *model.Flat, o ordering) (*model.Flat, error) {
	job := func(id int) int {
		if n, ok := o.names[int64(id)]; ok {
			return n
		}
		return 1_000_000 + id
	}
	f := model.NewFlat(rows.Config())
	f.SetVars(rows.Vars())
	for lane := range rows.Config().Lanes() {
		f.SetLastSeq(lane, rows.LastSeq(lane))
	}
	for queue := range rows.Config().Queues {
		f.SetRollup(queue, rows.Rollup(queue))
		f.SetPolicy(queue, rows.Policy(queue))
	}
	for _, d := range rows.DLQRows() {
		d.Job = job(d.Job)
		f.PutDLQ(d)
	}
	for _, r := range rows.RemovedRows() {
		r.Job = job(r.Job)
		f.AddRemoved(r)
	}
	for _, e := range rows.Entries() {
		e.Job = job(e.Job)
		f.PutEntry(e)
	}
	batches := map[int]int{}
	for _, c := range rows.Claims() {
		c.Job = job(c.Job)
		if twin, ok := o.state.Claim(c.ID()); ok {
			if b, known := batches[c.Batch]; known && b != twin.Batch {
				return nil, fmt.Errorf("claim batch %d of the database is %d and %d of the model", c.Batch, b, twin.Batch)
			}
			batches[c.Batch] = twin.Batch
			c.Batch, c.Receipt = twin.Batch, twin.Receipt
		} else {
			c.Batch, c.Receipt = c.Batch+1_000_000_000, c.Receipt+1_000_000_000
		}
		f.PutClaim(c)
	}
	for _, t := range rows.Terminals() {
		t.Job = job(t.Job)
		f.AddTerminal(t)
	}
	for _, d := range rows.DeferredRows() {
		d.Job = job(d.Job)
		f.PutDeferred(d)
	}
	for _, a := range rows.AttemptStates() {
		a.Job = job(a.Job)
		f.PutAttemptState(a)
	}
	for _, l := range rows.Leases() {
		l.Job = job(l.Job)
		f.PutLease(l)
	}
	for _, u := range rows.Uniques() {
		u.Job = job(u.Job)
		f.PutUnique(u)
	}
	return fuzz.Comparable(f), nil
}

// lineDiff shows the lines that only one side has.
func lineDiff(want, got string) string {
	var b strings.Builder
	only := func(mark, in, notIn string) {
		for line := range strings.Lines(in) {
			if !strings.Contains("\n"+notIn, "\n"+line) {
				b.WriteString(mark + line)
			}
		}
	}
	only("- ", want, got)
	only("+ ", got, want)
	return b.String()
}
