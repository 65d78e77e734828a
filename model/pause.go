package model

import (
	"fmt"
	"slices"
)

// What an operator says of a queue.

func (a PauseQueue) apply(s Store) (Result, error) { return setPaused(s, a, a.Queue, true) }

func (a ResumeQueue) apply(s Store) (Result, error) { return setPaused(s, a, a.Queue, false) }

// setPaused says it whether it was so or not.
func setPaused(s Store, a Action, queue string, paused bool) (Result, error) {
	q := slices.Index(s.Config().Queues, queue)
	if q < 0 {
		return nil, disabled(a, "no such queue")
	}
	v := s.Vars()
	v.Paused = v.Paused&^(1<<q) | one(paused)<<q
	s.SetVars(v)
	return OK{}, nil
}

// claimsPaused: a claim of a queue that is paused.
func claimsPaused(p Step) bool {
	a, ok := p.Action.(Claim)
	return ok && p.Pre.Vars().Pauses(p.Pre.Config(), a.Queue)
}

// P3: a paused queue hands nothing out.
func pauseHandsNothingOut(p Step) error {
	if claimed, ok := p.Result.(Claimed); ok && claimsPaused(p) && len(claimed.Handouts) > 0 {
		return fmt.Errorf("the queue is paused, but %s was handed out", claimed)
	}
	return nil
}
