package linearizability

import (
	"strings"
)

// A tally is what the history says became of one queue's jobs. The numbers after "perhaps" are of ends of which the
// history knows only that they may have happened.
type tally struct {
	committed         int
	completed, failed int
	perhaps           int
}

// attempts holds the owners of attempts against each other and against the database's own records.
func (j *judging) attempts() {
	for _, one := range j.h.claims {
		id := attemptID{one.Job, one.Lease}
		if strings.Contains(one.Outcome, "+") {
			j.v.wrong(KindClosedTwice, "attempt %s was closed as %s", id, one.Outcome)
		}
		if len(j.handouts[id]) > 0 {
			continue
		}
		j.v.Did.Lost++
		if !j.mayHaveMade(id) {
			j.v.wrong(KindUnowned, "attempt %s is stored, and no claim was given it or lost its answer", id)
		}
	}
	for id, by := range j.handouts {
		if len(by) > 1 {
			j.v.wrong(KindHandedOutTwice, "attempt %s was given to %s, and to %s", id, by[0], by[1])
		}
	}
	j.ends()
}

// mayHaveMade says whether some claim without an answer can have handed the attempt out.
func (j *judging) mayHaveMade(id attemptID) bool {
	l := j.life(id.job)
	for _, c := range j.lostClaims {
		if c.Queue == l.job.Queue && c.Return >= l.from {
			return true
		}
	}
	return false
}

// ends counts the ends of jobs: those that a call was told it made, those that a call without an answer made by the
// database's word, and those by rescue.
func (j *judging) ends() {
	told := map[attemptID]bool{}
	for _, c := range j.h.calls {
		if (c.Op != opComplete && c.Op != opFail) || c.Outcome != outcomeOK {
			continue
		}
		for _, a := range c.Attempts {
			if a.Stale {
				continue
			}
			told[a.id()] = true
			j.end(a, c.Op == opComplete)
		}
	}
	for _, c := range j.h.calls {
		if (c.Op != opComplete && c.Op != opFail) || (c.Outcome != outcomeUnknown && c.Outcome != outcomeCommitted) {
			continue
		}
		for _, a := range c.Attempts {
			if told[a.id()] {
				continue
			}
			told[a.id()] = true
			switch out := j.stored[a.id()]; out {
			case "completed", "failed":
				j.end(a, out == "completed")
			case "": // open when it was dumped, or never dumped
				j.tallies[j.life(a.Job).job.Queue].perhaps++
			}
		}
	}
}

func (j *judging) end(a attempt, completed bool) {
	t, ok := j.tallies[j.life(a.Job).job.Queue]
	switch {
	case !ok: // of a job that nobody enqueued, which its life says
	case completed:
		t.completed++
		j.v.Did.Completed++
	default:
		t.failed++
		j.v.Did.Failed++
	}
}

// counts holds the database's final counts against what happened (P9). Rescues that failed jobs are known by their sum
// over both queues only, so that the failed ones are compared as a sum, too.
func (j *judging) counts() {
	if !j.h.end.Drained {
		j.v.wrong(KindUndrained, "the queues weren't empty in time: %+v", j.h.end.Counts)
		return
	}
	failedByRescue, rescuesKnown := 0, true
	for _, c := range j.maintenance {
		if c.Op == opRescue {
			failedByRescue += c.Failed
			rescuesKnown = rescuesKnown && c.Outcome == outcomeOK
		}
	}
	failed, told, perhaps := int64(0), int64(failedByRescue), int64(0)
	for _, q := range queues {
		c, t := j.h.end.Counts[q], j.tallies[q]
		if left := c.Available + c.Scheduled + c.Running; left != 0 {
			j.v.wrong(KindCounts, "queue %s: drained, and yet %+v", q, c)
		}
		completed := c.Completed + c.PrunedCompleted
		if low := int64(t.completed); completed < low || completed > low+int64(t.perhaps) {
			j.v.wrong(KindCounts, "queue %s: %d completed by the counts, %d by the answers and %d unknown", q, completed, t.completed, t.perhaps)
		}
		if all := completed + c.Failed + c.PrunedFailed; all != int64(t.committed) {
			j.v.wrong(KindCounts, "queue %s: %d jobs over by the counts, %d were committed", q, all, t.committed)
		}
		failed += c.Failed + c.PrunedFailed
		told += int64(t.failed)
		perhaps += int64(t.perhaps)
	}
	if rescuesKnown && (failed < told || failed > told+perhaps) {
		j.v.wrong(KindCounts, "%d failed by the counts, %d by the answers and %d unknown", failed, told, perhaps)
	}
}
