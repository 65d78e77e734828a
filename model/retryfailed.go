package model

import (
	"cmp"
	"slices"
)

// RetryFailed takes failed rows out and makes their jobs available again, at the end of their lanes, in the order of
// their ids. The job keeps its run_lease and its attempts, and gets at least one more of them.
func (a RetryFailed) apply(s Store) (Result, error) {
	if a.Limit < 1 {
		return nil, disabled(a, "the limit is less than 1")
	}
	if one(a.Queue != "")+one(a.Kind != "")+one(len(a.Jobs) > 0) != 1 {
		return nil, disabled(a, "it takes a queue, a kind or jobs, and one of them")
	}
	lane, ok := s.Config().Lane(a.Queue, 1)
	if a.Queue != "" && !ok {
		return nil, disabled(a, "no such queue")
	}
	failed := slices.SortedFunc(where(s.Terminals(), func(t TerminalRow) bool {
		return t.State == Failed && (a.Queue == "" || t.Lane/Priorities == lane/Priorities) &&
			(a.Kind == "" || a.Kind == TheKind) && (len(a.Jobs) == 0 || slices.Contains(a.Jobs, t.Job))
	}), func(x, y TerminalRow) int { return cmp.Compare(x.Job, y.Job) })
	failed = failed[:min(len(failed), a.Limit)]
	r := Retried{Matched: len(failed), PrunedFailed: -1}
	for _, t := range failed {
		if keyIsLost(s, t.Job) {
			continue // a job of its kind lives, or did since: it stays failed
		}
		s.DropTerminal(t)
		waitAgain(s, EntryRow{Lane: t.Lane, Job: t.Job, Lease: t.Lease, Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, Limit: t.Limit})
		r.Jobs = append(r.Jobs, t.Job)
	}
	if a.Queue != "" {
		r.PrunedFailed = s.Rollup(lane / Priorities).Failed
	}
	return r, nil
}

// TheKind is the kind of every job here: no rule asks for it but one that chooses jobs by it.
const TheKind = "k"

// waitAgain gives a job that had ended another attempt: where all were used up, max_attempts grows to make room for
// one, so that a ready row always has an attempt left (P3).
func waitAgain(s Store, e EntryRow) {
	e.MaxAttempts = max(e.MaxAttempts, e.Attempt+1)
	appendReady(s, e)
}
