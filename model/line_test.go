package model

import (
	"strings"
	"testing"
)

// A made-up operation: the facility is tested whatever operations use it.
type withOptions struct {
	limit, runAt int
	key          string
}

func (a *withOptions) keys(k keys) {
	k.number("limit", &a.limit)
	k.optionalNumber("run_at", &a.runAt)
	k.optionalWord("key", &a.key)
}

// A line from before a key was there reads as it did, and prints as it did.
func TestOptionalKeysAreLeftOutWhenZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		value withOptions
	}{
		{"X limit=2", withOptions{limit: 2}},
		{"X limit=0", withOptions{}},
		{"X limit=2 run_at=-9", withOptions{limit: 2, runAt: -9}},
		{"X limit=2 key=k", withOptions{limit: 2, key: "k"}},
		{"X limit=2 run_at=9 key=k", withOptions{2, 9, "k"}},
	} {
		if got := line("X", c.value.keys); got != c.text {
			t.Errorf("printed %q, want %q", got, c.text)
		}
		r := lineReader{values: map[string]string{}}
		for _, word := range strings.Fields(c.text)[1:] {
			key, value, _ := strings.Cut(word, "=")
			r.values[key] = value
		}
		var got withOptions
		got.keys(&r)
		if r.err != nil || len(r.values) != 0 || got != c.value {
			t.Errorf("%q reads %+v, %v, left %v; want %+v", c.text, got, r.err, r.values, c.value)
		}
	}
}

func TestOptionalKeysThatStandThereAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, value, says string }{
		{"run_at", "x", `"x" is not a number`},
		{"key", "", `key "key" has no value`},
	} {
		r := lineReader{values: map[string]string{"limit": "1", c.key: c.value}}
		new(withOptions).keys(&r)
		if r.err == nil || !strings.Contains(r.err.Error(), c.says) {
			t.Errorf("%s=%s: got %v, want %q in it", c.key, c.value, r.err, c.says)
		}
	}
}
