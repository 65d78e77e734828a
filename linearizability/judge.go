package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Judge judges a history, new or old: its file, or the folder that a run left. A finding is no error: the verdict says
// it. A picture of the first job that fits no life is written beside the history. Errors: ErrTooLittle, with a verdict,
// when nothing is wrong and yet nothing is shown; a file that can't be read, a picture that can't be written.
func Judge(path string) (Verdict, error) { return judgeFile(path, "") }

// judgeFile judges, and writes a picture for whoever asked for one whatever the verdict.
func judgeFile(path, picture string) (Verdict, error) {
	h, err := readHistory(path)
	if err != nil {
		return Verdict{}, fmt.Errorf("linearizability: %w", err)
	}
	start := time.Now()
	j := judge(h)
	j.v.Judging = rounded(time.Since(start))
	dir := filepath.Dir(fileOf(path))
	j.v.Dir = dir
	if j.worst != nil {
		j.v.Picture = pictureFile(dir, j.worst.id)
		err = errors.Join(err, j.picture(j.worst, j.v.Picture))
	}
	if of := cmp.Or(j.worst, j.busiest); picture != "" && of != nil {
		err = errors.Join(err, j.picture(of, picture))
	}
	if len(j.v.Violations) == 0 && len(j.v.short) > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %s", ErrTooLittle, strings.Join(j.v.short, "; ")))
	}
	if err != nil {
		err = fmt.Errorf("linearizability: seed %d, history in %s: %w", j.v.Seed, dir, err)
	}
	return j.v, err
}

func rounded(d time.Duration) float64 { return math.Round(d.Seconds()*100) / 100 }

// judging is a judgement under way.
type judging struct {
	h history
	v Verdict

	lives       map[int64]*life
	handouts    map[attemptID][]*call // that gave the attempt to their caller
	lostClaims  []*call               // of which it isn't known what they handed out
	maintenance []*call               // sorted by call
	longest     int64                 // no call of maintenance lasted longer; the end of one without an answer is open
	stored      map[attemptID]string  // what the database knew of an attempt: its closures' outcomes
	tallies     map[string]*tally     // by queue

	worst, busiest *life
}

// life is the job's part of the history, made when it is first asked for.
func (j *judging) life(id int64) *life {
	l := j.lives[id]
	if l == nil {
		l = &life{id: id, handed: map[int64]*call{}, ended: map[int64]bool{}}
		j.lives[id] = l
	}
	return l
}

// judge is the pure part.
func judge(h history) *judging {
	j := &judging{
		h: h, lives: map[int64]*life{}, handouts: map[attemptID][]*call{}, stored: map[attemptID]string{}, tallies: map[string]*tally{},
	}
	j.v = Verdict{Workload: h.run.Plan.String(), Seed: h.run.Plan.Seed}
	for _, q := range queues {
		j.tallies[q] = &tally{}
	}
	j.answers()
	if h.end == nil {
		j.v.wrong(KindHistory, "the run ended before the final state was taken down")
		return j
	}
	j.v.Seconds = rounded(time.Duration(h.end.At))
	for _, one := range h.claims {
		j.stored[attemptID{one.Job, one.Lease}] = one.Outcome
	}
	j.commits()
	j.sortLives()
	j.judgeLives()
	j.attempts()
	j.lanes()
	j.counts()
	for _, what := range h.end.Audit {
		j.v.wrong(KindAudit, "%s", what)
	}
	j.enough()
	j.v.OK = len(j.v.Violations) == 0 && len(j.v.short) == 0
	return j
}

// answers counts what everybody was told, sorts out maintenance, and looks for what must never be told.
func (j *judging) answers() {
	d := &j.v.Did
	for _, c := range j.h.calls {
		switch c.Op {
		case opRotateQueue, opRotateClaims, opPruneQueue, opPruneClaims, opRescue, opPromote:
			j.maintenance = append(j.maintenance, c)
			j.longest = max(j.longest, c.Return-c.Call)
			d.Rescued += c.Requeued + c.Failed
			d.Promoted += c.Promoted
		default:
			j.v.Operations++
		}
		switch c.Status {
		case "rotated":
			d.Rotated++
		case "pruned":
			d.Pruned++
		}
		switch c.Outcome {
		case outcomeUnknown:
			j.v.Unknown++
		case outcomeCommitted, outcomeAborted:
			j.v.Unknown++
			d.Settled++
		}
		j.oneAnswer(c)
	}
	slices.SortStableFunc(j.maintenance, func(a, b *call) int { return cmp.Compare(a.Call, b.Call) })
}

func (j *judging) oneAnswer(c *call) {
	d := &j.v.Did
	switch c.Op {
	case opJob:
		d.Reads++
	case opClaim:
		d.Handed += len(c.Attempts)
		for _, a := range c.Attempts {
			j.handouts[a.id()] = append(j.handouts[a.id()], c)
		}
		if c.Outcome == outcomeUnknown || c.Outcome == outcomeCommitted {
			j.lostClaims = append(j.lostClaims, c)
		}
	case opComplete, opFail:
		for _, a := range c.Attempts {
			if a.Stale {
				d.Stale++
			}
		}
	}
	switch c.Code {
	case "40P01", "corrupt", "invalid", "23505", "53200", "57014":
		j.v.wrong(KindError, "%s: %s", c, c.Error)
	case "40001":
		if c.Op != opEnqueueTx || !c.Deferred { // a caller's SERIALIZABLE transaction may be told that
			j.v.wrong(KindError, "%s: %s", c, c.Error)
		}
	}
}

// commits decides of each enqueue whether it committed, from what the database gave away later: a job's mark stands in
// its ready row and in the answer of each claim. A batch is there as a whole or not at all (P1).
func (j *judging) commits() {
	ids := map[string]int64{} // by mark
	for _, r := range j.h.rows {
		ids[r.Mark] = r.Job
	}
	for _, c := range j.h.calls {
		if c.Op != opClaim {
			continue
		}
		for _, a := range c.Attempts {
			if before, ok := ids[a.Mark]; ok && before != a.Job {
				j.v.wrong(KindPhantom, "%s: job %d has the mark of job %d", c, a.Job, before)
			}
			ids[a.Mark] = a.Job
		}
	}
	for _, c := range j.h.calls {
		if len(c.Jobs) == 0 {
			continue
		}
		there := 0
		for i := range c.Jobs {
			// What the call itself said is the better witness; a deferred job has no ready row before it is promoted.
			if id, ok := ids[c.Jobs[i].Mark]; ok {
				there++
				if said := c.Jobs[i].ID; said != 0 && said != id {
					j.v.wrong(KindPhantom, "%s: said job %d, stored it as job %d", c, said, id)
				}
				c.Jobs[i].ID = id
			}
		}
		j.oneCommit(c, there)
	}
}

// oneCommit takes the call's jobs in, if there are any.
func (j *judging) oneCommit(c *call, there int) {
	n := len(c.Jobs)
	committed := c.Outcome == outcomeOK || c.Outcome == outcomeCommitted
	switch {
	case c.Outcome == outcomeUnknown:
		committed = there > 0
		j.v.Did.Settled++
	case c.Outcome == outcomeCommitted && there == 0, c.Outcome == outcomeAborted && there > 0:
		j.v.wrong(KindSettle, "%s: Settle says %s, and %d of its %d jobs are there", c, c.Outcome, there, n)
	case !committed && there > 0:
		j.v.wrong(KindPhantom, "%s: %d of its %d jobs are there (%s)", c, there, n, c.Error)
	}
	if there > 0 && there < n && j.h.end.Drained {
		j.v.wrong(KindHalf, "%s: %d of its %d jobs are there", c, there, n)
	}
	for _, one := range c.Jobs {
		switch {
		case one.ID == 0:
		case committed:
			j.v.Did.Jobs++
			j.tallies[one.Queue].committed++
			j.life(one.ID).bear(one, c)
		default:
			j.life(one.ID).job = one
		}
	}
}

// enough says what there was too little of.
func (j *judging) enough() {
	d := j.v.Did
	for _, c := range []struct {
		what string
		n    int
	}{
		{"hand-outs", d.Handed},
		{"completions", d.Completed},
		{"failures", d.Failed},
		{"stale answers", d.Stale},
		{"rescues", d.Rescued},
		{"promotions", d.Promoted},
		{"rotations", d.Rotated},
		{"prunes", d.Pruned},
		{"reads", d.Reads},
		{"claims judged for lane order", d.Ordered},
		{"claims judged for priority", d.Alone},
	} {
		if c.n == 0 {
			j.v.short = append(j.v.short, "no "+c.what)
		}
	}
}
