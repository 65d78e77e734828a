package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awa-engine/awa/model"
)

// A run is one sequence of operations on both sides.
type run struct {
	bench  *bench
	system *system
	store  model.Store
	story  model.Story
	doer   doer // the engine's side; a test puts a liar here
	counts map[string]int
}

// A doer runs an operation on the engine's side.
type doer interface {
	apply(context.Context, model.Action) (any, error)
}

func (b *bench) start(ctx context.Context, w World) (*run, error) {
	system, err := b.system(ctx, w)
	if err != nil {
		return nil, err
	}
	return &run{bench: b, system: system, store: model.NewMutable(w.Config()), doer: system, counts: map[string]int{}}, nil
}

// A Difference is the finding of a lockstep run: at one step, engine and model disagree.
type Difference struct {
	Step  int
	What  string      // in one line
	Diff  string      // of the whole states, when they differ
	Story model.Story // the model's, up to and including the step
}

// Error is the finding with its story.
func (d *Difference) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d: %s\n%s", d.Step, d.What, d.Story)
	if d.Diff != "" {
		fmt.Fprintf(&b, "the states (- model, + engine):\n%s", d.Diff)
	}
	return b.String()
}

// step runs one operation on both sides and compares everything. An operation that can't happen on one side's state is
// no step: ok is false. A *Difference is a finding; any other error means that the run could not go on.
func (r *run) step(ctx context.Context, a model.Action) (ok bool, _ error) {
	if !r.system.runnable(a) {
		return false, nil
	}
	expected, ok, err := r.tell(a)
	if !ok || err != nil {
		return false, err
	}
	answer, err := r.doer.apply(ctx, a)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return false, r.differ("", "the engine fails: %v", err)
	}
	if !sameAnswer(expected, answer) {
		return false, r.differ("", "the answers differ: model %s, engine %v", expected, answer)
	}
	return true, r.compare(ctx)
}

// tell runs an operation on the model's side, and counts what came of it.
func (r *run) tell(a model.Action) (_ model.Result, ok bool, _ error) {
	before := pieces(r.store)
	expected, err := r.story.Tell(r.store, a)
	if errors.Is(err, model.ErrDisabled) {
		r.story = r.story[:len(r.story)-1]
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	r.count(a, expected)
	after := pieces(r.store)
	for piece, shape := range before {
		if after[piece] != shape {
			r.counts[a.Name()+" "+shape]++
		}
	}
	return expected, true, nil
}

// compare reads the database and compares it with the model's state.
func (r *run) compare(ctx context.Context) error {
	state, err := Abstract(ctx, r.bench.judge, r.system.schema, r.system.world)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return r.differ("", "the database is no state of the model: %v", err)
	}
	want, got := model.Canonical(Comparable(r.store)), model.Canonical(Comparable(state))
	if want != got {
		return r.differ(lineDiff(want, got), "the states differ")
	}
	return nil
}

// finish asks, at the end of a sequence, what every reader may ask: all jobs, page by page from either end, the counts of
// each queue, and the audit. Drawn in its midst they would take the place of what changes something.
func (r *run) finish(ctx context.Context) error {
	for _, oldestFirst := range []int{0, 1} {
		page := model.ListJobs{OldestFirst: oldestFirst, Limit: 3}
		for {
			answer, err := r.ask(ctx, page)
			if err != nil {
				return err
			}
			jobs := answer.(model.Listed).Jobs
			if len(jobs) < page.Limit {
				break
			}
			page.After = jobs[len(jobs)-1].Job
		}
	}
	for _, queue := range r.system.world.Queues {
		if _, err := r.ask(ctx, model.CountsOf{Queue: queue}); err != nil {
			return err
		}
	}
	return r.audit(ctx)
}

// ask compares the answers to a question that changes nothing, and returns the model's.
func (r *run) ask(ctx context.Context, a model.Action) (model.Result, error) {
	expected, err := model.Apply(r.store, a)
	if err != nil {
		return nil, err
	}
	answer, err := r.doer.apply(ctx, a)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || !sameAnswer(expected, answer) {
		return nil, r.differ("", "%s at the end: model %s, engine %v (%v)", a, expected, answer, err)
	}
	return expected, nil
}

// audit asks the engine's own audit, at the end of a sequence: what it finds in rows that equal the model's is a fault of
// the audit.
func (r *run) audit(ctx context.Context) error {
	report, err := r.system.engines[0].Audit(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return r.differ("", "the audit fails: %v", err)
	}
	r.counts["Audit"] += len(report.Checks)
	if err := report.Err(); err != nil {
		return r.differ("", "%v", err)
	}
	return nil
}

func (r *run) differ(diff, format string, args ...any) error {
	return &Difference{Step: len(r.story), What: fmt.Sprintf(format, args...), Diff: diff, Story: r.story}
}

// count counts the operation, and its outcome where it has several.
func (r *run) count(a model.Action, result model.Result) {
	r.counts[a.Name()]++
	switch res := result.(type) {
	case model.Enqueued:
		if res.Existing {
			r.counts[a.Name()+" existing"]++
		}
	case model.Status:
		r.counts[a.Name()+" "+string(res)]++
	case model.WaitAnswer:
		r.counts[a.Name()+" "+string(res)]++
	case model.QueuePrune:
		r.counts[a.Name()+" "+string(res.Status)]++
		r.counts[a.Name()+" carried"] += res.Carried
	case model.Retried:
		r.counts[a.Name()+" jobs"] += len(res.Jobs)
	case model.AttemptHistory:
		r.counts[a.Name()+" attempts"] += len(res.Attempts)
	case model.JobView:
		r.counts[a.Name()+" "+string(res.State)]++
	case model.Claimed:
		r.countClaim(a, res)
	case model.Closed:
		for _, at := range res.Attempts {
			_, outcome, _ := strings.Cut(at.String(), ":")
			r.counts[a.Name()+" "+outcome]++
		}
	case model.Cancellation:
		r.countJobs(a, res.Jobs)
	case model.Listed:
		if len(res.Jobs) > 0 {
			r.counts[a.Name()+" some"]++
		} else {
			r.counts[a.Name()+" none"]++
		}
	case model.Relocation:
		r.countJobs(a, res.Jobs)
	case model.Deletion:
		r.countJobs(a, res.Jobs)
	case model.Moved:
		r.counts[a.Name()+" jobs"] += len(res.Jobs)
	case model.Purged:
		r.counts[a.Name()+" jobs"] += len(res.Jobs)
	case model.RescuedCount:
		r.counts[a.Name()+" requeued"] += res.Requeued
		r.counts[a.Name()+" failed"] += res.Failed
		r.counts[a.Name()+" dlq"] += res.DLQ
		r.counts[a.Name()+" busy"] += res.Busy
	case model.Promoted:
		r.counts[a.Name()+" jobs"] += len(res.Jobs)
	case model.Trimmed:
		r.counts[a.Name()+" rows"] += res.Rows
	}
}

// countJobs counts the answers of an operation that has one for each job.
func (r *run) countJobs(a model.Action, jobs []model.CancelledJob) {
	for _, job := range jobs {
		r.counts[a.Name()+" "+string(job.Answer)]++
	}
}

// countClaim counts what a claim handed out.
func (r *run) countClaim(a model.Action, res model.Claimed) {
	switch claim, ok := a.(model.Claim); {
	case len(res.Handouts) > 0:
		r.counts[a.Name()+" some"]++
	case ok && r.store.Vars().Pauses(r.store.Config(), claim.Queue):
		r.counts[a.Name()+" paused"]++
	}
	better := model.Infinite // the best lane that what comes later in the answer is of, or what was left
	if claim, ok := a.(model.Claim); ok {
		first, _ := r.store.Config().Lane(claim.Queue, 1)
		for lane := first + r.store.Config().LanesOfQueue() - 1; lane >= first; lane-- {
			for range r.store.Waiting(lane) {
				better = lane
				break
			}
		}
	}
	for _, h := range slices.Backward(res.Handouts) {
		c, ok := r.store.Claim(h.ID())
		if ok && c.Local != 0 {
			r.counts[a.Name()+" row-local"]++
		}
		config := r.store.Config()
		if shards := max(r.store.Policy(config.QueueOf(c.Lane)).Shards, 1); config.ShardOf(c.Lane) >= shards {
			r.counts[a.Name()+" drained"]++
		}
		if config.ShardOf(c.Lane) > 0 {
			r.counts[a.Name()+" of another shard"]++
		}
		if better < c.Lane && config.PriorityOf(better) < config.PriorityOf(c.Lane) {
			r.counts[a.Name()+" aged"]++
		}
		better = min(better, c.Lane)
	}
}

// lineDiff shows the lines that only one side has, in order.
func lineDiff(want, got string) string {
	var b strings.Builder
	only := func(mark, in, notIn string) {
		other := map[string]bool{}
		for line := range strings.Lines(notIn) {
			other[line] = true
		}
		for line := range strings.Lines(in) {
			if !other[line] {
				b.WriteString(mark + line)
			}
		}
	}
	only("- ", want, got)
	only("+ ", got, want)
	return b.String()
}
