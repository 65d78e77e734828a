package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// FailedJobs chooses failed jobs, or such that are held in the DLQ: those of a queue, those of a kind, or those with an id. Exactly one field is set.
type FailedJobs struct {
	Queue string
	Kind  string
	IDs   []int64 // at most 10,000; those that aren't failed are passed over

	_ struct{}
}

// A RetryFailedOutcome says what RetryFailed found and did.
type RetryFailedOutcome struct {
	// Retried are the jobs that are available again, lowest id first.
	Retried []int64
	// Matched is how many failed jobs the scan found before any was retried. When it is more than Retried, somebody else
	// retried or removed the difference meanwhile, or a prune carried it to another slot: call again. Or another job
	// has taken the unique key of those jobs: they stay failed.
	Matched int
	// PrunedFailedCount is how many failed jobs of the queue were pruned past their retention, ever, and can't be
	// retried any more. It is known by queue only, and nil for other choices.
	PrunedFailedCount *int64
}

// RetryFailed makes up to limit (1 to 10,000) failed jobs available again, lowest id first: each at the end of its lane,
// under its id, with its error history and its number of attempts. A job that has used up all attempts gets one more. To
// retry all, call it until Matched is less than limit.
//
// Two calls may run at once: a job is retried by one of them. Repeating is safe, also after ErrAmbiguous. Errors:
// ErrInvalid.
func (e *Engine) RetryFailed(ctx context.Context, which FailedJobs, limit int) (RetryFailedOutcome, error) {
	const op = "RetryFailed"
	var out RetryFailedOutcome
	found, err := e.findFailed(ctx, op, which, limit)
	if err != nil {
		return out, err
	}
	out.Matched = len(found.jobs)
	if out.Matched > 0 {
		err = e.untilCurrent(ctx, op, func(t *txn) (moved, commit bool, err error) {
			open, err := e.openProducer(ctx, t)
			if err != nil {
				return false, false, err
			}
			var free []int64
			if err := t.QueryRow(ctx, e.sql.get("keep_keys", children{}), found.jobs).Scan(&free); err != nil {
				return false, false, err
			}
			out.Retried = nil
			found := found.of(free)
			if len(found.jobs) == 0 {
				return false, false, nil
			}
			at := children{Queue: e.queue.slot(open.generation), Slots: found.slotSet()}
			current := false
			var b pgx.Batch
			b.Queue(e.sql.get("plan_settings", children{}))
			e.queueTerminalLocks(&b, at)
			b.Queue(e.sql.get("retry_failed", at), append(found.args(open.generation), e.now())...).QueryRow(func(row pgx.Row) error {
				return row.Scan(&current, &out.Retried)
			})
			err = send(ctx, t, &b)
			return !current, len(out.Retried) > 0, err
		})
		if err != nil {
			return RetryFailedOutcome{}, err
		}
	}
	if which.Queue != "" {
		var n int64
		if err := e.pool.QueryRow(ctx, e.sql.get("pruned_failed", children{}), which.Queue).Scan(&n); err != nil {
			return out, fail(op, "", err)
		}
		out.PrunedFailedCount = &n
	}
	return out, nil
}

// failedRows are the full keys of failed rows, column by column.
type failedRows struct {
	slots       []int16
	generations []int64
	lanes       []int32
	seqs        []int64
	jobs        []int64
}

// of returns the rows of some of the jobs.
func (f *failedRows) of(jobs []int64) *failedRows {
	wanted := map[int64]bool{}
	for _, job := range jobs {
		wanted[job] = true
	}
	var some failedRows
	for i, job := range f.jobs {
		if wanted[job] {
			some.slots, some.generations, some.lanes = append(some.slots, f.slots[i]), append(some.generations, f.generations[i]), append(some.lanes, f.lanes[i])
			some.seqs, some.jobs = append(some.seqs, f.seqs[i]), append(some.jobs, job)
		}
	}
	return &some
}

// slotSet are the slots that the rows stand in, ascending.
func (f *failedRows) slotSet() []int {
	var slots []int
	for _, s := range f.slots {
		slots = append(slots, int(s))
	}
	return sortedSet(slots)
}

// args are the parameters of statements that take the rows out; the first one is theirs.
func (f *failedRows) args(first any) []any {
	return []any{first, f.slots, f.generations, f.lanes, f.seqs, f.jobs}
}

// findFailed scans for the chosen rows, in a statement of its own: its locks are gone before any other is taken, and
// what it found is proven again, row by row, by whoever takes it out.
func (e *Engine) findFailed(ctx context.Context, op string, which FailedJobs, limit int) (*failedRows, error) {
	statement, arg, err := e.scanFor(op, which)
	if err != nil {
		return nil, err
	}
	if err := checkCount(op, "limit", limit, maxSweep); err != nil {
		return nil, err
	}
	rows, err := e.pool.Query(ctx, statement, arg, limit)
	if err != nil {
		return nil, fail(op, "", err)
	}
	var f failedRows
	var slot int16
	var lane int32
	var generation, seq, job int64
	_, err = pgx.ForEachRow(rows, []any{&slot, &generation, &lane, &seq, &job}, func() error {
		f.slots, f.generations, f.lanes = append(f.slots, slot), append(f.generations, generation), append(f.lanes, lane)
		f.seqs, f.jobs = append(f.seqs, seq), append(f.jobs, job)
		return nil
	})
	return &f, fail(op, "", err)
}

// scanFor is the statement that finds the chosen jobs, and its parameter.
func (e *Engine) scanFor(op string, f FailedJobs) (statement string, arg any, err error) {
	switch arg, err = f.chosen(op); arg.(type) {
	case byQueue:
		return e.sql.get("failed_of_queue", children{}), arg, err
	case byKind:
		return e.sql.get("failed_of_kind", children{}), arg, err
	}
	return e.sql.get("failed_of_ids", children{}), arg, err
}

// The ways to choose jobs.
type (
	byQueue string
	byKind  string
)

// chosen is the field that is set: byQueue, byKind, or ids.
func (f FailedJobs) chosen(op string) (any, error) {
	switch {
	case f.Queue != "" && f.Kind == "" && len(f.IDs) == 0:
		return byQueue(f.Queue), checkName(op, "queue", f.Queue)
	case f.Queue == "" && f.Kind != "" && len(f.IDs) == 0:
		return byKind(f.Kind), checkName(op, "kind", f.Kind)
	case f.Queue == "" && f.Kind == "" && len(f.IDs) > 0:
		return f.IDs, checkCount(op, "ids", len(f.IDs), maxSweep)
	}
	return nil, invalid(op, fmt.Sprintf("queue %q, kind %q, %d ids", f.Queue, f.Kind, len(f.IDs)), "one of them must be given, and only one")
}

// queueTerminalLocks locks the slots that terminal rows are taken out of, and the current one for ready rows, slot by
// slot as every writer does.
func (e *Engine) queueTerminalLocks(b *pgx.Batch, at children) {
	for _, s := range sortedSet(append(slices.Clone(at.Slots), at.Queue)) {
		if slices.Contains(at.Slots, s) {
			b.Queue(e.sql.get("lock_history", children{Queue: s}))
		} else {
			b.Queue(e.sql.get("lock_ready", children{Queue: s}))
		}
	}
}
