package model

import (
	"cmp"
	"slices"
)

// RetryFailed takes failed rows out and makes their jobs available again, at the end of their lanes, in the order of
// their ids. The job keeps its run_lease and its attempts, and gets at least one more of them.
func (a RetryFailed) apply(s Store) (Result, error) {
	c, err := chosen(s, a, a.Queue, a.Kind, a.Jobs, a.Limit)
	if err != nil {
		return nil, err
	}
	failed := failedRows(s, c)
	r := Retried{Matched: len(failed), PrunedFailed: -1}
	for _, t := range failed {
		if keyIsLost(s, t.Job) {
			continue // a job of its kind lives, or did since: it stays failed
		}
		s.DropTerminal(t)
		waitAgain(s, EntryRow{Lane: t.Lane, Job: t.Job, Lease: t.Lease, Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, Limit: t.Limit, Since: a.Now})
		r.Jobs = append(r.Jobs, t.Job)
	}
	if a.Queue != "" {
		r.PrunedFailed = s.Rollup(c.queue).Failed
	}
	return r, nil
}

// A choice is whom an operator means: the jobs of a queue, those of a kind, or those that are named.
type choice struct {
	queue int // -1 for any
	kind  string
	jobs  []int
	limit int
}

// chosen reads a choice; exactly one of the three is given.
func chosen(s Store, a Action, queue, kind string, jobs []int, limit int) (choice, error) {
	c := choice{-1, kind, jobs, limit}
	if limit < 1 {
		return c, disabled(a, "the limit is less than 1")
	}
	if one(queue != "")+one(kind != "")+one(len(jobs) > 0) != 1 {
		return c, disabled(a, "it takes a queue, a kind or jobs, and one of them")
	}
	if queue != "" {
		lane, ok := s.Config().Lane(queue, 1)
		if !ok {
			return c, disabled(a, "no such queue")
		}
		c.queue = s.Config().QueueOf(lane)
	}
	return c, nil
}

func (c choice) matches(s Store, lane, job int) bool {
	return (c.queue < 0 || s.Config().QueueOf(lane) == c.queue) && (c.kind == "" || c.kind == TheKind) &&
		(len(c.jobs) == 0 || slices.Contains(c.jobs, job))
}

// failedRows are the failed rows that are meant, lowest job first.
func failedRows(s Store, c choice) []TerminalRow {
	rows := slices.SortedFunc(where(s.Terminals(), func(t TerminalRow) bool { return t.State == Failed && c.matches(s, t.Lane, t.Job) }),
		func(x, y TerminalRow) int { return cmp.Compare(x.Job, y.Job) })
	return rows[:min(len(rows), c.limit)]
}

// TheKind is the kind of every job here: no rule asks for it but one that chooses jobs by it.
const TheKind = "k"

// waitAgain gives a job that had ended another attempt: where all were used up, max_attempts grows to make room for
// one, so that a ready row always has an attempt left (P3).
func waitAgain(s Store, e EntryRow) {
	e.MaxAttempts = max(e.MaxAttempts, e.Attempt+1)
	appendReady(s, e)
}
