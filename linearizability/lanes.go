package linearizability

import (
	"cmp"
	"math"
	"slices"

	"github.com/awa-engine/awa/model"
)

// The monitor of the lanes reports only what is certain by the clocks of the callers. What it knows of a ready row:
//
//   - its place, (queue, priority, seq), from the dumps;
//   - visible: a time from which on every new snapshot shows it, the return of the enqueue that committed it. A row that a
//     rescue or a promotion made gets the last return of all that can have made it;
//   - taken: a time before which it was certainly not handed out, the call of the claim that got it, or never.
//
// Claim B ran from B.Call to B.Return, and read its snapshots in between. If visible < B.Call and taken > B.Return, the
// row was there to be handed out in every snapshot that B can have read. Then:
//
//   - lane order (P4): B handed out a later position of that lane. So B held the lane's lock, and had to take the lowest
//     positions first, whatever its limit: certainly wrong.
//   - priority: B handed out a worse priority of that queue. (Its queues don't age: where they do, a worse priority may be right.) B may have passed over the row's lane because another claim
//     held its lock; only claims of that queue take it, each within its own interval. So it is certainly wrong when no
//     other claim of the queue overlapped B, which holds of few claims under load, and of more at its edges.
//   - left out: B had room left and no other claim of the queue overlapped it: it had to take the row.
//
// A claim without an answer overlaps all that began before its transaction had certainly ended; what it handed out is
// known to nobody, so that a row without a known owner counts as taken at the call of the first such claim.

// A place is a ready row as the monitor sees it.
type place struct {
	row
	visible, taken int64
}

type laneKey struct {
	queue    string
	priority int
}

// lanes judges the order of hand-outs.
func (j *judging) lanes() {
	places := map[laneKey][]*place{}
	byAttempt := map[attemptID]*place{} // that the row led to
	for _, r := range j.h.rows {
		id := attemptID{r.Job, r.Lease + 1}
		if byAttempt[id] != nil {
			continue // dumped twice
		}
		p := &place{row: r, visible: j.visible(r), taken: j.taken(id, r.Queue)}
		byAttempt[id] = p
		key := laneKey{r.Queue, r.Priority}
		places[key] = append(places[key], p)
	}
	j.v.Did.Rows = len(byAttempt)
	sweeps := map[laneKey]*sweep{}
	for key, all := range places {
		sweeps[key] = newSweep(all)
	}
	claims, alone := j.claimsByCall()
	for _, c := range claims {
		for _, s := range sweeps {
			s.upTo(c.Call)
		}
		if c.Outcome == outcomeOK {
			j.oneClaim(c, alone[c], sweeps, byAttempt)
		}
	}
	j.placesInOrder(byAttempt)
}

// visible is a time from which on the row was certainly there; never, when there is none.
func (j *judging) visible(r row) int64 {
	l := j.lives[r.Job]
	if l == nil || l.born == nil {
		return never
	}
	if r.Lease == 0 && !l.deferred {
		return l.born.Return
	}
	// By the claim that handed the row out it was there; a row that nobody got may be as late as the last call.
	before := int64(math.MaxInt64)
	for _, c := range j.handouts[attemptID{r.Job, r.Lease + 1}] {
		before = min(before, c.Return)
	}
	by := opRescue
	if r.Lease == 0 {
		by = opPromote
	}
	last := int64(0)
	for _, c := range j.maintenance {
		if c.Call > before {
			break
		}
		if c.Op == by && c.moved() && c.Return > l.from {
			last = max(last, c.Return)
		}
	}
	if last == 0 {
		return never
	}
	return last
}

// taken is a time before which the row was certainly not handed out.
func (j *judging) taken(id attemptID, queue string) int64 {
	at := never
	for _, c := range j.handouts[id] {
		at = min(at, c.Call)
	}
	if at < never {
		return at
	}
	for _, c := range j.lostClaims {
		if c.Queue == queue {
			at = min(at, c.Call)
		}
	}
	return at
}

// claimsByCall sorts the claims, and says which of them no other claim of its queue overlapped.
func (j *judging) claimsByCall() (claims []*call, alone map[*call]bool) {
	for _, c := range j.h.calls {
		if c.Op == opClaim {
			claims = append(claims, c)
		}
	}
	slices.SortStableFunc(claims, func(a, b *call) int { return cmp.Compare(a.Call, b.Call) })
	alone = map[*call]bool{}
	busy, before := map[string]int64{}, map[string]*call{} // by queue: until when, and the claim before
	for _, c := range claims {
		alone[c] = c.Call > busy[c.Queue]
		if last := before[c.Queue]; last != nil && last.Return >= c.Call {
			alone[last] = false
		}
		busy[c.Queue] = max(busy[c.Queue], c.Return)
		before[c.Queue] = c
	}
	return claims, alone
}

// oneClaim judges what one claim handed out, against all that was certainly visible when it was called.
func (j *judging) oneClaim(c *call, alone bool, sweeps map[laneKey]*sweep, byAttempt map[attemptID]*place) {
	highest := map[int]*place{} // by priority
	worst, last := 0, (*place)(nil)
	for _, a := range c.Attempts {
		p := byAttempt[a.id()]
		if p == nil {
			j.v.Did.Unseen++
			continue
		}
		if last != nil && (p.Priority < last.Priority || p.Priority == last.Priority && p.Seq < last.Seq) {
			j.v.wrong(KindLaneOrder, "%s: in its own answer %d/%d comes after %d/%d", c, p.Priority, p.Seq, last.Priority, last.Seq)
		}
		last, worst = p, max(worst, p.Priority)
		if highest[p.Priority] == nil || highest[p.Priority].Seq < p.Seq {
			highest[p.Priority] = p
		}
	}
	for priority, p := range highest {
		j.v.Did.Ordered++
		if early := sweeps[laneKey{c.Queue, priority}].before(p.Seq, c.Return); early != nil {
			j.v.wrong(KindLaneOrder, "%s: job %d at %d of lane %s/%d was handed out, job %d at %d was left, visible since %s, taken at %s",
				c, p.Job, p.Seq, c.Queue, priority, early.Job, early.Seq, clock(early.visible), clock(early.taken))
		}
	}
	if !alone {
		return
	}
	j.v.Did.Alone++
	kind, text := KindPriority, "a worse priority was handed out"
	if len(c.Attempts) < c.Limit {
		kind, text, worst = KindLeftOut, "there was room", model.Priorities+1
	}
	for priority := 1; priority < worst; priority++ {
		s := sweeps[laneKey{c.Queue, priority}]
		if s == nil {
			continue
		}
		if left := s.before(math.MaxInt64, c.Return); left != nil {
			j.v.wrong(kind, "%s: %s, job %d at %d of lane %s/%d was left, visible since %s, taken at %s",
				c, text, left.Job, left.Seq, c.Queue, priority, clock(left.visible), clock(left.taken))
		}
	}
}

// placesInOrder holds the places that the engine gave against the order in which the jobs came: of two calls of which one
// returned before the other was called, the first has the lower places, and in one call each job has a higher place than
// the jobs before it. A caller's transaction takes its places within EnqueueTx, whenever it commits.
func (j *judging) placesInOrder(byAttempt map[attemptID]*place) {
	type block struct {
		at        *call
		low, high int64
	}
	blocks := map[laneKey][]block{}
	for _, c := range j.h.calls {
		if c.Deferred || c.Outcome != outcomeOK && (c.Outcome != outcomeUnknown || c.Written == 0) {
			continue
		}
		mine := map[laneKey]block{}
		for _, one := range c.Jobs {
			p := byAttempt[attemptID{one.ID, 1}]
			if p == nil {
				continue
			}
			j.v.Did.Placed++
			key := laneKey{one.Queue, one.Priority}
			b, ok := mine[key]
			if ok && p.Seq < b.high {
				j.v.wrong(KindPlace, "%s: job %d stands at %d of lane %s/%d, before one that the call names earlier, at %d",
					c, one.ID, p.Seq, one.Queue, one.Priority, b.high)
			}
			if !ok {
				b = block{c, p.Seq, p.Seq}
			}
			mine[key] = block{c, min(b.low, p.Seq), max(b.high, p.Seq)}
		}
		for key, b := range mine {
			blocks[key] = append(blocks[key], b)
		}
	}
	given := func(b block) int64 { return cmp.Or(b.at.Written, b.at.Return) }
	for key, all := range blocks {
		slices.SortFunc(all, func(a, b block) int { return cmp.Compare(a.at.Call, b.at.Call) })
		ended := slices.SortedFunc(slices.Values(all), func(a, b block) int { return cmp.Compare(given(a), given(b)) })
		var highest block
		for _, b := range all {
			for len(ended) > 0 && given(ended[0]) < b.at.Call {
				if ended[0].high > highest.high {
					highest = ended[0]
				}
				ended = ended[1:]
			}
			if b.low < highest.high {
				j.v.wrong(KindPlace, "lane %s/%d: %s got place %d, though %s had %d before it was called",
					key.queue, key.priority, b.at, b.low, highest.at, highest.high)
			}
		}
	}
}
