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
	held     func(model.DLQRow) bool
	keys     bool // all rows of unique keys
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
	back := []func(*model.Flat){h.hideEnded(s)}
	if h.entries != nil {
		back = append(back, take(s, s.Entries(), func(e model.EntryRow) bool { return e.Waiting() && h.entries(e) }, func(s *model.Flat, e model.EntryRow) {
			e.Tx = hiddenTx
			s.PutEntry(e)
		}, (*model.Flat).PutEntry))
	}
	if h.claims != nil {
		back = append(back, take(s, s.Claims(), func(c model.ClaimRow) bool { return c.Outcome == model.Open && h.claims(c) }, func(s *model.Flat, c model.ClaimRow) {
			c.Outcome = model.Rescued
			s.PutClaim(c)
		}, (*model.Flat).PutClaim))
	}
	if h.deferred != nil {
		back = append(back, take(s, s.DeferredRows(), func(d model.DeferredRow) bool { return d.Tx == 0 && h.deferred(d) }, func(s *model.Flat, d model.DeferredRow) {
			d.Tx = hiddenTx
			s.PutDeferred(d)
		}, (*model.Flat).PutDeferred))
	}
	if h.keys {
		back = append(back, take(s, s.Uniques(), func(model.UniqueRow) bool { return true }, (*model.Flat).DropUnique, (*model.Flat).PutUnique))
	}
	return func(s *model.Flat) {
		for _, put := range back {
			put(s)
		}
	}
}

// hideEnded takes rows of jobs that have failed out of sight.
func (h hiding) hideEnded(s *model.Flat) func(*model.Flat) {
	var back []func(*model.Flat)
	if h.failed != nil {
		back = append(back, take(s, s.Terminals(), func(t model.TerminalRow) bool { return t.State == model.Failed && h.failed(t) },
			(*model.Flat).DropTerminal, (*model.Flat).AddTerminal))
	}
	if h.held != nil {
		back = append(back, take(s, s.DLQRows(), h.held, (*model.Flat).DropDLQ, (*model.Flat).PutDLQ))
	}
	return func(s *model.Flat) {
		for _, put := range back {
			put(s)
		}
	}
}

// take hides those of the rows that match; the returned function puts them back.
func take[T any](s *model.Flat, rows []T, matches func(T) bool, hide, back func(*model.Flat, T)) func(*model.Flat) {
	var taken []T
	for _, row := range rows {
		if matches(row) {
			taken = append(taken, row)
		}
	}
	for _, row := range taken {
		hide(s, row)
	}
	return func(s *model.Flat) {
		for _, row := range taken {
			back(s, row)
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
	case model.RescueStale, model.RescueDeadline, model.CallbackTimeout:
		if d.Answer.Busy > 0 && !completing(o.state) {
			ways = nil // it says itself that it passed over something, and the model knows of nothing
		}
		return append(ways, j.hiddenFromRescue(o, i)...)
	case model.RetryFailed, model.MoveToDLQ:
		return append(ways, j.hiddenFromRetry(o, i)...)
	case model.RetryFromDLQ, model.PurgeDLQ:
		return append(ways, j.hiddenFromRelease(o, i)...)
	case model.Heartbeat:
		if slices.Contains(d.Answer.Closing, true) {
			ways = []hiding{{why: "attempts that somebody is closing", claims: func(c model.ClaimRow) bool {
				i := slices.Index(d.Operation.Action.(model.Heartbeat).Attempts, c.ID())
				return i >= 0 && d.Answer.Closing[i]
			}}}
		}
	case model.TrimKeys:
		for k := range j.done {
			if k != i && j.locksKeys(k, i) {
				return append(ways, hiding{why: "keys that somebody is taking over", keys: true})
			}
		}
	case model.Promote:
		for k := range j.done {
			if j.overlaps(i, k) && (isA[model.Promote](j.done[k]) || moves(j.done[k])) {
				return append(ways, hiding{why: "rows that another promotion or a move holds", deferred: func(model.DeferredRow) bool { return true }})
			}
		}
	}
	return ways
}

// completing says whether a caller's transaction that is open has completed attempts: those are busy in the model, too.
func completing(s *model.Flat) bool {
	return slices.ContainsFunc(s.Claims(), func(c model.ClaimRow) bool { return c.Tx > 0 })
}

func isA[A model.Action](d Done) bool {
	_, ok := d.Operation.Action.(A)
	return ok
}

// moves says whether the operation takes jobs from one lane to another.
func moves(d Done) bool { return isA[model.SetPriority](d) || isA[model.MoveJob](d) }

// hiddenFromRetry: failed rows, one by one or all, when it says itself that it found more than it retried, and somebody
// was at work who retries them or carries them to another slot.
func (j *judging) hiddenFromRetry(o ordering, i int) []hiding {
	d := &j.done[i]
	if d.Answer.Matched == len(d.Answer.Retried) {
		return nil
	}
	ways := []hiding{}
	for k := range j.done {
		if !j.overlaps(i, k) || !takesFailed(j.done[k]) {
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

// takesFailed says whether the operation takes failed rows out.
func takesFailed(d Done) bool {
	switch d.Operation.Action.(type) {
	case model.RetryFailed, model.PruneQueue, model.MoveToDLQ, model.DeleteTerminal:
		return true
	}
	return false
}

// hiddenFromRelease: jobs of the DLQ, one by one or all, that another who takes them out is at work on. A retry says itself
// that it found more.
func (j *judging) hiddenFromRelease(o ordering, i int) []hiding {
	d := &j.done[i]
	if isA[model.RetryFromDLQ](*d) && d.Answer.Matched == len(d.Answer.Retried) {
		return nil
	}
	ways := []hiding{}
	for k := range j.done {
		if !j.overlaps(i, k) || !isA[model.RetryFromDLQ](j.done[k]) && !isA[model.PurgeDLQ](j.done[k]) {
			continue
		}
		for _, row := range o.state.DLQRows() {
			ways = append(ways, hiding{why: "a job of the DLQ that somebody else takes", held: func(d model.DLQRow) bool { return d == row }})
		}
		ways = append(ways, hiding{why: "jobs of the DLQ that somebody else takes", held: func(model.DLQRow) bool { return true }})
		break
	}
	return ways
}

// hiddenFromClaim: lanes, when another claim of the queue, a cancellation or a move was at work; rows of operations that overlap, one by one.
func (j *judging) hiddenFromClaim(o ordering, i int) []hiding {
	var ways []hiding
	queue := j.done[i].Operation.Action.(model.Claim).Queue
	first, _ := o.state.Config().Lane(queue, 1)
	for k := range j.done {
		other, ok := j.done[k].Operation.Action.(model.Claim)
		if ok = ok && other.Queue == queue || isA[model.Cancel](j.done[k]) || moves(j.done[k]); !ok || !j.overlaps(i, k) {
			continue
		}
		for lanes := 1; lanes < 1<<o.state.Config().LanesOfQueue(); lanes++ {
			ways = append(ways, hiding{why: "lanes that somebody else holds", entries: func(e model.EntryRow) bool {
				return e.Lane >= first && e.Lane < first+o.state.Config().LanesOfQueue() && lanes&(1<<(e.Lane-first)) != 0
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
		case model.Park:
			j.batches(o, []model.AttemptID{op.Attempt}, busy)
		case model.Resume:
			j.batches(o, []model.AttemptID{op.Attempt}, busy)
		case model.RescueStale, model.RescueDeadline, model.CallbackTimeout, model.PruneClaims:
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

// locksKeys says whether operation k may have held rows of unique keys while i ran.
func (j *judging) locksKeys(k, i int) bool {
	switch a := j.done[k].Operation.Action.(type) {
	case model.EnqueueTx:
		return a.Unique != 0 && !j.precedes(i, k) && !j.endPrecedes(k, i)
	case model.Enqueue, model.RetryFailed, model.RetryFromDLQ, model.TrimKeys:
		return j.overlaps(i, k)
	}
	return false
}
