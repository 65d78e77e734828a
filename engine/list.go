package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
)

// maxPage bounds the jobs that one call lists.
const maxPage = 1_000

// A JobFilter chooses jobs: those that have all that is given. The zero value chooses every job.
type JobFilter struct {
	States []JobState
	Queue  string
	Kind   string
	IDs    []int64 // at most 10,000

	_ struct{}
}

// A JobPage is a part of a list of jobs, in the order of their ids.
type JobPage struct {
	// Limit is how many jobs at most, 1 to 1,000.
	Limit int
	// After is the last job of the page before, 0 for the first page. A job that comes meanwhile is on no page twice, and moves
	// none of the others.
	After int64
	// OldestFirst lists the lowest id first; the newest come first otherwise.
	OldestFirst bool

	_ struct{}
}

// ListJobs lists jobs in any state, each once and as Job would tell of it. A page with fewer jobs than Limit is the last one. It
// is an operator's question, like Job: it looks into every slot. It goes through the jobs in portions, each as it is at one
// moment, and so costs the less the sooner it finds enough; a page of what is rare goes through all.
//
// Errors: ErrInvalid; otherwise see SafeToRetry.
func (e *Engine) ListJobs(ctx context.Context, which JobFilter, page JobPage) ([]Job, error) {
	const op = "ListJobs"
	if err := which.check(op, page); err != nil {
		return nil, err
	}
	from, to := int64(0), int64(math.MaxInt64)
	switch {
	case page.OldestFirst:
		from = page.After
	case page.After != 0:
		to = page.After
	}
	if len(which.IDs) == 0 {
		which.IDs = nil // any, as with every field that isn't given
	}
	var states []string
	for _, s := range which.States {
		states = append(states, string(s))
	}
	l := listing{e: e, which: which, page: page, states: states, from: from, to: to}
	all, err := l.run(ctx)
	return all, fail(op, "", err)
}

// The first look of a page goes through so many jobs, and each further one through so many times more.
const (
	listFirst  = 2_000
	listGrowth = 8
)

// listing is a page under way. It looks at the jobs in portions, each at one moment and in a transaction of its own: a page that
// finds what it is for among the first jobs doesn't pay for all, and none keeps a prune waiting for longer than one portion.
type listing struct {
	e        *Engine
	which    JobFilter
	page     JobPage
	states   []string
	from, to int64 // the ids between which jobs are left to be looked at
	found    []Job
}

func (l *listing) run(ctx context.Context) ([]Job, error) {
	for size := int64(listFirst); ; size *= listGrowth {
		if l.which.IDs != nil {
			size = math.MaxInt32 // they are few, and chosen by their ids
		}
		more, err := l.portion(ctx, size)
		if err != nil || !more || len(l.found) == l.page.Limit {
			return l.found, err
		}
	}
}

// portion looks at the next jobs, up to size of them. more says that there are others behind them.
func (l *listing) portion(ctx context.Context, size int64) (more bool, err error) {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, l.e.pool, opts, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, l.e.sql.get("audit_settings", children{})); err != nil {
			return err
		}
		from, to := l.from, l.to
		if l.which.IDs == nil {
			var last *int64
			var n int64
			if err := tx.QueryRow(ctx, l.e.sql.get("list_window", children{}), from, to, l.page.OldestFirst, size).Scan(&last, &n); err != nil || last == nil {
				return err
			}
			more = n == size
			if l.page.OldestFirst {
				l.from, to = *last, *last+1
			} else {
				from, l.to = *last-1, *last
			}
		}
		found, err := l.look(ctx, tx, from, to)
		l.found = append(l.found, found...)
		return err
	})
	return more, err
}

// look reads the jobs between two ids that are asked for, as many as the page still has room for.
func (l *listing) look(ctx context.Context, tx pgx.Tx, from, to int64) ([]Job, error) {
	given := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	rows, err := tx.Query(ctx, l.e.sql.get("list_jobs", children{}),
		l.which.IDs, from, to, given(l.which.Queue), given(l.which.Kind), l.states, l.page.OldestFirst, l.page.Limit-len(l.found))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (j Job, err error) {
		var errs []byte
		if err := row.Scan(append(j.columns(&errs), &j.ID)...); err != nil {
			return j, err
		}
		return j, json.Unmarshal(errs, &j.Errors)
	})
}

// jobStates are all that a job may be in.
var jobStates = []JobState{JobAvailable, JobScheduled, JobRetryable, JobRunning, JobWaiting, JobCompleted, JobFailed, JobCancelled, JobDLQ}

func (f *JobFilter) check(op string, page JobPage) error {
	if err := checkCount(op, "limit", page.Limit, maxPage); err != nil {
		return err
	}
	if page.After < 0 {
		return invalid(op, fmt.Sprintf("after %d", page.After), "negative")
	}
	if len(f.IDs) > maxSweep {
		return invalid(op, fmt.Sprintf("%d ids", len(f.IDs)), "at most %d", maxSweep)
	}
	for _, s := range f.States {
		if !slices.Contains(jobStates, s) {
			return invalid(op, fmt.Sprintf("state %q", s), "no such state")
		}
	}
	if f.Queue != "" {
		if err := checkName(op, "queue", f.Queue); err != nil {
			return err
		}
	}
	if f.Kind != "" {
		return checkName(op, "kind", f.Kind)
	}
	return nil
}
