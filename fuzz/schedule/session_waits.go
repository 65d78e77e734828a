package schedule

import (
	"context"
	"fmt"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/fuzz"
	"github.com/awa-engine/awa/model"
)

// waits runs what is about waits.
func (s *session) waits(ctx context.Context, action model.Action) (a Answer, err error) {
	switch op := action.(type) {
	case model.Park:
		s.now.Store(int64(op.Now))
		receipts, err := s.stage.receiptsOf([]model.AttemptID{op.Attempt})
		if err != nil {
			return a, err
		}
		parked, err := s.engine.Park(ctx, receipts[0], engine.Wait{Token: fuzz.TokenOf(receipts[0], op.Token), Timeout: seconds(op.Timeout)})
		a.Wait, err = fuzz.ParkAnswer(op.Token, parked, err)
		return a, err
	case model.Resume:
		s.now.Store(int64(op.Now))
		receipts, err := s.stage.receiptsOf([]model.AttemptID{op.Attempt})
		if err != nil {
			return a, err
		}
		status, err := s.engine.Resume(ctx, fuzz.TokenOf(receipts[0], op.Token), fuzz.PayloadOf(op.Token))
		a.Wait, err = fuzz.ResumeAnswer(status, err)
		return a, err
	case model.CallbackTimeout:
		s.now.Store(int64(op.Now))
		out, err := s.engine.CallbackTimeout(ctx, op.Limit)
		return Answer{Requeued: out.Requeued, Failed: out.Failed, Held: out.DLQ, Busy: out.Busy}, err
	case model.RotateLeases:
		s.now.Store(int64(op.Now))
		out, err := s.engine.RotateLeases(ctx)
		return Answer{Status: model.Status(out.Status)}, err
	case model.PruneLeases:
		s.now.Store(int64(op.Now))
		out, err := s.engine.PruneLeases(ctx)
		return Answer{Status: model.Status(out.Status)}, err
	}
	return a, fmt.Errorf("a session can't run %s", action)
}
