package chaos

import (
	"maps"
	"slices"
)

// needs is what only the maintainers can account for.
type needs struct {
	requeued int // attempts after which the job came back
	failed   int // jobs that only a rescue can have ended
	perhaps  int // jobs that a rescue may have ended
	nobody   int // attempts that nobody is known to have been given
}

// A tally is what the jobs of one queue must come to. Jobs in doubt are those for which a lost answer leaves open
// whether they completed or failed.
type tally struct{ jobs, completed, failed, doubt int }

// ends goes through the closes, attempt by attempt.
func (j *judging) ends() {
	for _, c := range j.calls {
		if c.Op != opComplete && c.Op != opFail {
			continue
		}
		done := closing{call: c}
		for _, a := range c.Attempts {
			f := j.byID[a.job]
			if f == nil || f.handed[a.lease] == nil {
				j.v.wrong(KindUnowned, "%s asks for attempt %s, which nobody was given", c, a)
				continue
			}
			switch {
			case c.ret.Outcome == outcomeOK && slices.Contains(c.ret.Stale, a):
				if at, ok := f.toldStale[a.lease]; !ok || c.end < at {
					f.toldStale[a.lease] = c.end
				}
			case c.ret.Outcome == outcomeOK:
				f.ended = append(f.ended, ending{c, a.lease})
			case c.open():
				f.perhaps = append(f.perhaps, ending{c, a.lease})
				done.jobs, done.leases = append(done.jobs, f), append(done.leases, a.lease)
			}
		}
		if c.ret.Outcome == outcomeCommitted {
			j.closes = append(j.closes, done)
		}
	}
}

// oneJob accounts for one job: it must have come to exactly one end, at its last attempt.
func (j *judging) oneJob(f *jobFacts) {
	t := j.tally[f.of.Queue]
	if t == nil {
		t = &tally{}
		j.tally[f.of.Queue] = t
	}
	t.jobs++
	j.v.Repeats += max(0, len(f.handed)-1)
	j.leases(f)
	// An earlier attempt that was asked for without an answer didn't end the job, since a later one was handed out.
	atLast := slices.DeleteFunc(slices.Clone(f.perhaps), func(e ending) bool { return e.lease != f.last })
	top := f.last
	switch most := int64(f.of.Max); {
	case len(f.ended) > 0:
		j.ended(f, t)
	case len(atLast) > 0:
		j.perhapsEnded(atLast, top == most, t)
	case most-top <= 1:
		// Nobody ended it, and it has had all its attempts, the last perhaps unknown to us: a rescue failed it.
		top = most
		t.failed++
		j.needs.failed++
	default:
		j.v.wrong(KindLost, "job %d (%s) was never ended; its last known attempt is %d of %d", f.id, f.mark, f.last, most)
	}
	j.needs.requeued += int(max(0, top-1))
	j.needs.nobody += int(top) - len(f.handed)
}

// leases holds the attempts of a job to their order: none is handed out by a claim that was over before the claim of an
// earlier one began.
func (j *judging) leases(f *jobFacts) {
	order := slices.Sorted(maps.Keys(f.handed))
	for i := 1; i < len(order); i++ {
		before, after := f.handed[order[i-1]], f.handed[order[i]]
		if after.end < before.At {
			j.v.wrong(KindOrder, "job %d: attempt %d was handed out by %s before attempt %d by %s", f.id, order[i], after, order[i-1], before)
		}
	}
	for _, e := range f.ended {
		if at, ok := f.toldStale[e.lease]; ok && at < e.At {
			j.v.wrong(KindTwice, "attempt %d/%d was reported over, and later closed by %s", f.id, e.lease, e.call)
		}
	}
}

// ended is a job with at least one acknowledged end.
func (j *judging) ended(f *jobFacts, t *tally) {
	first := f.ended[0]
	for _, again := range f.ended[1:] {
		j.v.wrong(KindTwice, "job %d (%s) was ended by %s (attempt %d) and by %s (attempt %d)", f.id, f.mark, first.call, first.lease, again.call, again.lease)
	}
	if first.lease < f.last {
		j.v.wrong(KindRevived, "job %d (%s) was ended at attempt %d by %s, and yet attempt %d was handed out by %s",
			f.id, f.mark, first.lease, first.call, f.last, f.handed[f.last])
	}
	t.add(first.Op)
}

func (t *tally) add(as op) {
	if as == opComplete {
		t.completed++
	} else {
		t.failed++
	}
}

// perhapsEnded is a job whose end must be one of these, whose answers were lost; or a rescue's, when it had had all its
// attempts.
func (j *judging) perhapsEnded(some []ending, spent bool, t *tally) {
	mixed := slices.ContainsFunc(some, func(e ending) bool { return e.Op != some[0].Op })
	if spent {
		j.needs.perhaps++
	}
	if mixed || spent && some[0].Op == opComplete {
		t.doubt++
		return
	}
	t.add(some[0].Op)
}

// settledCloses asks of every close that Settle vouched for whether it can have closed anything, as it must have.
func (j *judging) settledCloses() {
	for _, c := range j.closes {
		can := false
		for i, f := range c.jobs {
			can = can || len(f.ended) == 0 && f.last == c.leases[i]
		}
		if !can {
			j.v.wrong(KindSettle, "%s: Settle said that it committed, but each of its %d attempts was ended by another call or handed out again", c.call, len(c.Attempts))
		}
	}
}

// rescues compares what the jobs need with what the maintainers did.
func (j *judging) rescues() {
	n := &j.needs
	requeued, failed, room := 0, 0, 0 // room: for rescues without an answer
	lost, lostRoom := 0, 0            // claims without an answer that Settle vouched for; room for all of them
	for _, c := range j.calls {
		switch c.Op {
		case opRescue:
			requeued += c.ret.Requeued
			failed += c.ret.Failed
			if c.open() {
				room += c.Count
			}
		case opClaim:
			if c.open() {
				lostRoom += c.Count
			}
			if c.ret.Outcome == outcomeCommitted {
				lost++
			}
		}
	}
	if n.requeued < requeued || n.requeued > requeued+room {
		j.v.wrong(KindCounts, "rescues put %d attempts back (and at most %d more, unacknowledged), but the attempts of the jobs need %d", requeued, room, n.requeued)
	}
	if n.failed > failed+room || n.failed+n.perhaps < failed {
		j.v.wrong(KindCounts, "rescues failed %d jobs (and at most %d more, unacknowledged), but %d to %d need that", failed, room, n.failed, n.failed+n.perhaps)
	}
	if n.nobody > lostRoom {
		j.v.wrong(KindUnowned, "%d attempts were given to nobody known, and claims without an answer explain %d", n.nobody, lostRoom)
	}
	if n.nobody < lost {
		j.v.wrong(KindSettle, "Settle said that %d claims without an answer committed, but only %d attempts were given to nobody known", lost, n.nobody)
	}
}
