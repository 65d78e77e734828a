package linearizability

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
)

// A window is a time in which a hidden call can have mattered to a job.
type window struct{ from, to int64 }

func (w window) overlaps(c *call) bool { return c.Return >= w.from && c.Call <= w.to }

// windows say when which kind of hidden call can have mattered to a job. A search is only as fast as what it needn't
// try; and what is left out here could not happen in any life that fits the answers:
//
//   - a lost claim makes an attempt that no client was given. There is none where the clients were given every lease that
//     anybody knows of and the last of them was closed by a client;
//   - a rescue closes an attempt that no client closed, once it is old enough, and before the next attempt was given out;
//   - a promotion moves a deferred job, before it was handed out; and the first that left nothing behind moves it for sure;
//   - a prune matters to reads that found nothing, and then only before the last of them.
type windows struct {
	claims, promotions, prunes window
	rescues                    []window
}

// nowhen overlaps nothing.
var nowhen = window{from: never + 1, to: -1}

func (j *judging) windows(l *life) windows {
	w := windows{claims: j.claimWindow(l), promotions: nowhen, prunes: nowhen}
	stale := int64(j.h.run.Plan.StaleAfter) - int64(clockSlack)
	next := l.to
	for lease := l.maxLease; lease >= 1; lease-- {
		c := l.handed[lease]
		if c == nil { // lost: it may be as old as the first lost claim of the window
			for _, lost := range j.lostClaims {
				if w.claims.overlaps(lost) && lost.Queue == l.job.Queue {
					w.rescues = append(w.rescues, window{lost.Call + stale, next})
				}
			}
			continue
		}
		if !l.ended[lease] {
			w.rescues = append(w.rescues, window{c.Call + stale, next})
		}
		next = c.Return
	}
	if w.claims != nowhen && l.handed[l.maxLease] != nil { // an attempt that nothing else knows of
		w.rescues = append(w.rescues, window{w.claims.from + stale, w.claims.to})
	}
	if l.deferred {
		w.promotions = window{l.from, l.to}
		if first := l.handed[1]; first != nil {
			w.promotions.to = first.Return
		}
		for _, c := range j.maintenance {
			if c.promotedAll() && c.Call > l.born.Return {
				w.promotions.to = min(w.promotions.to, c.Return)
				break
			}
		}
	}
	if l.gone > 0 {
		w.prunes = window{l.from, l.gone}
	}
	return w
}

// claimWindow is when a claim without an answer can have handed the job out.
func (j *judging) claimWindow(l *life) window {
	for lease := range l.maxLease {
		if l.handed[lease+1] == nil {
			return window{l.from, l.to}
		}
	}
	switch last := l.handed[l.maxLease]; {
	case l.ended[l.maxLease]:
		return nowhen
	case last != nil:
		return window{last.Call, l.to}
	}
	return window{l.from, l.to}
}

// hidden adds what may have happened to the job without a client's word for it.
func (j *judging) hidden(l *life) {
	w := j.windows(l)
	for _, c := range j.lostClaims {
		if c.Queue == l.job.Queue && w.claims.overlaps(c) {
			l.hide(lostClaim(c), c)
		}
	}
	// Maintenance is sorted by call, and no call of it lasts longer than the longest.
	start, _ := slices.BinarySearchFunc(j.maintenance, l.from-j.longest, func(c *call, at int64) int { return cmp.Compare(c.Call, at) })
	var rescues []*call
	for _, c := range j.maintenance[start:] {
		if c.Call > l.to {
			break
		}
		m, ok := perhaps(c, j.h.run.Plan.StaleAfter)
		switch {
		case !ok:
		case c.Op == opRescue && slices.ContainsFunc(w.rescues, func(w window) bool { return w.overlaps(c) }):
			rescues = append(rescues, c)
		case c.Op == opPromote && w.promotions.overlaps(c), c.Op == opPruneQueue && w.prunes.overlaps(c):
			l.hide(m, c)
		}
	}
	for _, c := range l.essential(rescues, int64(j.h.run.Plan.StaleAfter)) {
		m, _ := perhaps(c, j.h.run.Plan.StaleAfter)
		l.hide(m, c)
	}
}

// essential leaves out rescues that an earlier one stands for. A job that waits long in a crowded lane has hundreds.
//
// Between two neighbouring events of the job's other calls nothing but maintenance happens to it, and a rescue can do its
// part there at most once. Of the rescues that began and ended in such a gap, and for which every attempt handed out
// before it was old enough, the one called first can do whatever a later one can, and comes before any prune that a later
// one comes before: the others are left out.
func (l *life) essential(rescues []*call, stale int64) []*call {
	var events, claims []int64
	for _, o := range l.ops {
		if o.Metadata.(*call).Op == opPruneQueue {
			continue
		}
		events = append(events, o.Call, o.Return)
		if o.Metadata.(*call).Op == opClaim {
			claims = append(claims, o.Call)
		}
	}
	slices.Sort(events)
	slices.Sort(claims)
	type group struct {
		gap                     int
		failed, requeues, fails bool
	}
	have := map[group]bool{}
	return slices.DeleteFunc(rescues, func(c *call) bool { // they are sorted by call
		gap, at := slices.BinarySearch(events, c.Call)
		until, also := slices.BinarySearch(events, c.Return)
		before, _ := slices.BinarySearch(claims, c.Call)
		if gap != until || at || also || before == 0 || c.Return <= claims[before-1]+stale {
			return false
		}
		g := group{gap, c.Outcome != outcomeOK, c.Requeued > 0, c.Failed > 0}
		spare := have[g]
		have[g] = true
		return spare
	})
}

// hide adds a call that isn't a client's answer about this job, so that it says nothing of how long the job lived.
func (l *life) hide(m move, c *call) {
	l.ops = append(l.ops, porcupine.Operation{ClientId: c.Client, Input: m, Call: c.Call, Return: c.Return, Metadata: c})
}
