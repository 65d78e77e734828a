package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// smallWorld offers everything, with small numbers.
func smallWorld() (*Config, *Bounds) {
	return &Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a", "b"}}, &Bounds{
		Jobs: 5, QueueGenerations: 4, ClaimGenerations: 4,
		Queues: []string{"a", "b"}, Priorities: []int{1, 3}, MaxAttempts: []int{1, 2},
		ClaimLimits: []int{1, 3}, RescueLimits: []int{1, 9}, PromoteLimits: []int{1, 2}, Retentions: []int{0, Infinite},
		PutOffs: 3, RetryBelow: 3, RunAts: []int{0, Infinite},
		Transactions: []Isolation{ReadCommitted, RepeatableRead, Serializable}, OpenTransactions: 2, Batches: true,
	}
}

var worlds = []func() (*Config, *Bounds){smallWorld, smallWorld, agingWorld}

// agingWorld offers what aging is about, and that alone: nothing that goes by the age of a claim.
func agingWorld() (*Config, *Bounds) {
	return &Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a", "b"}, Agings: []int{2}}, &Bounds{
		Actions: []string{"Enqueue", "Claim", "Complete", "SetPriority", "MoveJob", "RotateQueue", "PruneQueue"},
		Jobs:    6, QueueGenerations: 4, Moves: 2, Ages: []int{0, 1, 2, 5},
		Queues: []string{"a", "b"}, Priorities: []int{1, 2, 4}, MaxAttempts: []int{1},
		ClaimLimits: []int{1, 3}, Retentions: []int{0},
	}
}

// walk applies offered actions and calls visit with each step.
func walk(t *rapid.T, config *Config, bounds *Bounds, steps int, visit func(Step)) {
	pre := NewFlat(config)
	for range steps {
		actions := Enabled(pre, bounds)
		a := actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]
		post := Snapshot(pre)
		r, err := Apply(post, a)
		if err != nil {
			t.Fatalf("offered, but refused: %v", err)
		}
		visit(Step{Pre: pre, Action: a, Result: r, Post: post})
		pre = post
	}
}

// Every invariant and every property holds along random walks. That each is put to the test somewhere is for the
// exhaustive search to show.
func TestInvariantsHoldAlongWalks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config, bounds := rapid.SampledFrom(worlds).Draw(t, "world")()
		walk(t, config, bounds, 60, func(p Step) {
			for _, i := range Invariants() {
				if err := i.Check(p.Post); err != nil {
					t.Fatalf("%s: %v\nafter %s -> %s:\n%s", i.Name, err, p.Action, p.Result, Canonical(p.Post))
				}
			}
			for _, i := range Properties() {
				if err := i.Check(p); err != nil {
					t.Fatalf("%s: %v\nbefore %s -> %s:\n%s", i.Name, err, p.Action, p.Result, Canonical(p.Pre))
				}
			}
		})
	})
}

// A state and its normal form offer the same, answer the same, and lead to the same normal form: exploring normal
// forms explores everything.
func TestNormalFormForgetsNothingThatMatters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config, bounds := rapid.SampledFrom(worlds).Draw(t, "world")()
		walk(t, config, bounds, 40, func(p Step) {
			normal := Snapshot(p.Pre)
			normal.Normalize(bounds)
			offered, offeredNormal := Enabled(p.Pre, bounds), Enabled(normal, bounds)
			at := slices.IndexFunc(offered, func(a Action) bool { return a.String() == p.Action.String() })
			if len(offered) != len(offeredNormal) {
				t.Fatalf("%d actions are offered, but %d to the normal form", len(offered), len(offeredNormal))
			}
			twin := offeredNormal[at]
			r, err := Apply(normal, twin)
			if err != nil || r.String() != p.Result.String() {
				t.Fatalf("%s answers %s, but %s in the normal form: %v, %v", p.Action, p.Result, twin, r, err)
			}
			normal.Normalize(bounds)
			post := Snapshot(p.Post)
			post.Normalize(bounds)
			if !slices.Equal(post.Encode(nil), normal.Encode(nil)) {
				t.Fatalf("after %s:\n%s\nbut after %s in the normal form:\n%s", p.Action, Canonical(post), twin, Canonical(normal))
			}
		})
	})
}
