package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// DeleteTerminal takes the ends of jobs away: completed, failed or cancelled ones, in whatever shape they are stored. Nobody
// is told of such a job any more (Job, terminal_jobs), it is counted nowhere, neither now nor when its slot is pruned, and a
// unique key that it held is free. Its attempts stay closed. At most 10,000 jobs.
//
// A job that isn't over, and one that is held in the DLQ, which PurgeDLQ removes, is left alone: ErrWrongState. A job that
// isn't there is ErrNotFound; so is one whose end was taken away before, so that a second call says ErrNotFound of what the
// first one did: repeating is safe, and ErrNotFound means that there is nothing left.
//
// Jobs are looked for first and their ends removed where they were found, in one transaction; what moved on meanwhile, carried
// by a prune or retried by an operator, is looked for again, in another one. So after an error some of them may be removed.
func (e *Engine) DeleteTerminal(ctx context.Context, ids []int64) ([]JobResult, error) {
	const op = "DeleteTerminal"
	return e.jobByJob(ctx, op, ids, ErrNotFound, func(left []int64, answers map[int64]error) ([]int64, error) {
		found, err := e.locate(ctx, op, left)
		if err != nil {
			return nil, err
		}
		d := deletion{e: e, found: found}
		err = e.transact(ctx, op, func(t *txn) (bool, error) {
			d.done = map[int64]bool{}
			err := d.run(ctx, t)
			return len(d.done) > 0, err
		})
		return d.sort(answers), err
	})
}

// deletion is one round of a DeleteTerminal.
type deletion struct {
	e     *Engine
	found []foundJob
	done  map[int64]bool // jobs whose ends this round has taken away
}

// sort notes the answers that are known now, and returns the jobs whose ends moved on.
func (d *deletion) sort(answers map[int64]error) (left []int64) {
	for _, w := range d.found {
		switch w.is {
		case isNowhere:
			answers[w.job] = ErrNotFound
		case isCompleted, isDone:
			if d.done[w.job] {
				answers[w.job] = nil
			} else {
				left = append(left, w.job)
			}
		default:
			answers[w.job] = ErrWrongState
		}
	}
	return left
}

// run takes the ends away, generation by generation, each under its slot's locks; ends of their own in the order of jobs, as
// everybody takes them out.
func (d *deletion) run(ctx context.Context, t *txn) error {
	byGeneration := map[int64][]foundJob{}
	for _, w := range d.found {
		if w.is == isCompleted || w.is == isDone {
			byGeneration[w.receipt.readyGeneration] = append(byGeneration[w.receipt.readyGeneration], w)
		}
	}
	if len(byGeneration) == 0 {
		return nil
	}
	slot := d.e.queue.slot
	generations := slices.SortedFunc(maps.Keys(byGeneration), func(a, b int64) int { return cmp.Compare(slot(a), slot(b)) })
	var b pgx.Batch
	t.queueXid(&b)
	b.Queue(d.e.sql.get("plan_settings", children{}))
	for _, g := range generations {
		b.Queue(d.e.sql.get("lock_removal", children{Queue: slot(g)}))
	}
	for _, g := range generations {
		at := children{Queue: slot(g)}
		d.remove(&b, d.e.sql.get("hide_completed", at), g, isCompleted, byGeneration[g])
		d.remove(&b, d.e.sql.get("delete_done", at), g, isDone, byGeneration[g])
	}
	return send(ctx, t, &b)
}

// remove sends the statement for those of the jobs that ended in one way.
func (d *deletion) remove(b *pgx.Batch, statement string, generation int64, is string, some []foundJob) {
	some = foundAt(some, is)
	if len(some) == 0 {
		return
	}
	slices.SortFunc(some, func(a, b foundJob) int { return cmp.Compare(a.job, b.job) })
	var lanes []int32
	var seqs, jobs []int64
	for _, w := range some {
		lanes, seqs, jobs = append(lanes, w.receipt.lane), append(seqs, w.seq), append(jobs, w.job)
	}
	b.Queue(statement, generation, lanes, seqs, jobs).Query(noteJobs(d.done))
}

// jobByJob is an operation on jobs wherever they are. A round notes answers and returns the jobs that moved on, which the next
// one looks for again; it is given no more jobs than one piece of evidence may cover, as a claim is; again is the answer to a second mention of a job that the call was good for.
func (e *Engine) jobByJob(ctx context.Context, op string, ids []int64, again error, round func(left []int64, answers map[int64]error) ([]int64, error)) ([]JobResult, error) {
	if len(ids) > maxSweep {
		return nil, invalid(op, fmt.Sprintf("%d jobs", len(ids)), "at most %d", maxSweep)
	}
	answers := map[int64]error{}
	for left := range slices.Chunk(unique(ids), receiptsPerBatch) {
		for n := 0; n < ringAttempts && len(left) > 0; n++ {
			if err := ctx.Err(); err != nil {
				return nil, fail(op, "", err)
			}
			var err error
			if left, err = round(left, answers); err != nil {
				return nil, err
			}
		}
		for _, id := range left {
			answers[id] = ErrBusy
		}
	}
	results := make([]JobResult, len(ids))
	for i, id := range ids {
		results[i].JobID = id
		if cause := answers[id]; cause != nil {
			results[i].Err = &Error{Op: op, Value: fmt.Sprintf("job %d", id), Err: cause}
			continue
		}
		answers[id] = again
	}
	return results, nil
}
