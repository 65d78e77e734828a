package schedule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/awa-engine/awa/fuzz"
	"github.com/awa-engine/awa/model"
)

// What an operation may answer beside other operations is what the model says at one moment, with these exceptions, and
// no others. Each is an answer that promises less, never one that changes something else, and each needs somebody who
// was under way at the same time:
//
//   - a claim passes over a lane that another claim or a cancellation has locked, and rows of operations that weren't over when it began
//     ("nothing unlocked and visible");
//   - a rescue passes over batches whose attempts somebody is closing (busy: the model says so of what a caller has completed), over a slot that another leader or a prune
//     is at work on, and over attempts that were claimed after it began;
//   - a retry of failed jobs, or a move into the DLQ, passes over rows that somebody took since it found them, and counts
//     them among those that it matched; so does a retry from the DLQ, and a purge passes over what such a one is taking;
//   - a heartbeat passes over attempts that somebody is closing, and says so;
//   - a promotion passes over rows that another one has locked, or that weren't committed when it began;
//   - a rotation or prune is "blocked", and changes nothing, when another maintenance of any kind was under way, or
//     somebody who locks the children of the slot; a caller's transaction whose enqueue met a rotation keeps the lock on
//     the slot that it didn't write into until it ends;
//   - a prune finds a slot active whose rows or attempts somebody has spent without having committed it, beside a rotation that
//     came after the same operation's new rows took their places: at no one moment are those rows in the older slot and the
//     spent ones still there;
//   - an operation that makes ready rows takes their places before it commits: beside rows of other operations under way
//     at the same time they may stand in either order (hazard 2). The same is true of job numbers.

// branches are the orders that come of placing operation i next, each with the model's state after it.
func (j *judging) branches(o ordering, i int) []ordering {
	d := &j.done[i]
	if d.Operation.Action == nil {
		return []ordering{j.placed(o, i, o.state, o.names, "ok")}
	}
	var all []ordering
	if blocked(d) {
		if j.mayBlock(i) {
			all = append(all, j.placed(o, i, model.Snapshot(o.state), o.names, "blocked (somebody was in the way)"))
		}
	}
	if j.maySkip(i) {
		all = append(all, j.placed(o, i, model.Snapshot(o.state), o.names, "skipped (somebody hadn't committed what he had spent)"))
	}
	for _, hidden := range j.hidden(o, i) {
		state := model.Snapshot(o.state)
		before := len(state.Entries())
		back := hidden.hide(state)
		result, err := model.Apply(state, d.Operation.Action)
		back(state)
		if err != nil {
			j.note(o, err.Error()+"\n")
			continue
		}
		names, ok := match(d, result, o.names)
		if !ok {
			j.note(o, fmt.Sprintf("  next could be %s of %s, but the model says %s and the engine %s\n",
				d.Operation, j.stage.scenario.Sessions[d.Session].Name, result, d.Answer.tell(d.Operation, o.names)))
			continue
		}
		next := j.placed(o, i, state, names, result.String()+hidden.String())
		all = append(all, next)
		if len(state.Entries()) > before {
			all = append(all, j.earlier(next, o.state, i)...)
		}
	}
	return all
}

// placed is the order with operation i at its end.
func (j *judging) placed(o ordering, i int, state *model.Flat, names map[int64]int, told string) ordering {
	d := &j.done[i]
	next := ordering{state: state, names: names, open: maps.Clone(o.open), lastRow: maps.Clone(o.lastRow)}
	next.open[i] = true
	next.told = append(slices.Clone(o.told), fmt.Sprintf("  %s %s -> %s\n", j.stage.scenario.Sessions[d.Session].Name, d.Operation, told))
	return next
}

func blocked(d *Done) bool { return d.Answer.Status == model.Blocked }

// mayBlock says whether somebody under way at the same time holds what operation i, a rotation or prune, doesn't wait
// for. The mutex and the slots' rows belong to maintenance; the children of a queue slot are locked by everybody but
// those who only rotate, those of a claim or lease slot by everybody but
// producers.
func (j *judging) mayBlock(i int) bool {
	rotates := false
	claims := false
	switch j.done[i].Operation.Action.(type) {
	case model.RotateQueue, model.RotateClaims, model.RotateLeases:
		rotates = true
	case model.PruneClaims, model.PruneLeases:
		claims = true
	}
	for k := range j.done {
		if !rotates && !claims && j.locksInVain(k) && j.precedes(k, i) && !j.endPrecedes(k, i) {
			return true
		}
		if !j.overlaps(i, k) {
			continue
		}
		switch j.done[k].Operation.Action.(type) {
		case model.RotateQueue, model.RotateClaims, model.RotateLeases, model.PruneQueue, model.PruneClaims, model.PruneLeases, model.FoldCounts:
			return true
		case model.Enqueue, model.EnqueueTx, model.Promote, model.Commit, model.Rollback, model.Begin:
			if !rotates && !claims {
				return true
			}
		default:
			if !rotates {
				return true
			}
		}
	}
	return false
}

// maySkip says whether operation i is a prune that found its slot active, and somebody at the same time spends what is in it
// and makes new ready rows, while the ring turns under him.
func (j *judging) maySkip(i int) bool {
	if !isA[model.PruneQueue](j.done[i]) || j.done[i].Answer.Status != model.SkippedActive {
		return false
	}
	for k := range j.done {
		switch j.done[k].Operation.Action.(type) {
		case model.SetPriority, model.MoveJob, model.RescueStale, model.RescueDeadline, model.CallbackTimeout, model.RetryFailed:
			if j.overlaps(i, k) && j.turnsUnder(k) {
				return true
			}
		}
	}
	return false
}

// turnsUnder says whether the queue ring turned while operation k was under way.
func (j *judging) turnsUnder(k int) bool {
	for r := range j.done {
		if isA[model.RotateQueue](j.done[r]) && j.done[r].Answer.Status == model.Rotated && j.overlaps(k, r) {
			return true
		}
	}
	return false
}

// locksInVain says whether operation k is an enqueue in a caller's transaction which may have locked the slot that was
// current before a rotation, and then written into the next one.
func (j *judging) locksInVain(k int) bool {
	return isA[model.EnqueueTx](j.done[k]) && j.turnsUnder(k)
}

// endPrecedes says whether the caller's transaction that operation k belongs to had ended before operation i began.
func (j *judging) endPrecedes(k, i int) bool {
	tx := j.done[k].Operation.Action.(model.EnqueueTx).Tx
	for e := range j.done {
		switch a := j.done[e].Operation.Action.(type) {
		case model.Commit:
			if a.Tx == tx {
				return j.precedes(e, i)
			}
		case model.Rollback:
			if a.Tx == tx {
				return j.precedes(e, i)
			}
		}
	}
	return false
}

// matchEnqueued names new jobs, or compares the one that held the key.
func matchEnqueued(r model.Enqueued, a *Answer, names map[int64]int) (map[int64]int, bool) {
	switch {
	case len(r.Jobs) != len(a.Jobs) || r.Existing != a.Existing:
		return nil, false
	case r.Existing:
		return names, slices.Equal(r.Jobs, namesOf(a.Jobs, names))
	}
	names = maps.Clone(names)
	for k, id := range a.Jobs {
		if _, twice := names[id]; twice {
			return nil, false
		}
		names[id] = r.Jobs[k]
	}
	return names, true
}

// match compares the model's answer with the engine's. New jobs get their names here.
func match(d *Done, result model.Result, names map[int64]int) (map[int64]int, bool) {
	a := &d.Answer
	switch r := result.(type) {
	case model.Enqueued:
		return matchEnqueued(r, a, names)
	case model.Claimed:
		same := slices.EqualFunc(r.Handouts, a.Handouts, func(h model.Handout, g Handout) bool {
			name, known := names[g.Job]
			return known && h.Job == name && h.Lease == g.Lease && h.Attempt == g.Attempt
		})
		return names, same
	case model.Closed:
		if len(r.Attempts) != len(a.Closed) {
			return names, false
		}
		for i, c := range r.Attempts {
			closing := i < len(a.Closing) && a.Closing[i] // the attempt was taken out of sight, or is a caller's
			if c.Closing && !closing || (c.Stale || c.Closing) != (a.Closed[i].Stale || closing) || c.Failed != a.Closed[i].Failed || c.DLQ != a.Closed[i].DLQ {
				return names, false
			}
		}
		return names, true
	case model.Promoted:
		return names, len(r.Jobs) == a.Promoted
	case model.Trimmed:
		return names, r.Rows == a.Trimmed
	case model.RescuedCount:
		// What a caller has completed is busy at each moment until its transaction ends; others are while they are at work.
		return names, r.Busy <= a.Busy && r == model.RescuedCount{Requeued: a.Requeued, Failed: a.Failed, DLQ: a.Held, Busy: r.Busy}
	case model.Status:
		return names, r == a.Status
	case model.WaitAnswer:
		return names, r == a.Wait
	case model.QueuePrune:
		return names, r == model.QueuePrune{Status: a.Status, Carried: a.Carried}
	case model.Retried:
		// What its scan has matched may be retried by another or carried on meanwhile: it says so itself.
		return names, slices.Equal(r.Jobs, namesOf(a.Retried, names)) && r.Matched <= a.Matched
	case model.Moved:
		return names, slices.Equal(r.Jobs, namesOf(a.Retried, names)) && r.Matched <= a.Matched
	case model.Purged:
		return names, slices.Equal(r.Jobs, namesOf(a.Purged, names))
	case model.Relocation:
		asked := jobsOf(r.Jobs)
		return names, r.String() == model.Relocation(fuzz.Cancellation(asked, a.Cancelled)).String()
	case model.Deletion:
		asked := jobsOf(r.Jobs)
		return names, r.String() == model.Deletion(fuzz.Cancellation(asked, a.Cancelled)).String()
	case model.Cancellation:
		asked := jobsOf(r.Jobs)
		return names, r.String() == fuzz.Cancellation(asked, a.Cancelled).String()
	case model.Counts:
		return names, r == a.Counts
	}
	return names, true
}

// jobsOf are the jobs that an answer speaks of, in the order of the request.
func jobsOf(answers []model.CancelledJob) (asked []int) {
	for _, job := range answers {
		asked = append(asked, job.Job)
	}
	return asked
}

// earlier are the orders in which the rows that operation i has just made stand before rows of operations that overlap
// it, which are placed already: their places were taken first.
func (j *judging) earlier(o ordering, before *model.Flat, i int) []ordering {
	known := map[placement]bool{}
	for _, e := range before.Entries() {
		known[placement{e.Lane, e.Seq}] = true
	}
	var made []placement
	for _, e := range o.state.Entries() {
		if p := (placement{e.Lane, e.Seq}); !known[p] {
			made = append(made, p)
		}
	}
	o.lastRow[i] = made
	var all []ordering
	for k, rows := range o.lastRow {
		if k == i || !j.overlaps(i, k) {
			continue
		}
		for _, first := range rows {
			if state, moved := moveBefore(o.state, made, first); moved {
				next := o
				next.state = state
				next.lastRow = map[int][]placement{}
				next.told = append(slices.Clone(o.told), "  (its rows took their places before those of an operation above)\n")
				all = append(all, next)
			}
		}
	}
	return all
}

// moveBefore gives the rows in made the place of another row of their lane, and that one and what follows later ones.
func moveBefore(s *model.Flat, made []placement, first placement) (*model.Flat, bool) {
	var mine []int
	for _, p := range made {
		if p.lane == first.lane && p.seq > first.seq {
			mine = append(mine, p.seq)
		}
	}
	if len(mine) == 0 {
		return nil, false
	}
	slices.Sort(mine)
	to := map[int]int{}
	next := first.seq
	for _, seq := range mine {
		to[seq] = next
		next++
	}
	for seq := first.seq; seq <= s.LastSeq(first.lane); seq++ {
		if _, moved := to[seq]; !moved {
			to[seq] = next
			next++
		}
	}
	return relabel(s, first.lane, to), true
}

// relabel gives the places of a lane other numbers.
func relabel(s *model.Flat, lane int, to map[int]int) *model.Flat {
	f := model.NewFlat(s.Config())
	f.SetVars(s.Vars())
	for l := range s.Config().Lanes() {
		f.SetLastSeq(l, s.LastSeq(l))
	}
	for queue := range s.Config().Queues {
		f.SetRollup(queue, s.Rollup(queue))
		f.SetPolicy(queue, s.Policy(queue))
	}
	for _, d := range s.DLQRows() {
		f.PutDLQ(d)
	}
	for _, r := range s.RemovedRows() {
		f.AddRemoved(r)
	}
	place := func(l int, seq *int) {
		if n, ok := to[*seq]; ok && l == lane {
			*seq = n
		}
	}
	for _, e := range s.Entries() {
		place(e.Lane, &e.Seq)
		f.PutEntry(e)
	}
	for _, c := range s.Claims() {
		place(c.Lane, &c.Seq)
		f.PutClaim(c)
	}
	for _, t := range s.Terminals() {
		place(t.Lane, &t.Seq)
		f.AddTerminal(t)
	}
	for _, d := range s.DeferredRows() {
		f.PutDeferred(d)
	}
	for _, tx := range s.Txs() {
		f.PutTx(tx)
	}
	for _, a := range s.AttemptStates() {
		f.PutAttemptState(a)
	}
	for _, l := range s.Leases() {
		f.PutLease(l)
	}
	for _, u := range s.Uniques() {
		f.PutUnique(u)
	}
	return f
}
