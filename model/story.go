package model

import (
	"fmt"
	"strings"
)

// Story is a run that people read: each action with its answer.
//
//  1. Claim queue=a limit=1 now=7             -> claimed=1/1/1
//  2. RescueStale older=3 limit=10 now=12     -> requeued=1 failed=0
//  3. Complete attempts=1/1 now=13            -> closed=1/1:stale
type Story []Told

// Told is one action of a story and its answer; Err when it was refused.
type Told struct {
	Action Action
	Result Result
	Err    error
}

// Tell applies an action and adds it to the story, with its answer.
func (s *Story) Tell(store Store, a Action) (Result, error) {
	r, err := Apply(store, a)
	*s = append(*s, Told{a, r, err})
	return r, err
}

// String has one numbered line for each action, the answers aligned. What stands before the arrows is a script
// that [ParseScript] reads, but for the numbers.
func (s Story) String() string {
	width := 0
	for _, told := range s {
		width = max(width, len(told.Action.String()))
	}
	var b strings.Builder
	for i, told := range s {
		fmt.Fprintf(&b, "%3d. %-*s  -> %s\n", i+1, width, told.Action, told.answer())
	}
	return b.String()
}

// answer says a refusal in its own words: they name the action and the reason.
func (t Told) answer() string {
	if t.Err != nil {
		return t.Err.Error()
	}
	return t.Result.String()
}
