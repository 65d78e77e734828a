package fuzz

import (
	"context"
	"errors"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/model"
)

// read asks what a reader may ask about a queue or a job.
func (s *system) read(ctx context.Context, e *engine.Engine, a model.Action) (any, error) {
	switch a := a.(type) {
	case model.CountsOf:
		c, err := e.Counts(ctx, a.Queue)
		return ModelCounts(c), err
	case model.JobOf:
		j, err := e.Job(ctx, s.jobs[a.Job-1])
		if errors.Is(err, engine.ErrNotFound) {
			return model.JobView{State: model.JobNotFound}, nil
		}
		return view(j), err
	case model.JobAttempts:
		records, err := e.JobAttempts(ctx, s.jobs[a.Job-1])
		return history(records), err
	}
	return s.operate(ctx, e, a)
}

// history is a job's attempts in the model's words.
func history(records []engine.AttemptRecord) model.AttemptHistory {
	var h model.AttemptHistory
	for _, r := range records {
		h.Attempts = append(h.Attempts, model.PastAttempt{Lease: int(r.RunLease), Attempt: r.Attempt, Outcome: outcomes[r.Outcome].String()})
	}
	return h
}

func view(j engine.Job) model.JobView {
	return model.JobView{State: model.JobState(j.State), Lease: int(j.RunLease), Attempt: j.Attempt, Timeout: deadline(j.TimeoutAt)}
}
