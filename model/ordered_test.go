package model

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// An ordered sequence is a sorted set, wherever items come and go; and it gives room back.
func TestOrderedIsASortedSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := ordered[int]{compare: cmp.Compare[int]}
		want := map[int]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "runs") {
			// Runs of neighbours from either end, as lanes and undo make them.
			first, length := rapid.IntRange(0, 300).Draw(t, "first"), rapid.IntRange(1, 80).Draw(t, "length")
			in, down := rapid.Bool().Draw(t, "in"), rapid.Bool().Draw(t, "down")
			for i := range length {
				item := first + i
				if down {
					item = first - i
				}
				o.set(item, in)
				want[item] = true
				if !in {
					delete(want, item)
				}
			}
			sorted := []int{}
			for item := range want {
				sorted = append(sorted, item)
			}
			slices.Sort(sorted)
			if got := slices.Collect(o.all()); !slices.Equal(got, sorted) || o.len() != len(sorted) {
				t.Fatalf("got %v, want %v", got, sorted)
			}
			if o.front > 2*o.len()+64 {
				t.Fatalf("%d items keep room for %d", o.len(), o.front)
			}
		}
	})
}
