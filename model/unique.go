package model

import (
	"fmt"
	"slices"
)

// Unique keys. Who holds one is a row, and whether that job still does is asked of the job's own rows when somebody else
// wants the key. So nothing is released when a job ends, and no closing operation knows of keys.

// UniqueRow says that a job holds a key, or held it before another took it over.
type UniqueRow struct {
	Job, Key int
	Held     int  // bits: the terminal states in which the key is kept, HeldCompleted, HeldFailed, HeldCancelled and HeldDLQ
	Active   bool // at most one committed row of a key is
	Tx       int  // as in EntryRow
}

// The bits of Held.
const (
	HeldCompleted = 1
	HeldFailed    = 2
	HeldCancelled = 4
	HeldDLQ       = 8
)

// UniqueBusy: another open transaction has taken the key. A caller may wait for its end instead.
const UniqueBusy Status = "unique_busy"

// takeUnique answers with the job that holds the key, or takes it for a new job, which the caller still has to write.
// busy says that another transaction's end has to be known first (P5's exception, hazard 32).
func takeUnique(s Store, key, held, tx int) (job int, fresh, busy bool) {
	before, found := UniqueRow{}, false
	for _, u := range s.Uniques() {
		switch {
		case u.Key != key || !u.Active:
		case u.Tx == tx && tx != 0:
			return u.Job, false, false // its own, which only its commit could end
		case u.Tx != 0:
			busy = true
		default:
			before, found = u, true
		}
	}
	if busy {
		return 0, false, true
	}
	if found && holdsKey(s, before, tx) {
		return before.Job, false, false
	}
	if found && tx == 0 {
		before.Active = false
		s.PutUnique(before)
	}
	job = takeJobs(s, 1)[0]
	s.PutUnique(UniqueRow{Job: job, Key: key, Held: held, Active: true, Tx: tx})
	return job, true, false
}

// holdsKey: a live job does, an ended one as it was asked for, one whose rows are gone doesn't. A transaction sees what it
// has completed itself as ended, and nobody else does: so it may enqueue the job's successor under the same key.
func holdsKey(s Store, u UniqueRow, tx int) bool {
	if tx != 0 && slices.ContainsFunc(s.ClosedByTx(tx), func(c ClaimRow) bool { return c.Job == u.Job }) {
		return u.Held&HeldCompleted != 0
	}
	view, err := JobOf{u.Job}.apply(s)
	if err != nil {
		return false
	}
	switch view.(JobView).State {
	case JobCompleted:
		return u.Held&HeldCompleted != 0
	case JobFailed:
		return u.Held&HeldFailed != 0
	case JobCancelled:
		return u.Held&HeldCancelled != 0
	case JobDLQ:
		return u.Held&HeldDLQ != 0
	case JobNotFound:
		return false
	}
	return true
}

// keyIsLost says whether another job has taken the key of a job that ended, or is about to.
func keyIsLost(s Store, job int) bool {
	rows := s.Uniques()
	at := slices.IndexFunc(rows, func(u UniqueRow) bool { return u.Job == job })
	return at >= 0 && (!rows[at].Active ||
		slices.ContainsFunc(rows, func(u UniqueRow) bool { return u.Key == rows[at].Key && u.Active && u.Tx != 0 }))
}

// commitUniques makes what a transaction took visible: a key that it took over is no longer the other job's.
func commitUniques(s Store, tx int) {
	for _, mine := range uniquesOfTx(s, tx) {
		for _, u := range slices.Clone(s.Uniques()) {
			if u.Key == mine.Key && u.Active && u.Tx == 0 {
				u.Active = false
				s.PutUnique(u)
			}
		}
		mine.Tx = 0
		s.PutUnique(mine)
	}
}

func uniquesOfTx(s Store, tx int) []UniqueRow {
	return slices.Collect(where(s.Uniques(), func(u UniqueRow) bool { return u.Tx == tx }))
}

// repeated are the answers of an enqueue of several jobs with one key: all are the same job.
func repeated(job, count int) []int { return slices.Repeat([]int{job}, count) }

func byUnique(a, b UniqueRow) int { return a.Job - b.Job }

// TrimKeys takes away the rows of jobs of which nothing is left, so that nobody could make them live again. A job whose end
// was removed keeps its row until its ready row is pruned: it holds no key any more. A row whose key an open transaction is
// taking over is left for the next time: that one has locked it.
func (TrimKeys) apply(s Store) (Result, error) {
	r := Trimmed{}
	for _, u := range slices.Clone(s.Uniques()) {
		if u.Tx == 0 && isGone(s, u.Job) && !isTakenOver(s, u) {
			s.DropUnique(u)
			r.Rows++
		}
	}
	return r, nil
}

// isTakenOver says that an open transaction takes the key from the job.
func isTakenOver(s Store, old UniqueRow) bool {
	return old.Active && slices.ContainsFunc(s.Uniques(), func(u UniqueRow) bool { return u.Key == old.Key && u.Tx != 0 })
}

// isGone says that no row of a committed job is left.
func isGone(s Store, job int) bool {
	_, ready := s.NewestEntry(job)
	_, deferred := s.Deferred(job)
	return !ready && !deferred && !isOver(s, job)
}

// P5: of the jobs that ever took a key, at most one is alive, and one row says who took it last. A job that failed, lost its
// key and was retried all the same would be the second.
func oneJobPerKey(s Store) error {
	all := places(s)
	alive, last := map[int]int{}, map[int]int{}
	for _, u := range s.Uniques() {
		if u.Tx != 0 {
			continue
		}
		if other, taken := last[u.Key]; u.Active && taken {
			return fmt.Errorf("jobs %d and %d both took key %d last", other, u.Job, u.Key)
		}
		if u.Active {
			last[u.Key] = u.Job
		}
		if !placeOf(all, u.Job).alive() {
			continue
		}
		if other, taken := alive[u.Key]; taken {
			return fmt.Errorf("jobs %d and %d live, and have key %d", other, u.Job, u.Key)
		}
		alive[u.Key] = u.Job
	}
	return nil
}

// alive says that a job in this state may still run.
func (is JobState) alive() bool {
	switch is {
	case JobAvailable, JobScheduled, JobRetryable, JobRunning, JobWaiting:
		return true
	}
	return false
}
