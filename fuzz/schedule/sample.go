package schedule

import (
	"math/rand/v2"
	"slices"
)

// A sampler draws schedules by probabilistic concurrency testing: each session gets a random priority, the highest that
// can go goes, and at a few random steps the one that goes falls behind all others. A failure that needs d ordered
// switches among n sessions and k steps is met by a run with probability 1/(n·k^(d-1)) at least.
type sampler struct {
	mode     Mode
	random   *rand.Rand
	sessions int
	steps    int // of the longest run so far
	run      int

	priority []int
	drawn    []int // priority, as it was at the start
	changes  []int
	step     int
}

func newSampler(m Mode, seed uint64, sessions int) *sampler {
	return &sampler{mode: m, random: rand.New(rand.NewPCG(seed, 0)), sessions: sessions, steps: 20}
}

// again runs the same priorities and changes.
func (s *sampler) again() {
	s.step = 0
	s.priority = slices.Clone(s.drawn)
}

func (s *sampler) begin() {
	s.steps = max(s.steps, s.step)
	s.step = 0
	s.priority = s.random.Perm(s.sessions)
	for i := range s.priority {
		s.priority[i] += s.mode.Depth // the lower ones are for those that fall behind
	}
	s.drawn = slices.Clone(s.priority)
	s.changes = nil
	for range s.mode.Depth - 1 {
		s.changes = append(s.changes, s.random.IntN(s.steps))
	}
}

func (s *sampler) choose(_ int, at []candidate, _ int) (int, error) {
	if i := slices.Index(s.changes, s.step); i >= 0 {
		s.priority[s.highest(at)] = i
	}
	return s.highest(at), nil
}

func (s *sampler) highest(at []candidate) int {
	best := at[0].session
	for _, c := range at {
		if s.priority[c.session] > s.priority[best] {
			best = c.session
		}
	}
	return best
}

func (s *sampler) took(Step) { s.step++ }

func (s *sampler) next() bool {
	s.run++
	return s.run < s.mode.Runs
}
