package engine

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A plain set of small numbers is what spans is held against.
type plainSet map[int64]bool

// drawSpans draws a set both ways; with an endless end now and then, of which the plain one knows a part.
func drawSpans(t *rapid.T, name string) (spans, plainSet) {
	values := rapid.SliceOf(rapid.Int64Range(0, 40)).Draw(t, name)
	s, plain := spansOf(values), plainSet{}
	for _, v := range values {
		plain[v] = true
	}
	if from := rapid.Int64Range(0, 80).Draw(t, name+" endless from"); from <= 40 {
		s = append(s.below(from), span{from, endless})
		if n := len(s); n > 1 && s[n-2].hi == from {
			s[n-2].hi = endless
			s = s[:n-1]
		}
		for v := from; v <= 45; v++ {
			plain[v] = true
		}
	}
	checkForm(t, s)
	return s, plain
}

// checkForm is the type's invariant.
func checkForm(t *rapid.T, s spans) {
	for i, sp := range s {
		if sp.lo >= sp.hi || i > 0 && sp.lo <= s[i-1].hi {
			t.Fatalf("%v isn't sorted, disjoint, apart and free of empty spans", s)
		}
	}
}

func checkSame(t *rapid.T, what string, s spans, want func(int64) bool) {
	checkForm(t, s)
	for v := int64(-1); v <= 45; v++ {
		if s.contains(v) != want(v) {
			t.Fatalf("%s: %s, but %d: %v", what, s, v, want(v))
		}
	}
}

func TestSpansAgainstPlainSets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, plainA := drawSpans(t, "a")
		b, plainB := drawSpans(t, "b")
		checkSame(t, "a", a, func(v int64) bool { return plainA[v] })
		checkSame(t, "a minus b", a.minus(b), func(v int64) bool { return plainA[v] && !plainB[v] })
		checkSame(t, "a below 20", a.below(20), func(v int64) bool { return plainA[v] && v < 20 })
		if len(a) > 0 && a[len(a)-1].hi == endless {
			if a.size() != endless {
				t.Fatalf("%s has no end, but size %d", a, a.size())
			}
		} else if a.size() != int64(len(plainA)) {
			t.Fatalf("%s has size %d, want %d", a, a.size(), len(plainA))
		}
		n := rapid.Int64Range(-1, 30).Draw(t, "n")
		lowest := slices.Sorted(maps.Keys(plainA))
		lowest = lowest[:max(0, min(n, int64(len(lowest))))]
		checkSame(t, "first n", a.first(min(n, int64(len(plainA)))), func(v int64) bool { return slices.Contains(lowest, v) })
	})
}

func TestSpansTextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawSpans(t, "s")
		got, err := parseSpans(s.String())
		if err != nil || !slices.Equal(got, s) {
			t.Fatalf("%s became %s, %v", s, got, err)
		}
	})
	for text, want := range map[string]spans{
		"{}":           nil,
		"{[1,5),[7,)}": {{1, 5}, {7, endless}},
		"{[-3,-1)}":    {{-3, -1}},
		"{[9223372036854775806,9223372036854775807)}": {{math.MaxInt64 - 1, math.MaxInt64}},
	} {
		if got, err := parseSpans(text); err != nil || !slices.Equal(got, want) || got.String() != text && text != "{[9223372036854775806,9223372036854775807)}" {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "{", "}", "[1,2)", "{[1)}", "{[a,2)}", "{[1,b)}", "{[1,99999999999999999999)}", "{(,5)}", "empty"} {
		if got, err := parseSpans(text); err == nil {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}
