package fuzz

import (
	"pgregory.net/rapid"

	"github.com/awa-engine/awa/model"
)

// drawJob draws any job, or one of the few that are deferred, held, running, waiting or over.
func (g *generator) drawJob(t *rapid.T, s model.Store) int {
	var running []int
	for c := range s.OpenClaims() {
		running = append(running, c.Job)
	}
	kinds := [][]int{nil, nil}
	for _, few := range [][]int{
		deferred(s, model.JobScheduled),
		deferred(s, model.JobRetryable),
		jobs(s.DLQRows(), func(d model.DLQRow) int { return d.Job }),
		jobs(s.Leases(), func(l model.LeaseRow) int { return l.Job }),
		jobs(s.Terminals(), func(e model.TerminalRow) int { return e.Job }),
		jobs(s.Leases(), func(l model.LeaseRow) int { return l.Job }),
		running,
	} {
		if len(few) > 0 {
			kinds = append(kinds, few)
		}
	}
	if few := pick(t, "from", kinds); few != nil {
		return pick(t, "job", few)
	}
	return rapid.IntRange(1, s.Vars().NextJob-1).Draw(t, "job")
}

// queue draws the first queue, mostly.
func (g *generator) queue(t *rapid.T) string {
	if g.narrow {
		return g.world.Queues[0]
	}
	return pick(t, "queue", []string{g.world.Queues[0], g.world.Queues[0], g.world.Queues[0], g.world.Queues[len(g.world.Queues)-1]})
}

// levels are those of callers' transactions. An old snapshot may show another number of shards, and a process go by either.
func (g *generator) levels() []model.Isolation {
	if g.world.Shards > 1 {
		return []model.Isolation{model.ReadCommitted}
	}
	return []model.Isolation{model.ReadCommitted, model.RepeatableRead, model.ReadCommitted, model.Serializable}
}

// ordering draws an ordering key where a queue may have several shards: which one a job without a key comes to, a process decides.
func (g *generator) ordering(t *rapid.T) int {
	if g.world.Shards <= 1 {
		return 0
	}
	return rapid.IntRange(1, 6).Draw(t, "ordering")
}

// drawShards lowers a number that is high, and raises one that is low, more often than not.
func (g *generator) drawShards(t *rapid.T, s model.Store, queue string) model.SetShards {
	lane, _ := s.Config().Lane(queue, 1)
	if s.Policy(s.Config().QueueOf(lane)).Shards > 1 {
		return model.SetShards{Queue: queue, Shards: pick(t, "shards", []int{1, 1, g.world.Shards})}
	}
	return model.SetShards{Queue: queue, Shards: pick(t, "shards", []int{g.world.Shards, 2, g.world.Shards, 1})}
}

func deferred(s model.Store, state model.JobState) (jobs []int) {
	for _, d := range s.DeferredRows() {
		if d.State == state {
			jobs = append(jobs, d.Job)
		}
	}
	return jobs
}

func jobs[R any](rows []R, job func(R) int) []int {
	ids := make([]int, len(rows))
	for i, r := range rows {
		ids[i] = job(r)
	}
	return ids
}

// drawAttempts draws one to four attempts, open ones by preference, with repetitions and dead ones among them.
func (g *generator) drawAttempts(t *rapid.T, s model.Store) []model.AttemptID {
	// Who waits is left alone, mostly: a wait takes long, compared with what runs.
	var open []model.AttemptID
	leave := len(s.Leases()) > 0 && pick(t, "leave", []bool{true, false})
	for c := range s.OpenClaims() {
		if _, waits := s.Lease(c.ID()); !waits || !leave {
			open = append(open, c.ID())
		}
	}
	n := rapid.IntRange(1, 4).Draw(t, "how many")
	var picked []model.AttemptID
	for range n {
		from := open
		if len(open) == 0 || pick(t, "any", []bool{false, false, false, true}) {
			from = g.attempts
		}
		picked = append(picked, pick(t, "attempt", from))
	}
	return picked
}
