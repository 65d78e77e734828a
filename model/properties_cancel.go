package model

import (
	"cmp"
	"fmt"
	"slices"
)

// The property of what an operator ends.

func cancels(p Step) bool {
	r, ok := p.Result.(Cancellation)
	return ok && len(r.Jobs) > 0
}

// P3: a job that was alive is cancelled, and nothing of it waits or runs any more; one that was over is told so, and keeps
// the end that it had. What a call says of a job that it names twice is said of the first time.
func cancelEndsWhatIsAlive(p Step) error {
	r, ok := p.Result.(Cancellation)
	if !ok {
		return nil
	}
	before, after := places(p.Pre), places(p.Post)
	seen := map[int]bool{}
	for _, c := range r.Jobs {
		was, is := placeOf(before, c.Job), placeOf(after, c.Job)
		alive := was.alive()
		want := CancelWrongState
		switch {
		case was == JobNotFound || was == removed:
			want = CancelNotFound
		case alive && !seen[c.Job]:
			want = CancelOK
		}
		if c.Answer != want || alive && is != JobCancelled || !alive && is != was {
			return fmt.Errorf("job %d was %s, the answer is %s, and it is %s", c.Job, was, c.Answer, is)
		}
		seen[c.Job] = true
	}
	return nil
}

// placeOf is the first place of a job in places, which lists them job by job.
func placeOf(all []place, job int) JobState {
	i, found := slices.BinarySearchFunc(all, job, func(p place, job int) int { return cmp.Compare(p.job, job) })
	if !found {
		return JobNotFound
	}
	return all[i].is
}
