package linearizability

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/awa-engine/awa/model"
)

// lifeLimit bounds the search of one job's life; a job of these histories takes microseconds.
const lifeLimit = 20 * time.Second

// A life is one job's part of the history.
type life struct {
	id       int64
	job      job
	born     *call // nil: no call that may have committed enqueued it
	deferred bool
	ops      []porcupine.Operation

	from, to int64 // the first call, the last return that is known
	gone     int64 // the last return of a read that found nothing; 0 without one

	handed   map[int64]*call // by lease: the first claim that was given the attempt
	ended    map[int64]bool  // by lease: a call was told that it closed the attempt
	maxLease int64           // that anything knows of
}

// bear registers the job's enqueue.
func (l *life) bear(j job, at *call) {
	l.job, l.born, l.deferred = j, at, at.Deferred
	from := at.Call
	if at.Written > 0 {
		from = at.Written // the commit was called after that
	}
	l.add(born(j, at.Deferred, at), at, from)
}

// add adds a call of a client. Return of a call without an answer is when its transaction had ended.
func (l *life) add(m move, c *call, from int64) {
	if len(l.ops) == 0 || from < l.from {
		l.from = from
	}
	if c.Return < never {
		l.to = max(l.to, c.Return)
	}
	l.ops = append(l.ops, porcupine.Operation{ClientId: c.Client, Input: m, Call: from, Return: c.Return, Metadata: c})
}

// sortLives sorts the clients' calls by job.
func (j *judging) sortLives() {
	for _, c := range j.h.calls {
		switch {
		case c.Op == opJob && c.Outcome == outcomeOK:
			l := j.life(c.Seen.Job)
			l.add(looked(c.Seen), c, c.Call)
			l.maxLease = max(l.maxLease, c.Seen.Lease)
			if c.Seen.State == string(model.JobNotFound) {
				l.gone = max(l.gone, c.Return)
			}
		case c.Op == opClaim && c.Outcome == outcomeOK:
			for _, a := range c.Attempts {
				l := j.life(a.Job)
				l.maxLease = max(l.maxLease, a.Lease)
				if l.handed[a.Lease] == nil {
					l.handed[a.Lease] = c
				}
				l.add(handedOut(a, c), c, c.Call)
			}
		case c.Op == opComplete || c.Op == opFail:
			j.closes(c)
		}
	}
	for id := range j.stored {
		l := j.life(id.job)
		l.maxLease = max(l.maxLease, id.lease)
	}
	for _, l := range j.lives {
		j.hidden(l)
	}
}

// closes gives each job of a close its part. A close that certainly did nothing is nobody's.
func (j *judging) closes(c *call) {
	if c.Outcome == outcomeNotDone || c.Outcome == outcomeAborted {
		return
	}
	parts := map[int64][]attempt{}
	var order []int64
	for _, a := range c.Attempts {
		if parts[a.Job] == nil {
			order = append(order, a.Job)
		}
		parts[a.Job] = append(parts[a.Job], a)
	}
	for _, id := range order {
		l := j.life(id)
		l.add(closed(parts[id], c), c, c.Call)
		for _, a := range parts[id] {
			if c.Outcome == outcomeOK && !a.Stale {
				l.ended[a.Lease] = true
			}
		}
	}
}

// judgeLives asks porcupine about every job, on all processors.
func (j *judging) judgeLives() {
	all := make([]*life, 0, len(j.lives))
	for _, l := range j.lives {
		if len(l.ops) > 0 {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *life) int { return cmp.Compare(a.id, b.id) })
	answers := make([]porcupine.CheckResult, len(all))
	work := make(chan int)
	var judges sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		judges.Go(func() {
			for i := range work {
				answers[i] = porcupine.CheckOperationsTimeout(lifeModel(), all[i].ops, lifeLimit)
			}
		})
	}
	for i := range all {
		work <- i
	}
	close(work)
	judges.Wait()
	j.v.Partitions = len(all)
	for i, l := range all {
		j.v.Did.Steps += len(l.ops)
		if j.busiest == nil || len(l.ops) > len(j.busiest.ops) {
			j.busiest = l
		}
		switch answers[i] {
		case porcupine.Illegal:
			j.wrongLife(l)
		case porcupine.Unknown:
			j.v.wrong(KindUndecided, "job %d: no order of its %d calls found, and none excluded, within %s", l.id, len(l.ops), lifeLimit)
		}
	}
}

// wrongLife reports a job whose calls fit no life, the first with its story.
func (j *judging) wrongLife(l *life) {
	j.v.wrong(KindLife, "job %d (%s/%d): its %d calls fit no life of a job under the model", l.id, l.job.Queue, l.job.Priority, len(l.ops))
	if j.worst != nil {
		return
	}
	j.worst = l
	j.v.story = l.story()
}

// story are the job's calls by their call times, as text.
func (l *life) story() []string {
	ops := slices.Clone(l.ops)
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var lines []string
	for _, o := range ops {
		c := o.Metadata.(*call)
		lines = append(lines, clock(o.Call)+".."+clock(o.Return)+"  "+o.Input.(move).text+", by "+clientName(c.Client))
	}
	return lines
}
