package fuzz

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"pgregory.net/rapid"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/model"
)

// Waits: how they are drawn, and run on the engine.

// drawWait draws what is about waits, or has no arguments.
func (g *generator) drawWait(t *rapid.T, s model.Store, name string) model.Action {
	switch name {
	case "Park":
		return g.drawPark(t, s)
	case "Resume":
		return g.drawResume(t, s)
	case "CallbackTimeout":
		return model.CallbackTimeout{Limit: rapid.IntRange(1, 4).Draw(t, "limit"), Now: g.now}
	case "RotateLeases":
		return model.RotateLeases{Now: g.now}
	case "PruneLeases":
		return model.PruneLeases{Now: g.now}
	}
	return alike[name]
}

// drawToken draws one of the few tokens of an attempt.
func (g *generator) drawToken(t *rapid.T) int { return rapid.IntRange(1, 3).Draw(t, "token") }

// drawPark draws an attempt that is open, mostly, and now and then one that waits already.
func (g *generator) drawPark(t *rapid.T, s model.Store) model.Action {
	a := model.Park{Attempt: g.drawAttempts(t, s)[0], Token: g.drawToken(t), Timeout: pick(t, "timeout", []int{0, 1, 2, 5}), Now: g.now}
	if waits := s.Leases(); len(waits) > 0 && pick(t, "again", []bool{false, false, false, true}) {
		a.Attempt = pick(t, "wait", waits).ID()
	}
	for _, told := range s.AttemptStates() {
		if told.Early != 0 && rapid.Bool().Draw(t, "early") {
			a.Attempt, a.Token = told.ID(), bits.TrailingZeros(uint(told.Early))
			break
		}
	}
	return a
}

// drawResume draws the callback that somebody waits for, mostly; or any other one of any attempt.
func (g *generator) drawResume(t *rapid.T, s model.Store) model.Action {
	if waits := s.Leases(); len(waits) > 0 && rapid.IntRange(0, 2).Draw(t, "awaited") > 0 {
		l := pick(t, "wait", waits)
		return model.Resume{Attempt: l.ID(), Token: l.Token, Now: g.now}
	}
	for _, told := range s.AttemptStates() {
		if told.Callback != 0 && rapid.Bool().Draw(t, "again") {
			return model.Resume{Attempt: told.ID(), Token: told.Callback, Now: g.now}
		}
	}
	return model.Resume{Attempt: g.drawAttempts(t, s)[0], Token: g.drawToken(t), Now: g.now}
}

func hasEarly(s model.Store) bool {
	return slices.ContainsFunc(s.AttemptStates(), func(a model.AttemptRow) bool { return a.Early != 0 })
}

// wait runs an operation on waits; ours is false for any other.
func (s *system) wait(ctx context.Context, e *engine.Engine, a model.Action) (answer any, ours bool, err error) {
	switch a := a.(type) {
	case model.Park:
		s.at(a.Now)
		r := s.receipts[a.Attempt]
		parked, err := e.Park(ctx, r, engine.Wait{Token: TokenOf(r, a.Token), Timeout: seconds(a.Timeout)})
		answer, err := ParkAnswer(a.Token, parked, err)
		return answer, true, err
	case model.Resume:
		s.at(a.Now)
		status, err := e.Resume(ctx, TokenOf(s.receipts[a.Attempt], a.Token), PayloadOf(a.Token))
		answer, err := ResumeAnswer(status, err)
		return answer, true, err
	case model.CallbackTimeout:
		s.at(a.Now)
		out, err := e.CallbackTimeout(ctx, a.Limit)
		return rescued(out), true, err
	case model.RotateLeases:
		s.at(a.Now)
		out, err := e.RotateLeases(ctx)
		return model.Status(out.Status), true, err
	case model.PruneLeases:
		s.at(a.Now)
		out, err := e.PruneLeases(ctx)
		return model.Status(out.Status), true, err
	}
	return nil, false, nil
}

// ParkAnswer tells the answer of a Park in the model's words; what was delivered must be the token's own callback.
func ParkAnswer(token int, p engine.Parked, err error) (model.WaitAnswer, error) {
	switch {
	case engine.Stale(err):
		return model.WaitStale, nil
	case errors.Is(err, engine.ErrWrongState):
		return model.WaitsAlready, nil
	case err != nil:
		return "", err
	case !p.Delivered:
		return model.Parked, nil
	}
	if string(p.Payload) != string(PayloadOf(token)) {
		return "", fmt.Errorf("the callback of token %d was delivered as %s", token, p.Payload)
	}
	return model.Delivered, nil
}

// ResumeAnswer tells the answer of a Resume in the model's words.
func ResumeAnswer(status engine.ResumeStatus, err error) (model.WaitAnswer, error) {
	if engine.Stale(err) {
		return model.WaitStale, nil
	}
	return model.WaitAnswer(status), err
}

// rescued is a sweep's answer in the model's terms.
func rescued(out engine.RescueOutcome) model.RescuedCount {
	return model.RescuedCount{Requeued: out.Requeued, Failed: out.Failed, DLQ: out.DLQ, Busy: out.Busy}
}
