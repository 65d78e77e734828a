package model

import "fmt"

// The property of what is put off: Retry and Snooze.

// newlyClosed are the claims that the step closed with this outcome.
func newlyClosed(p Step, outcome Outcome) []ClaimRow {
	var all []ClaimRow
	for _, c := range p.Pre.Claims() {
		if after, ok := p.Post.Claim(c.ID()); ok && c.Outcome == Open && after.Outcome == outcome {
			all = append(all, c)
		}
	}
	return all
}

func putOffSome(p Step) bool {
	return len(newlyClosed(p, TriedAgain))+len(newlyClosed(p, Snoozed)) > 0
}

// P2, P3: a job that is put off waits until it is due, with the run_lease of the attempt that ended. A retry has used
// that attempt up and leaves at least one; a snooze gives it back.
func putOffKeepsWhatIsLeft(p Step) error {
	check := func(c ClaimRow, state JobState, attempt, runAt int) error {
		row, _ := p.Pre.NewestEntry(c.Job)
		want := DeferredRow{
			Job: c.Job, Lane: c.Lane, Lease: c.Lease, Attempt: attempt, MaxAttempts: c.MaxAttempts, State: state, RunAt: runAt,
			Limit: row.Limit,
		}
		if got, ok := p.Post.Deferred(c.Job); !ok || got != want || attempt >= c.MaxAttempts {
			return fmt.Errorf("attempt %s was to be put off as %+v, and there is %+v", c.ID(), want, got)
		}
		return nil
	}
	switch a := p.Action.(type) {
	case Retry:
		for _, c := range newlyClosed(p, TriedAgain) {
			delay := a.Delay
			if delay == 0 {
				delay = Backoff(c.Attempt)
			}
			if err := check(c, JobRetryable, c.Attempt, a.Now+delay); err != nil {
				return err
			}
		}
		for _, c := range newlyClosed(p, Failed) {
			if c.Attempt < c.MaxAttempts {
				return fmt.Errorf("attempt %s, number %d of %d, was to be retried and failed its job", c.ID(), c.Attempt, c.MaxAttempts)
			}
		}
	case Snooze:
		for _, c := range newlyClosed(p, Snoozed) {
			if err := check(c, JobScheduled, c.Attempt-1, a.Now+a.Delay); err != nil {
				return err
			}
		}
	}
	return nil
}
