package model

import (
	"cmp"
	"slices"
	"strings"
)

// JobAttempts tells of a job's attempts, oldest first, as far as both rings remember: an attempt is found by the ready row that
// was handed out, and known by its claim.
func (a JobAttempts) apply(s Store) (Result, error) {
	var r AttemptHistory
	for _, c := range s.Claims() {
		if c.Job == a.Job && slices.ContainsFunc(s.Entries(), func(e EntryRow) bool { return e.Lane == c.Lane && e.Seq == c.Seq && e.Gen == c.ReadyGen }) {
			r.Attempts = append(r.Attempts, PastAttempt{c.Lease, c.Attempt, c.Outcome.String()})
		}
	}
	slices.SortFunc(r.Attempts, func(x, y PastAttempt) int { return cmp.Compare(x.Lease, y.Lease) })
	return r, nil
}

// AttemptHistory answers [JobAttempts].
type AttemptHistory struct{ Attempts []PastAttempt }

// A PastAttempt is one of a job, with the word for how it ended: open, while it hasn't.
type PastAttempt struct {
	Lease, Attempt int
	Outcome        string
}

func (AttemptHistory) isResult() {}

// String is the list, as "1/1:rescued,2/2:open".
func (r AttemptHistory) String() string {
	var parts []string
	for _, a := range r.Attempts {
		parts = append(parts, AttemptID{a.Lease, a.Attempt}.String()+":"+a.Outcome)
	}
	return "attempts=" + strings.Join(parts, ",")
}
