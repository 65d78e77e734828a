package fuzz

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/awa-engine/awa/model"
	"github.com/awa-engine/awa/pgtest"
)

// Replay runs a seed again. It returns the finding, nil when engine and model agree now; an error means that it could
// not run. Operations that the story has no place for (an attempt that isn't there) are passed over.
func Replay(ctx context.Context, server *pgtest.Server, s *Seed) (*Difference, error) {
	b, err := newBench(ctx, server, fmt.Sprintf("replay_%x", rand.Uint32()))
	if err != nil {
		return nil, err
	}
	d, err := b.replay(ctx, nil, s.World, s.Actions)
	return d, errors.Join(err, b.close(context.WithoutCancel(ctx)))
}

func (b *bench) replay(ctx context.Context, lie func(doer) doer, w World, actions []model.Action) (*Difference, error) {
	r, err := b.start(ctx, w)
	if err != nil {
		return nil, err
	}
	if lie != nil {
		r.doer = lie(r.system)
	}
	defer r.system.close(context.WithoutCancel(ctx))
	var d *Difference
	for _, a := range actions {
		_, err := r.step(ctx, a)
		if errors.As(err, &d) {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.finish(ctx); !errors.As(err, &d) {
		return nil, err
	}
	return d, nil
}

// shrink takes operations out of a failing seed while it still fails, in halves first, then one by one. rapid has shrunk
// its draws already; what is left to win is what draws hold together.
func (b *bench) shrink(ctx context.Context, lie func(doer) doer, s *Seed) (*Seed, error) {
	best := *s
	for size := len(best.Actions) / 2; size >= 1; {
		smaller := false
		for at := 0; at+size <= len(best.Actions); {
			fewer := slices.Delete(slices.Clone(best.Actions), at, at+size)
			d, err := b.replay(ctx, lie, best.World, fewer)
			if err != nil {
				return nil, err
			}
			if d == nil {
				at += size
				continue
			}
			best.Actions, best.Finding, smaller = fewer[:min(len(fewer), told(fewer, d))], d, true
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	d, err := b.replay(ctx, lie, best.World, best.Actions)
	if err != nil || d == nil {
		return s, err // it doesn't fail again: keep what rapid had
	}
	best.Finding = d
	return &best, nil
}

// told is how many of the actions it took to fail: the ones behind the failing step don't matter.
func told(actions []model.Action, d *Difference) int {
	last := d.Story[len(d.Story)-1].Action.String()
	for i := len(actions) - 1; i >= 0; i-- {
		if actions[i].String() == last {
			return i + 1
		}
	}
	return len(actions)
}
