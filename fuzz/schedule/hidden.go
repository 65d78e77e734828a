package schedule

import (
	"slices"

	"github.com/awa-engine/awa/model"
)

// A hiding takes rows out of an operation's sight: those that it may pass over.
type hiding struct {
	entries  func(model.EntryRow) bool
	claims   func(model.ClaimRow) bool
	deferred func(model.DeferredRow) bool
	failed   func(model.TerminalRow) bool
	why      string
}

// String says what was passed over.
func (h hiding) String() string {
	if h.why == "" {
		return ""
	}
	return " (passing over " + h.why + ")"
}

// hiddenTx is a transaction that nobody else has: its rows are seen by nobody.
const hiddenTx = -1

// hide takes the rows out of sight; the returned function brings them back.
func (h hiding) hide(s *model.Flat) func(*model.Flat) {
	var entries []model.EntryRow
	var claims []model.ClaimRow
	var deferred []model.DeferredRow
	var failed []model.TerminalRow
	if h.failed != nil {
		for _, t := range s.Terminals() {
			if t.State == model.Failed && h.failed(t) {
				failed = append(failed, t)
			}
		}
	}
	for _, t := range failed {
		s.DropTerminal(t)
	}
	if h.entries != nil {
		for _, e := range s.Entries() {
			if e.Waiting() && h.entries(e) {
				entries = append(entries, e)
			}
		}
	}
	if h.claims != nil {
		for _, c := range s.Claims() {
			if c.Outcome == model.Open && h.claims(c) {
				claims = append(claims, c)
			}
		}
	}
	if h.deferred != nil {
		for _, d := range s.DeferredRows() {
			if d.Tx == 0 && h.deferred(d) {
				deferred = append(deferred, d)
			}
		}
	}
	for _, e := range entries {
		e.Tx = hiddenTx
		s.PutEntry(e)
	}
	for _, c := range claims {
		c.Outcome = model.Rescued
		s.PutClaim(c)
	}
	for _, d := range deferred {
		d.Tx = hiddenTx
		s.PutDeferred(d)
	}
	return func(s *model.Flat) {
		for _, t := range failed {
			s.AddTerminal(t)
		}
		for _, e := range entries {
			s.PutEntry(e)
		}
		for _, c := range claims {
			s.PutClaim(c)
		}
		for _, d := range deferred {
			s.PutDeferred(d)
		}
	}
}

// hidden are the ways in which operation i may see less than there is; the first is to see everything.
func (j *judging) hidden(o ordering, i int) []hiding {
	d := &j.done[i]
	ways := []hiding{{}}
	switch d.Operation.Action.(type) {
	case model.Claim:
		return append(ways, j.hiddenFromClaim(o, i)...)
	case model.RescueStale, model.RescueDeadline:
		if d.Answer.Busy > 0 {
			ways = nil // it says itself that it passed over something
		}
		return append(ways, j.hiddenFromRescue(o, i)...)
	case model.RetryFailed:
		return append(ways, j.hiddenFromRetry(o, i)...)
	case model.Heartbeat:
		if slices.Contains(d.Answer.Closing, true) {
			ways = []hiding{{why: "attempts that somebody is closing", claims: func(c model.ClaimRow) bool {
				i := slices.Index(d.Operation.Action.(model.Heartbeat).Attempts, c.ID())
				return i >= 0 && d.Answer.Closing[i]
			}}}
		}
	case model.Promote:
		for k := range j.done {
			if j.overlaps(i, k) && isA[model.Promote](j.done[k]) {
				return append(ways, hiding{why: "rows that another promotion holds", deferred: func(model.DeferredRow) bool { return true }})
			}
		}
	}
	return ways
}

func isA[A model.Action](d Done) bool {
	_, ok := d.Operation.Action.(A)
	return ok
}

// hiddenFromRetry: failed rows, one by one or all, when it says itself that it found more than it retried, and somebody
// was at work who retries them or carries them to another slot.
func (j *judging) hiddenFromRetry(o ordering, i int) []hiding {
	d := &j.done[i]
	if d.Answer.Matched == len(d.Answer.Retried) {
		return nil
	}
	ways := []hiding{}
	for k := range j.done {
		if !j.overlaps(i, k) || !isA[model.RetryFailed](j.done[k]) && !isA[model.PruneQueue](j.done[k]) {
			continue
		}
		for _, row := range o.state.Terminals() {
			ways = append(ways, hiding{why: "a row that moved since it was found", failed: func(t model.TerminalRow) bool { return t == row }})
		}
		ways = append(ways, hiding{why: "rows that moved since they were found", failed: func(model.TerminalRow) bool { return true }})
		break
	}
	return ways
}

// hiddenFromClaim: lanes, when another claim of the queue or a cancellation was at work; rows of operations that overlap, one by one.
func (j *judging) hiddenFromClaim(o ordering, i int) []hiding {
	var ways []hiding
	queue := j.done[i].Operation.Action.(model.Claim).Queue
	first, _ := o.state.Config().Lane(queue, 1)
	for k := range j.done {
		other, ok := j.done[k].Operation.Action.(model.Claim)
		if ok = ok && other.Queue == queue || isA[model.Cancel](j.done[k]); !ok || !j.overlaps(i, k) {
			continue
		}
		for lanes := 1; lanes < 1<<model.Priorities; lanes++ {
			ways = append(ways, hiding{why: "lanes that somebody else holds", entries: func(e model.EntryRow) bool {
				return e.Lane >= first && e.Lane < first+model.Priorities && lanes&(1<<(e.Lane-first)) != 0
			}})
		}
		break
	}
	for k := range j.done {
		if !o.open[k] || !j.overlaps(i, k) || len(o.lastRow[k]) == 0 {
			continue
		}
		made := map[placement]bool{}
		for _, p := range o.lastRow[k] {
			made[p] = true
		}
		ways = append(ways, hiding{why: "rows that weren't committed when it began", entries: func(e model.EntryRow) bool {
			return made[placement{e.Lane, e.Seq}]
		}})
	}
	return ways
}

// hiddenFromRescue: batches with an attempt that somebody closes; whole generations that other maintenance works on.
func (j *judging) hiddenFromRescue(o ordering, i int) []hiding {
	busy := map[int]bool{}
	others, claiming := false, false
	for k := range j.done {
		if !j.overlaps(i, k) {
			continue
		}
		if attempts, closes := model.Closes(j.done[k].Operation.Action); closes {
			j.batches(o, attempts, busy)
		}
		switch op := j.done[k].Operation.Action.(type) {
		case model.Heartbeat: // whoever was heard at this moment isn't dead
			j.batches(o, op.Attempts, busy)
		case model.RescueStale, model.RescueDeadline, model.PruneClaims:
			others = true
		case model.Claim:
			claiming = true
		}
	}
	var ways []hiding
	if len(busy) > 0 {
		ways = append(ways, hiding{why: "busy batches", claims: func(c model.ClaimRow) bool { return busy[c.Batch] }})
	}
	if others && j.done[i].Answer.Busy == 0 {
		for gen := o.state.Vars().Claims.Pruned; gen <= o.state.Vars().Claims.Generation; gen++ {
			ways = append(ways, hiding{why: "a slot that somebody else maintains", claims: func(c model.ClaimRow) bool { return c.Gen == gen }})
		}
		ways = append(ways, hiding{why: "slots that somebody else maintains", claims: func(model.ClaimRow) bool { return true }})
	}
	if claiming {
		known := map[int]bool{}
		for _, c := range j.stage.start.Claims() {
			known[c.Receipt] = true
		}
		ways = append(ways, hiding{why: "attempts claimed since it began", claims: func(c model.ClaimRow) bool { return !known[c.Receipt] }})
	}
	return ways
}

func (j *judging) batches(o ordering, attempts []model.AttemptID, into map[int]bool) {
	for _, id := range attempts {
		if c, ok := o.state.Claim(id); ok {
			into[c.Batch] = true
		}
	}
}
