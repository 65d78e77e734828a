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

// ListJobs lists jobs in any state, each once and as Job would tell of it, all at one moment; the next page is of a later
// one. A page with fewer jobs than Limit is the last one. It is an operator's question, like Job: it looks into every slot,
// and what it costs grows with what the rings hold and not with the page.
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
	given := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	var states []string
	for _, s := range which.States {
		states = append(states, string(s))
	}
	var all []Job
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, e.pool, opts, func(tx pgx.Tx) error {
		all = nil
		var b pgx.Batch
		b.Queue(e.sql.get("no_jit", children{}))
		b.Queue(e.sql.get("list_jobs", children{}), which.IDs, from, to, given(which.Queue), given(which.Kind), states, page.OldestFirst, page.Limit).
			Query(func(rows pgx.Rows) error {
				var err error
				all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (j Job, err error) {
					var errs []byte
					if err := row.Scan(append(j.columns(&errs), &j.ID)...); err != nil {
						return j, err
					}
					return j, json.Unmarshal(errs, &j.Errors)
				})
				return err
			})
		return send(ctx, tx, &b)
	})
	return all, fail(op, "", err)
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
