package linearizability

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// lifeLimit bounds the search of one job's life; a job of these histories takes microseconds.
const lifeLimit = 20 * time.Second

// A life is one job's part of the history.
type life struct {
	id       int64
	job      job
	born     *call // nil: no call that may have committed enqueued it
	deferred bool
	claims   []*call // that handed it out
	ops      []porcupine.Operation

	from, to  int64 // the first call, the last return that is known
	goneReads bool  // a read found nothing, so that prunes matter
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

// lives sorts the clients' calls by job.
func (j *judging) sortLives() {
	for _, c := range j.h.calls {
		switch {
		case c.Op == opJob && c.Outcome == outcomeOK:
			l := j.life(c.Seen.Job)
			l.add(looked(c.Seen), c, c.Call)
			l.goneReads = l.goneReads || c.Seen.State == "not_found"
		case c.Op == opClaim && c.Outcome == outcomeOK:
			for _, a := range c.Attempts {
				l := j.life(a.Job)
				l.claims = append(l.claims, c)
				l.add(handedOut(a, c), c, c.Call)
			}
		case c.Op == opComplete || c.Op == opFail:
			j.closes(c)
		}
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
		j.life(id).add(closed(parts[id], c), c, c.Call)
	}
}

// hidden adds what may have happened to the job without a client's word for it. Each such call is left out where it
// can't matter: it ended before the job's first call or began after the last answer; a rescue before any attempt was old
// enough; a promotion of a job that wasn't deferred, or after it was handed out; a prune where every read found the job.
func (j *judging) hidden(l *life) {
	stale := int64(j.h.run.Plan.StaleAfter)
	firstClaim, firstClaimed := int64(math.MaxInt64), int64(math.MaxInt64)
	for _, c := range l.claims {
		firstClaim, firstClaimed = min(firstClaim, c.Call), min(firstClaimed, c.Return)
	}
	for _, c := range j.lostClaims {
		if c.Queue == l.job.Queue && c.Return >= l.from && c.Call <= l.to {
			l.ops = append(l.ops, porcupine.Operation{ClientId: c.Client, Input: lostClaim(c), Call: c.Call, Return: c.Return, Metadata: c})
			firstClaim = min(firstClaim, c.Call)
		}
	}
	// Maintenance is sorted by call, and no call of it lasts longer than the longest.
	start, _ := slices.BinarySearchFunc(j.maintenance, l.from-j.longest, func(c *call, at int64) int { return cmp.Compare(c.Call, at) })
	for _, c := range j.maintenance[start:] {
		if c.Call > l.to {
			break
		}
		matters := c.Return >= l.from
		switch c.Op {
		case opRescue:
			matters = matters && firstClaim < math.MaxInt64 && c.Return+int64(clockSlack) > firstClaim+stale
		case opPromote:
			matters = matters && l.deferred && c.Call <= firstClaimed
		case opPruneQueue:
			matters = matters && l.goneReads
		}
		if m, ok := perhaps(c, j.h.run.Plan.StaleAfter); ok && matters {
			l.ops = append(l.ops, porcupine.Operation{ClientId: c.Client, Input: m, Call: c.Call, Return: c.Return, Metadata: c})
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
