package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A span is the half-open range [lo, hi) of lane positions or receipts. hi = endless means no upper end.
type span struct{ lo, hi int64 }

const endless = math.MaxInt64

// spans is a set of integers: sorted, disjoint, not adjacent, none empty. It is what the server calls int8multirange.
type spans []span

// spansOf returns the set of the values, given in any order and any number of times.
func spansOf(values []int64) spans {
	values = slices.Clone(values)
	slices.Sort(values)
	var s spans
	for _, v := range values {
		switch last := len(s) - 1; {
		case last >= 0 && v < s[last].hi: // a repetition
		case last >= 0 && v == s[last].hi:
			s[last].hi++
		default:
			s = append(s, span{v, v + 1})
		}
	}
	return s
}

// contains reports whether v is in the set.
func (s spans) contains(v int64) bool {
	i, found := slices.BinarySearchFunc(s, v, func(sp span, v int64) int { return cmp.Compare(sp.lo, v) })
	return found || i > 0 && v < s[i-1].hi
}

// minus returns the values of s that are not in t.
func (s spans) minus(t spans) spans {
	var out spans
	j := 0
	for _, sp := range s {
		lo := sp.lo
		for j < len(t) && t[j].hi <= lo {
			j++
		}
		for k := j; k < len(t) && t[k].lo < sp.hi; k++ {
			if t[k].lo > lo {
				out = append(out, span{lo, t[k].lo})
			}
			lo = max(lo, t[k].hi)
		}
		if lo < sp.hi {
			out = append(out, span{lo, sp.hi})
		}
	}
	return out
}

// size returns how many values the set has; endless when it has no end.
func (s spans) size() int64 {
	var n int64
	for _, sp := range s {
		if sp.hi == endless {
			return endless
		}
		n += sp.hi - sp.lo
	}
	return n
}

// first returns the n lowest values as a set.
func (s spans) first(n int64) spans {
	var out spans
	for _, sp := range s {
		if n <= 0 {
			break
		}
		if sp.hi-sp.lo > n {
			sp.hi = sp.lo + n
		}
		n -= sp.hi - sp.lo
		out = append(out, sp)
	}
	return out
}

// String returns the set as int8multirange text, for instance {[1,5),[7,)}.
func (s spans) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, sp := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('[')
		b.WriteString(strconv.FormatInt(sp.lo, 10))
		b.WriteByte(',')
		if sp.hi != endless {
			b.WriteString(strconv.FormatInt(sp.hi, 10))
		}
		b.WriteByte(')')
	}
	b.WriteByte('}')
	return b.String()
}

// parseSpans reads int8multirange text as the server prints it: canonical, half-open, sorted.
func parseSpans(text string) (spans, error) {
	body, ok := strings.CutPrefix(text, "{")
	body, ok2 := strings.CutSuffix(body, "}")
	if !ok || !ok2 {
		return nil, fmt.Errorf("multirange %q: no braces", text)
	}
	var s spans
	for body != "" {
		one, rest, _ := strings.Cut(body, ")")
		body = strings.TrimPrefix(rest, ",")
		lo, hi, ok := strings.Cut(strings.TrimPrefix(one, "["), ",")
		if !ok {
			return nil, fmt.Errorf("multirange %q: no comma in %q", text, one)
		}
		sp := span{hi: endless}
		var err error
		if sp.lo, err = strconv.ParseInt(lo, 10, 64); err != nil {
			return nil, fmt.Errorf("multirange %q: %w", text, err)
		}
		if hi != "" {
			if sp.hi, err = strconv.ParseInt(hi, 10, 64); err != nil {
				return nil, fmt.Errorf("multirange %q: %w", text, err)
			}
		}
		s = append(s, sp)
	}
	return s, nil
}
