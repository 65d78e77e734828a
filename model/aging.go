package model

import (
	"cmp"
	"fmt"
	"slices"
)

// What waiting is worth. Of jobs with the same priority, in several shards, the one that waits longest goes first. A job of a queue that ages gains a step of priority with each interval that it waits; who has the
// same effective priority is ordered by how long it waits. The priority that aging gives orders a claim's choice and is
// part of nothing: the lane of a row, of its evidence and of its claim is that of its own priority (hazard 36).

// aging is the interval of a lane's queue, 0 for none.
func (c *Config) aging(lane int) int {
	if queue := c.QueueOf(lane); queue < len(c.Agings) {
		return c.Agings[queue]
	}
	return 0
}

// agingOf is the interval of a queue that there is.
func agingOf(s Store, queue string) int {
	first, _ := s.Config().Lane(queue, 1)
	return s.Config().aging(first)
}

// waitingOrders: who is handed out first in a queue isn't a matter of lanes alone.
func waitingOrders(s Store, queue string) bool {
	return agingOf(s, queue) > 0 || s.Config().shards() > 1
}

// effective is the priority that a row has at a moment, never better than 1.
func (c *Config) effective(e EntryRow, now int) int {
	priority, aging := c.PriorityOf(e.Lane), c.aging(e.Lane)
	if aging == 0 {
		return priority
	}
	return max(1, priority-max(0, now-e.Since)/aging)
}

// mostUrgent is the lane whose first row is to be handed out next, -1 when there is none. Lanes are in the order of their
// priorities, which decides when all else is equal.
func mostUrgent(c *Config, lanes [][]EntryRow, now int) int {
	best := -1
	for i, rows := range lanes {
		if len(rows) > 0 && (best < 0 || byUrgency(c, rows[0], lanes[best][0], now) < 0) {
			best = i
		}
	}
	return best
}

func byUrgency(c *Config, a, b EntryRow, now int) int {
	return cmp.Or(cmp.Compare(c.effective(a, now), c.effective(b, now)), cmp.Compare(a.Since, b.Since))
}

// newestWait is since when the youngest job waits that is there to be handed out, or is about to be.
func newestWait(s Store) int {
	newest := 0
	for _, e := range s.Entries() {
		if e.Batch == 0 {
			newest = max(newest, e.Since)
		}
	}
	return newest
}

// normalizeWaits keeps of Since what a claim may read: how much older than the others a job is that waits, where jobs age. One
// of another queue may be moved there.
func (f *Flat) normalizeWaits() {
	ages := slices.Max(append(slices.Clone(f.config.Agings), 0)) > 0 || f.config.shards() > 1
	matters := func(e EntryRow) bool { return e.Batch == 0 && ages }
	oldest := Infinite
	for _, e := range f.entries {
		if matters(e) {
			oldest = min(oldest, e.Since)
		}
	}
	for i := range f.entries {
		if e := &f.entries[i]; matters(*e) {
			e.Since -= oldest - 1
		} else {
			e.Since = 0
		}
	}
}

// A turn is one job of a claim's answer, with what else was there to be chosen: the first of each lane.
type turn struct {
	row    EntryRow
	others []EntryRow
}

// turns are those of a claim from a queue whose order depends on waiting.
func turns(p Step) []turn {
	claim, ok := p.Action.(Claim)
	if !ok || !waitingOrders(p.Pre, claim.Queue) {
		return nil
	}
	var all []turn
	rest := waitingOf(p.Pre, claim.Queue)
	for _, h := range p.Result.(Claimed).Handouts {
		at := slices.IndexFunc(rest, func(e EntryRow) bool { return e.Job == h.Job })
		if at < 0 {
			continue // what wasn't there to be handed out others find
		}
		t := turn{row: rest[at]}
		for i, e := range rest {
			if first := i == 0 || rest[i-1].Lane != e.Lane; first && e.Lane != t.row.Lane {
				t.others = append(t.others, e)
			}
		}
		all = append(all, t)
		rest = slices.Delete(rest, at, at+1)
	}
	return all
}

// P4: what a claim hands out next has the best effective priority of all that are first in their lanes, and has waited longest
// of those that have the same. So a claim of several is as many claims of one.
func mostUrgentIsHandedOut(p Step) error {
	for _, t := range turns(p) {
		now, c := p.Action.(Claim).Now, p.Pre.Config()
		for _, other := range t.others {
			mine, its := c.effective(t.row, now), c.effective(other, now)
			if its < mine || its == mine && other.Since < t.row.Since {
				return fmt.Errorf("job %d was handed out, effective priority %d, waiting since %d, and job %d was left, effective priority %d, waiting since %d",
					t.row.Job, mine, t.row.Since, other.Job, its, other.Since)
			}
		}
	}
	return nil
}

func agingMatters(p Step) bool {
	return slices.ContainsFunc(turns(p), func(t turn) bool { return len(t.others) > 0 })
}

// P4: one that is first in its lane and has waited for all the steps that its priority has to gain is passed over by nobody
// who came later, however good his priority and however many there are. This says nothing of effective priorities: it
// is the bound on waiting that a user is promised.
func agedIsNotPassedOver(p Step) error {
	for _, t := range turns(p) {
		for _, other := range t.others {
			if fullyAged(p, other) && other.Since < t.row.Since {
				return fmt.Errorf("job %d has waited since %d and was passed over for job %d, which came at %d", other.Job, other.Since, t.row.Job, t.row.Since)
			}
		}
	}
	return nil
}

func fullyAged(p Step, e EntryRow) bool {
	return p.Action.(Claim).Now-e.Since >= (p.Pre.Config().PriorityOf(e.Lane)-1)*p.Pre.Config().aging(e.Lane)
}

func agedWaits(p Step) bool {
	return slices.ContainsFunc(turns(p), func(t turn) bool {
		return slices.ContainsFunc(t.others, func(e EntryRow) bool { return fullyAged(p, e) && p.Pre.Config().PriorityOf(e.Lane) > 1 })
	})
}

// P4: a job waits since it became available: it came, was promoted, or was given back. The time before that is none of
// waiting; a move is no new beginning.
func waitBeginsWhenAvailable(p Step) error {
	for _, e := range p.Post.Entries() {
		if _, old := entryAt(p.Pre, e.Lane, e.Seq); old {
			continue
		}
		want, ok := nowOf(p.Action)
		if !ok {
			before, _ := p.Pre.NewestEntry(e.Job)
			want = before.Since
		}
		if e.Since != want {
			return fmt.Errorf("%s made a ready row of job %d, waiting since %d, and that is %d", p.Action, e.Job, e.Since, want)
		}
	}
	return nil
}

// nowOf is the time of what makes jobs available; a move has none.
func nowOf(a Action) (now int, ok bool) {
	switch a := a.(type) {
	case Enqueue:
		return a.Now, true
	case EnqueueTx:
		return a.Now, true
	case Promote:
		return a.Now, true
	case RescueStale:
		return a.Now, true
	case RescueDeadline:
		return a.Now, true
	case CallbackTimeout:
		return a.Now, true
	case RetryFailed:
		return a.Now, true
	case RetryFromDLQ:
		return a.Now, true
	}
	return 0, false
}

func addsReady(p Step) bool { return len(p.Post.Entries()) > len(p.Pre.Entries()) }
