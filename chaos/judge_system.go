package chaos

import (
	"fmt"
	"maps"
	"slices"

	"github.com/awa-engine/awa/engine"
)

// counts compares the engine's counts with the tally, exactly, before and after the last of the history was pruned (P9).
func (j *judging) counts() {
	for _, at := range []struct {
		when   string
		counts map[string]engine.Counts
	}{{"when the workers had ended", j.ev.state.Drained}, {"in the end", j.ev.state.Final}} {
		for _, q := range queues {
			t := j.tally[q]
			if t == nil {
				t = &tally{}
			}
			c, ok := at.counts[q]
			if !ok {
				j.v.wrong(KindJournal, "no counts of queue %s %s", q, at.when)
				continue
			}
			completed, failed := int(c.Completed+c.PrunedCompleted), int(c.Failed+c.PrunedFailed)
			if c.Available+c.Scheduled+c.Running != 0 {
				j.v.wrong(KindRecovery, "queue %s didn't drain: %d available, %d scheduled, %d running %s", q, c.Available, c.Scheduled, c.Running, at.when)
			}
			if completed+failed != t.jobs || outside(completed, t.completed, t.doubt) || outside(failed, t.failed, t.doubt) {
				j.v.wrong(KindCounts, "queue %s %s: %d completed + %d failed, but %d jobs committed, of which %d completed and %d failed (%d are in doubt between the two)",
					q, at.when, completed, failed, t.jobs, t.completed, t.failed, t.doubt)
			}
		}
	}
	for _, t := range j.tally {
		j.v.Did.Completed += t.completed
		j.v.Did.Failed += t.failed
	}
}

func outside(n, least, more int) bool { return n < least || n > least+more }

// jobStates compares what Job said with what happened.
func (j *judging) jobStates() {
	for _, s := range j.ev.state.Jobs {
		f := j.byID[s.Job]
		if f == nil || s.State == "not_found" {
			continue
		}
		state := engine.JobState(s.State)
		if state != engine.JobCompleted && state != engine.JobFailed {
			j.v.wrong(KindLost, "job %d (%s) is %s, after everything drained", f.id, f.mark, s.State)
			continue
		}
		if len(f.ended) == 0 {
			continue
		}
		e := f.ended[0]
		if (e.Op == opComplete) != (state == engine.JobCompleted) || e.lease != s.Lease {
			j.v.wrong(KindJobState, "job %d (%s) was ended by %s at attempt %d, but Job says %s at attempt %d", f.id, f.mark, e.call, e.lease, s.State, s.Lease)
		}
	}
}

// faults looks at each fault: was there load, and did work go on soon after?
func (j *judging) faults() {
	var enqueued, claimed []sample
	for _, c := range j.calls {
		if c.ret.Outcome != outcomeOK {
			continue
		}
		switch c.Op {
		case opEnqueueTx, opEnqueueMany:
			enqueued = append(enqueued, sample{c.At, c.end, len(c.ret.IDs)})
		case opClaim:
			if n := len(c.ret.Attempts); n > 0 {
				claimed = append(claimed, sample{c.At, c.end, n})
			}
		}
	}
	bound := j.ev.run.Plan.RecoverWithin
	for i, f := range j.ev.faults() {
		j.v.Injected++
		rate := jobsIn(enqueued, f.At)
		if i == 0 || rate < j.v.JobsPerSecond {
			j.v.JobsPerSecond = rate
		}
		at, ok := recovered(claimed, f.Over)
		if !ok || at-f.At > int64(bound) {
			j.v.wrong(KindRecovery, "no claim handed anything out within %s of fault %d (%s %s)", bound, i+1, f.Fault, f.Who)
			continue
		}
		j.v.RecoverySeconds = max(j.v.RecoverySeconds, seconds(at-f.At))
	}
	if j.ev.happened(eventUndrained) {
		j.v.wrong(KindRecovery, "the backlog was still there %s after the last job was enqueued", j.ev.run.Plan.DrainWithin)
	}
}

// rings wants both rings to have gone round, to turn after the last fault, and to be empty in the end.
func (j *judging) rings() {
	var last int64
	for _, f := range j.ev.faults() {
		last = max(last, f.Over)
	}
	for _, r := range []struct {
		name          string
		rotate, prune op
		slots         int
	}{{"queue", opRotateQueue, opPruneQueue, j.ev.run.Plan.QueueSlots}, {"claim", opRotateClaim, opPruneClaim, j.ev.run.Plan.ClaimSlots}} {
		turns, after, pruned := j.ev.state.Rotated[r.name], j.ev.state.Rotated[r.name], 0
		for _, c := range j.calls {
			if c.Op == r.rotate && c.ret.Status == string(engine.Rotated) {
				turns++
				if c.At > last {
					after++
				}
			}
			if c.Op == r.prune && c.ret.Status == string(engine.Pruned) {
				pruned++
			}
		}
		if after == 0 && j.v.Injected > 0 {
			j.v.wrong(KindRings, "the %s ring didn't turn after the last fault", r.name)
		}
		if turns < r.slots || pruned == 0 {
			j.v.short = append(j.v.short, fmt.Sprintf("the %s ring turned %d times, which is not once round its %d slots, and was pruned %d times", r.name, turns, r.slots, pruned))
		}
	}
	for _, what := range j.ev.state.Audit {
		j.v.wrong(KindAudit, "%s", what)
	}
	if t := j.ev.state.Trouble; t != "" {
		j.v.wrong(KindError, "the final turning of the rings: %s", t)
	}
	for _, table := range slices.Sorted(maps.Keys(j.ev.state.Rows)) {
		if n := j.ev.state.Rows[table]; n != 0 {
			j.v.wrong(KindRings, "%d rows are left in %s after everything was spent and pruned", n, table)
		}
	}
}

// enough says what there was too little of: a run that did little shows little.
func (j *judging) enough() {
	little := func(format string, args ...any) { j.v.short = append(j.v.short, fmt.Sprintf(format, args...)) }
	p := j.ev.run.Plan
	if wanted := p.Rounds * len(p.Faults); j.v.Injected < wanted || j.v.Injected == 0 {
		little("%d faults were injected, %d were wanted", j.v.Injected, wanted)
	}
	if j.v.JobsPerSecond < p.MinRate {
		little("%d jobs/s were enqueued before a fault, %d were wanted", j.v.JobsPerSecond, p.MinRate)
	}
	for _, one := range []struct {
		what string
		n    int
	}{
		{"jobs committed", j.v.Jobs},
		{"attempts handed out", j.v.Did.Handed},
		{"completions", j.v.Did.Completed},
		{"failures", j.v.Did.Failed},
		{"rescues", j.v.Did.Rescued},
		{"stale answers", j.v.Did.Stale},
		{"tables looked at in the end", len(j.ev.state.Rows)},
		{"jobs looked up in the end", len(j.ev.state.Jobs)},
	} {
		if one.n == 0 {
			little("no %s", one.what)
		}
	}
}
