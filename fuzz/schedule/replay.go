package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/awa-engine/awa/pgtest"
)

// A follower lets statements go as a seed says. A turn whose session can't go, since it waits or is over, is left out;
// when the turns are used up, each session goes on to its end.
type follower struct {
	turns []Turn
	names map[string]int
}

func follow(s *Seed) *follower {
	f := &follower{turns: slices.Clone(s.Schedule), names: map[string]int{}}
	for i, script := range s.Scenario.Sessions {
		f.names[script.Name] = i
	}
	return f
}

func (f *follower) choose(_ int, at []candidate, last int) (int, error) {
	for len(f.turns) > 0 {
		turn := &f.turns[0]
		i, known := f.names[turn.Session]
		if known && turn.Statements > 0 && slices.ContainsFunc(at, func(c candidate) bool { return c.session == i }) {
			turn.Statements--
			return i, nil
		}
		f.turns = f.turns[1:]
	}
	return byDefault(at, last), nil
}

func (f *follower) took(Step) {}

// Replayed is what came of a seed.
type Replayed struct {
	Failure *Failure // nil when it passes now
	Story   string   // in columns
}

// Replay runs a seed again. An error means that it could not run.
func Replay(ctx context.Context, server *pgtest.Server, database string, s *Seed) (_ *Replayed, err error) {
	st, err := newStage(ctx, server, database, s.Scenario)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.close(context.WithoutCancel(ctx))) }()
	r, _, err := st.replay(ctx, s)
	return r, err
}

// replays bounds how often a run is repeated since it prepared statements: each connection prepares each once.
const replays = 20

func (st *stage) replay(ctx context.Context, s *Seed) (*Replayed, *Outcome, error) {
	for range replays {
		o, err := st.perform(ctx, s.Fire, follow(s))
		if err != nil {
			return nil, nil, err
		}
		if o.prepared && o.Failure == nil {
			continue
		}
		why := o.Failure
		if why == nil {
			if why, err = st.judgeRun(ctx, o); err != nil {
				return nil, nil, err
			}
		}
		if why == nil {
			if why, err = st.audit(ctx); err != nil {
				return nil, nil, err
			}
		}
		return &Replayed{Failure: why, Story: st.story(o)}, o, nil
	}
	return nil, nil, fmt.Errorf("each of %d runs prepared statements under way", replays)
}
