package model

// Retry and Snooze close attempts and let their jobs wait outside of the ring until they are due. The job keeps its
// run_lease, so that its next attempt has a name that nobody had before (P3).

// Retry never goes beyond the attempts that the job was given, whoever asks (hazard 29).
func (a Retry) apply(s Store) (Result, error) {
	return closeAll(s, a.Attempts, func(c ClaimRow) JobState {
		if c.Attempt >= c.MaxAttempts {
			return closeFailed(s, c, a.Now)
		}
		delay := a.Delay
		if delay == 0 {
			delay = Backoff(c.Attempt)
		}
		closeClaim(s, c, TriedAgain)
		putOff(s, c, JobRetryable, c.Attempt, a.Now+delay)
		return ""
	}), nil
}

// Snooze gives the attempt back: a job may be put off any number of times and has as many tries left as before.
func (a Snooze) apply(s Store) (Result, error) {
	return closeAll(s, a.Attempts, func(c ClaimRow) JobState {
		closeClaim(s, c, Snoozed)
		putOff(s, c, JobScheduled, c.Attempt-1, a.Now+a.Delay)
		return ""
	}), nil
}

// putOff lets the job of a claim that was just closed wait.
func putOff(s Store, c ClaimRow, state JobState, attempt, runAt int) {
	old, _ := s.NewestEntry(c.Job) // the one that the claim was made from, which has the body
	s.PutDeferred(DeferredRow{
		Job: c.Job, Lane: c.Lane, Lease: c.Lease, Attempt: attempt, MaxAttempts: c.MaxAttempts, State: state, RunAt: runAt,
		Limit: old.Limit,
	})
}

// maxBackoff is an hour, and more than doubling gets to in twelve attempts.
const maxBackoff = 3600

// Backoff is how many seconds a job waits after its attempt-th try: a second, then twice as long each time, an hour at
// most. The exponent is bounded before the power is taken: no number of attempts overflows (hazard 29).
func Backoff(attempt int) int {
	return min(1<<min(max(attempt-1, 0), 12), maxBackoff)
}
