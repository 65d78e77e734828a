package model

import (
	"fmt"
	"slices"
)

// The properties of the DLQ, and of ends that an operator takes away.

// newlyFailed are the claims that the step closed and whose jobs it ended as failed, wherever their ends stand.
func newlyFailed(p Step) []ClaimRow {
	return slices.Collect(where(p.Pre.Claims(), func(c ClaimRow) bool {
		after, ok := p.Post.Claim(c.ID())
		if c.Outcome != Open || !ok || after.Outcome == Open {
			return false
		}
		t, ended := p.Post.Terminal(c.Job)
		_, held := p.Post.DLQ(c.Job)
		return held || ended && t.State == Failed
	}))
}

// failedSome: a job failed, and its queue has the DLQ on. Where no queue has, retention and counts say where it goes.
func failedSome(p Step) bool {
	return slices.ContainsFunc(newlyFailed(p), func(c ClaimRow) bool { return p.Pre.Policy(p.Pre.Config().QueueOf(c.Lane)).DLQ != 0 })
}

// P2: where the end of a job that has failed is found, its queue's policy says, whoever has closed its attempt: a queue with
// the DLQ on gets no failed row, from a rescue neither. A closure by the worker's report says it, too.
func failuresFollowThePolicy(p Step) error {
	for _, c := range newlyFailed(p) {
		held := p.Pre.Policy(p.Pre.Config().QueueOf(c.Lane)).DLQ != 0
		_, inDLQ := p.Post.DLQ(c.Job)
		after, _ := p.Post.Claim(c.ID())
		want := Failed
		if held {
			want = DeadLettered
		}
		if inDLQ != held || !givesBack(after.Outcome) && after.Outcome != want {
			return fmt.Errorf("attempt %s failed its job and was closed as %s; it is held: %t, the policy says %t", c.ID(), after.Outcome, inDLQ, held)
		}
	}
	return nil
}

// movedSome: a job came into the DLQ from its failed row, or left it for another attempt.
func movedSome(p Step) bool {
	switch r := p.Result.(type) {
	case Moved:
		return len(r.Jobs) > 0
	case Retried:
		_, fromDLQ := p.Action.(RetryFromDLQ)
		return fromDLQ && len(r.Jobs) > 0
	}
	return false
}

// P3: a job that is held is the job that failed: its run_lease and its attempts go along, in and out, and it comes out with
// an attempt to make.
func heldJobKeepsWhatItWas(p Step) error {
	switch r := p.Result.(type) {
	case Moved:
		for _, job := range r.Jobs {
			t, _ := p.Pre.Terminal(job)
			d, held := p.Post.DLQ(job)
			_, still := p.Post.Terminal(job)
			if !held || still || d.Lease != t.Lease || d.Attempt != t.Attempt || d.FinalizedAt != t.FinalizedAt || t.State != Failed {
				return fmt.Errorf("job %d was moved: held=%t, its failed row is there=%t, %+v of %+v", job, held, still, d, t)
			}
		}
	case Retried:
		if _, fromDLQ := p.Action.(RetryFromDLQ); !fromDLQ {
			return nil
		}
		for _, job := range r.Jobs {
			d, _ := p.Pre.DLQ(job)
			e, _ := p.Post.NewestEntry(job)
			_, still := p.Post.DLQ(job)
			if still || !e.Waiting() || e.Lease != d.Lease || e.Attempt != d.Attempt || e.Attempt >= e.MaxAttempts {
				return fmt.Errorf("job %d was retried from the DLQ: held=%t, %+v of %+v", job, still, e, d)
			}
		}
	}
	return nil
}

// purgeByAge: a purge that looks at times, with something to look at.
func purgeByAge(p Step) bool {
	purge, ok := p.Action.(PurgeDLQ)
	return ok && len(purge.Jobs) == 0 && len(p.Pre.DLQRows()) > 0
}

// P8: a purge by age takes what is older than its cutoff and nothing younger, and leaves such a one only for its limit.
func purgeKeepsTheYoung(p Step) error {
	purge, ok := p.Action.(PurgeDLQ)
	if !ok || len(purge.Jobs) > 0 {
		return nil
	}
	gone := p.Result.(Purged).Jobs
	for _, d := range p.Pre.DLQRows() {
		old, taken := d.At < purge.Now-purge.Older, slices.Contains(gone, d.Job)
		if taken && !old || old && !taken && len(gone) < purge.Limit {
			return fmt.Errorf("job %d is held since %d; %s took it: %t", d.Job, d.At, purge, taken)
		}
	}
	return nil
}

// toldRemoved are the jobs whose ends an answer says are removed.
func toldRemoved(r Result) []int {
	var jobs []int
	switch r := r.(type) {
	case Purged:
		jobs = r.Jobs
	case Deletion:
		for _, j := range r.Jobs {
			if j.Answer == CancelOK {
				jobs = append(jobs, j.Job)
			}
		}
	}
	return jobs
}

func removesSome(p Step) bool {
	switch p.Action.(type) {
	case PurgeDLQ, DeleteTerminal:
		return p.Pre.Vars().NextJob > 1
	}
	return false
}

// P2: what an operator takes away had ended, and is gone; a job that is alive is left alone, and so is what the answer
// doesn't name. DeleteTerminal takes no job that is held: PurgeDLQ does, and nothing else.
func onlyEndsAreRemoved(p Step) error {
	if !removesSome(p) {
		return nil
	}
	_, purge := p.Action.(PurgeDLQ)
	told := toldRemoved(p.Result)
	before, after := places(p.Pre), places(p.Post)
	for job := 1; job < p.Pre.Vars().NextJob; job++ {
		was, is := placeOf(before, job), placeOf(after, job)
		named := slices.Contains(told, job)
		over := was == JobDLQ && purge || !purge && (was == JobCompleted || was == JobFailed || was == JobCancelled)
		if named && (!over || is != removed) || !named && is != was {
			return fmt.Errorf("job %d was %s and is %s after %s, which answers %s", job, was, is, p.Action, p.Result)
		}
	}
	if d, ok := p.Action.(DeleteTerminal); ok {
		for _, job := range d.Jobs {
			if was := placeOf(before, job); (was == JobCompleted || was == JobFailed || was == JobCancelled) && !slices.Contains(told, job) {
				return fmt.Errorf("job %d was %s, and %s left it", job, was, d)
			}
		}
	}
	return nil
}
