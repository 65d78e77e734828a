package model

import "testing"

// BenchmarkMutable is the life of jobs, a hundred thousand waiting, with rings that turn: operations a second bound
// how long a history or a chaos run can be judged.
func BenchmarkMutable(b *testing.B) {
	m := NewMutable(&Config{QueueSlots: 16, ClaimSlots: 8, Queues: []string{"a"}})
	now, operations := 0, 0
	do := func(a Action) Result {
		operations++
		r, err := Apply(m, a)
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	do(Enqueue{Queue: "a", Priority: 1, Count: 100_000, Attempts: 3})
	operations = 0
	for b.Loop() {
		now++
		do(Enqueue{Queue: "a", Priority: 1, Count: 10, Attempts: 3, Now: now})
		claimed := do(Claim{Queue: "a", Limit: 10, Now: now}).(Claimed)
		for i, h := range claimed.Handouts {
			if i > 0 { // the first is left to rescue
				do(Complete{Attempts: []AttemptID{h.ID()}, Now: now})
			}
		}
		do(RescueStale{Older: 100, Limit: 10, Now: now})
		if now%50 == 0 {
			for _, a := range []Action{PruneClaims{now}, PruneQueue{0, now}, RotateClaims{now}, RotateQueue{now}, CountsOf{"a"}} {
				do(a)
			}
		}
	}
	b.ReportMetric(float64(operations)/b.Elapsed().Seconds(), "operations/s")
}
