package linearizability

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/awa-engine/awa/model"
)

// One job's life is judged by package model itself: a world with one queue and one job, which is always job 1. A state
// is the encoding of that world; each call of the history is one or two actions on it and the answers that fit. No rule
// of a queue is written here.
//
// What the one-job world can't tell apart, it allows: of a call of maintenance that had an effect somewhere (a rescue, a
// promotion, a prune, a claim whose answer was lost) the history doesn't say on which jobs, so that such a call may or
// may not have done its part on this one. And times: a claim's is taken as early as its call, a rescue's as late as its
// return, so that a rescue which came too soon by every reading is rejected and no other.

// oneJob is the configuration of that world.
const oneQueue = "q"

func oneJob() *model.Config {
	return &model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{oneQueue}}
}

// A move is what one call means for one job: the input of a step.
type move struct {
	text    string // for people
	actions []model.Action
	fits    func(model.Result) bool // of the last action; nil: any answer fits
	maybe   bool                    // it may also have done nothing
}

// clockSlack is how far the server's clock may have been set while the run's went on.
const clockSlack = 5 * time.Millisecond

// micros is logical time: microseconds of the run.
func micros(ns int64) int { return int(ns / 1_000) }

// lifeModel is the model of one job for porcupine. The scratch state makes it a matter of one goroutine.
func lifeModel() porcupine.Model {
	scratch := model.NewFlat(oneJob())
	empty := string(scratch.Encode(nil))
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []any { return []any{empty} },
		Step: func(state, input, _ any) []any {
			m := input.(move)
			scratch.Decode([]byte(state.(string)))
			var next []any
			if m.apply(scratch) {
				next = append(next, string(scratch.Encode(nil)))
			}
			if m.maybe && (len(next) == 0 || next[0] != state) {
				next = append(next, state)
			}
			return next
		},
		DescribeOperation: func(input, _ any) string { return input.(move).text },
		DescribeState: func(state any) string {
			scratch.Decode([]byte(state.(string)))
			return describe(scratch)
		},
	}
	return nondeterministic.ToModel()
}

// apply does the move's actions; false when one can't happen or the answer is another one.
func (m move) apply(s model.Store) bool {
	var last model.Result
	for _, a := range m.actions {
		r, err := model.Apply(s, a)
		if err != nil {
			return false
		}
		last = r
	}
	return m.fits == nil || m.fits(last)
}

func describe(s model.Store) string {
	view, err := model.Apply(s, model.JobOf{Job: 1})
	if err != nil {
		return err.Error()
	}
	return view.String()
}

// sameAs fits an answer with the same text.
func sameAs(want model.Result) func(model.Result) bool {
	return func(got model.Result) bool { return got.String() == want.String() }
}

func (c *call) String() string {
	text := fmt.Sprintf("%s by %d at %s..%s", c.Op, c.Client, clock(c.Call), clock(c.Return))
	if c.Outcome != outcomeOK {
		text += ", " + string(c.Outcome)
	}
	return text
}

// clock is a time of the run for people.
func clock(ns int64) string {
	if ns >= never {
		return "?"
	}
	return fmt.Sprintf("%.4fs", time.Duration(ns).Seconds())
}

// born is the job's enqueue. A deferred one is a caller's transaction with an old snapshot, from its begin to its commit.
func born(j job, deferred bool, at *call) move {
	m := move{
		text:    fmt.Sprintf("%s into %s/%d, %d attempts", at.Op, j.Queue, j.Priority, j.Max),
		actions: []model.Action{model.Enqueue{Queue: oneQueue, Priority: j.Priority, Count: 1, Attempts: j.Max}},
	}
	if deferred {
		m.text += ", deferred"
		m.actions = []model.Action{
			model.Begin{Tx: 1, Isolation: model.RepeatableRead},
			model.EnqueueTx{Tx: 1, Queue: oneQueue, Priority: j.Priority, Count: 1, Attempts: j.Max},
			model.Commit{Tx: 1},
		}
	}
	return m
}

// handedOut is a claim that gave this attempt to its caller.
func handedOut(a attempt, at *call) move {
	want := model.Claimed{Handouts: []model.Handout{{Job: 1, Lease: int(a.Lease), Attempt: a.Try}}}
	return move{
		text:    fmt.Sprintf("claim → attempt %s, try %d", a.id(), a.Try),
		actions: []model.Action{claimAt(at)}, fits: sameAs(want),
	}
}

func claimAt(at *call) model.Action {
	return model.Claim{Queue: oneQueue, Limit: 1, Now: micros(at.Call)}
}

// lostClaim is a claim whose answer nobody got: whether it handed this job out is open.
func lostClaim(at *call) move {
	return move{text: "claim → no answer", actions: []model.Action{claimAt(at)}, maybe: true}
}

// closed is a close of attempts of this job, one call's, in its order.
func closed(attempts []attempt, at *call) move {
	var ids []model.AttemptID
	var want model.Closed
	var asked, got []string
	for _, a := range attempts {
		id := model.AttemptID{Job: 1, Lease: int(a.Lease)}
		ids = append(ids, id)
		want.Attempts = append(want.Attempts, model.ClosedAttempt{ID: id, Stale: a.Stale})
		answer := "done"
		if a.Stale {
			answer = "stale"
		}
		asked, got = append(asked, a.id().String()), append(got, answer)
	}
	m := move{text: fmt.Sprintf("%s %s → %s", at.Op, strings.Join(asked, " "), strings.Join(got, " ")), fits: sameAs(want)}
	if at.Outcome != outcomeOK { // no answer; and unless Settle vouches for the commit, perhaps no effect
		m.text = fmt.Sprintf("%s %s → %s", at.Op, strings.Join(asked, " "), at.Outcome)
		m.fits, m.maybe = nil, at.Outcome == outcomeUnknown
	}
	m.actions = []model.Action{model.Complete{Attempts: ids, Now: micros(at.Return)}}
	if at.Op == opFail {
		m.actions = []model.Action{model.Fail{Attempts: ids, Now: micros(at.Return)}}
	}
	return m
}

// looked is a read of the job.
func looked(s *seen) move {
	want := model.JobView{State: model.JobState(s.State), Lease: int(s.Lease), Attempt: s.Attempt}
	return move{text: fmt.Sprintf("job → %s", want), actions: []model.Action{model.JobOf{Job: 1}}, fits: sameAs(want)}
}

// perhaps is a call of maintenance that may have concerned this job; ok is false for one that can't have.
func perhaps(c *call, staleAfter time.Duration) (m move, ok bool) {
	failed := c.Outcome != outcomeOK
	switch {
	case c.Op == opRescue && (failed || c.Requeued+c.Failed > 0):
		// Where there is no answer, or one for the slots before an error only, any effect fits.
		m.fits = func(r model.Result) bool {
			got := r.(model.RescuedCount)
			return failed || got.Requeued <= c.Requeued && got.Failed <= c.Failed
		}
		late := micros(c.Return + int64(clockSlack))
		m.actions = []model.Action{model.RescueStale{Older: micros(int64(staleAfter)), Limit: 1, Now: late}}
	case c.Op == opPromote && (failed || c.Promoted > 0 || c.promotedAll()):
		m.actions = []model.Action{model.Promote{Limit: 1, Now: micros(c.Return)}}
	case c.Op == opPruneQueue && (failed || c.Status == string(model.Pruned)):
		// Of one job's rows, what a prune takes is what stands in sealed slots: so the slot is sealed first.
		m.actions = []model.Action{model.RotateQueue{}, model.PruneQueue{}}
		m.fits = sameAs(model.QueuePrune{Status: model.Pruned})
	default:
		return m, false
	}
	m.text, m.maybe = "perhaps "+string(c.Op), true
	if c.promotedAll() {
		m.text, m.maybe = string(c.Op), false
	}
	return m, true
}

// promotedAll says that a promotion left nothing behind: it had room for more, and nobody else promotes.
func (c *call) promotedAll() bool {
	return c.Op == opPromote && c.Outcome == outcomeOK && c.Promoted < c.Limit
}
