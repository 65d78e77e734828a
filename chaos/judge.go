package chaos

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Judge judges the folder of a run, new or old. A finding is no error: the verdict says it. Errors: ErrTooLittle, with a
// verdict, when nothing is wrong and yet nothing is shown; a folder that can't be read.
func Judge(dir string) (Verdict, error) {
	ev, err := readEvidence(dir)
	if err != nil {
		return Verdict{}, fmt.Errorf("chaos: %w", err)
	}
	v := judge(ev)
	v.Dir = dir
	if len(v.Violations) == 0 && len(v.short) > 0 {
		return v, fmt.Errorf("chaos: seed %d, evidence in %s: %w: %s", v.Seed, dir, ErrTooLittle, strings.Join(v.short, "; "))
	}
	return v, nil
}

// judge is the pure part. It goes from what was committed, through what was handed out and ended, to what the database
// said in the end, and accounts for every job by itself.
func judge(ev evidence) Verdict {
	v := Verdict{Fault: ev.run.Plan.faultNames(), Seed: ev.run.Plan.Seed, plan: ev.run.Plan}
	if len(ev.story) > 0 {
		first, last := ev.story[0].At, ev.story[len(ev.story)-1].At
		v.Seconds = seconds(last - first)
		for _, e := range ev.story {
			v.story = append(v.story, e.text(first))
		}
	}
	j := &judging{
		ev: ev, v: &v, batches: map[string]*batch{}, byID: map[int64]*jobFacts{}, byMark: map[string]*jobFacts{},
		tally: map[string]*tally{},
	}
	j.calls = ev.calls(v.wrong)
	v.Did.Calls = len(j.calls)
	j.answers()
	if ev.state == nil {
		v.wrong(KindJournal, "the run ended before the final state was taken down")
		return v
	}
	j.commits()
	j.handOuts()
	j.wholeBatches()
	j.ends()
	for _, f := range j.jobs {
		j.oneJob(f)
	}
	j.settledCloses()
	j.rescues()
	j.counts()
	j.jobStates()
	j.faults()
	j.rings()
	v.Jobs = len(j.jobs)
	j.enough()
	v.OK = len(v.Violations) == 0 && len(v.short) == 0
	return v
}

// judging is a judgement under way.
type judging struct {
	ev      evidence
	v       *Verdict
	calls   []*call
	batches map[string]*batch
	jobs    []*jobFacts // committed
	byID    map[int64]*jobFacts
	byMark  map[string]*jobFacts
	closes  []closing
	tally   map[string]*tally // by queue
	needs   needs
}

// A batch is the jobs of one enqueue call.
type batch struct {
	*call
	there int // of its jobs, as far as it is known
}

// jobFacts is what is known of one committed job.
type jobFacts struct {
	id        int64
	mark      string
	of        *batch
	handed    map[int64]*call // claims, by run lease
	last      int64           // the highest of those run leases
	ended     []ending        // reported as closed by the call
	perhaps   []ending        // asked for by a call that may or may not have happened
	toldStale map[int64]int64 // by run lease: when it was first reported over
}

// An ending is a close of one attempt.
type ending struct {
	*call
	lease int64
}

// closing is a close whose commit Settle vouched for, with the jobs that it asked for.
type closing struct {
	*call
	jobs   []*jobFacts
	leases []int64
}

// seconds are nanoseconds for people.
func seconds(ns int64) float64 { return math.Round(time.Duration(ns).Seconds()*100) / 100 }

// answers counts what the workers were told, and looks for what must never be told.
func (j *judging) answers() {
	for _, c := range j.calls {
		d := &j.v.Did
		switch c.ret.Outcome {
		case outcomeUnknown:
			d.Ambiguous++
		case outcomeCommitted, outcomeAborted:
			d.Ambiguous++
			d.Settled++
		}
		switch c.ret.Status {
		case "rotated":
			d.Rotated++
		case "pruned":
			d.Pruned++
		}
		d.Stale += len(c.ret.Stale)
		d.Rescued += c.ret.Requeued + c.ret.Failed
		switch c.ret.Code {
		case "40P01", "40001", "corrupt", "invalid", "23505", "53200":
			j.v.wrong(KindError, "%s: %s", c, c.ret.Error)
		}
	}
	for _, e := range j.ev.story {
		if e.What == eventDied {
			j.v.wrong(KindDied, "%s: %s", e.Who, e.Note)
		}
	}
}
