package fuzz

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
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

// shrink takes operations out of a failing seed while it still fails, and makes simpler ones of what is left. rapid has
// shrunk its draws already; what is left to win is what draws hold together.
func (b *bench) shrink(ctx context.Context, lie func(doer) doer, s *Seed) (*Seed, error) {
	best := *s
	fails := func(actions []model.Action) (bool, error) {
		d, err := b.replay(ctx, lie, best.World, actions)
		if err != nil || d == nil {
			return false, err
		}
		best.Actions, best.Finding = actions[:min(len(actions), told(actions, d))], d
		return true, nil
	}
	for _, pass := range []func(*Seed, func([]model.Action) (bool, error)) error{shorten, simplify, shorten} {
		if err := pass(&best, fails); err != nil {
			return nil, err
		}
	}
	d, err := b.replay(ctx, lie, best.World, best.Actions)
	if err != nil || d == nil {
		return s, err // it doesn't fail again: keep what rapid had
	}
	best.Finding = d
	return &best, nil
}

// shorten takes operations out, in halves first, then one by one.
func shorten(best *Seed, fails func([]model.Action) (bool, error)) error {
	for size := max(len(best.Actions)/2, 1); size >= 1; {
		smaller := false
		for at := 0; at+size <= len(best.Actions); {
			failed, err := fails(without(best.Actions, at, size, true))
			if err == nil && !failed {
				failed, err = fails(without(best.Actions, at, size, false))
			}
			if err != nil {
				return err
			}
			if failed {
				smaller = true
			} else {
				at += size
			}
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return nil
}

// simplify makes enqueues in a caller's transaction ones of their own, so that the transaction can go.
func simplify(best *Seed, fails func([]model.Action) (bool, error)) error {
	for i := 0; i < len(best.Actions); i++ {
		a, inTx := best.Actions[i].(model.EnqueueTx)
		if !inTx {
			continue
		}
		simpler := slices.Clone(best.Actions)
		simpler[i] = model.Enqueue{
			Queue: a.Queue, Priority: a.Priority, Count: a.Count, Attempts: a.Attempts, RunAt: a.RunAt, Now: a.Now, Limit: a.Limit, Unique: a.Unique, Held: a.Held,
		}
		if _, err := fails(simpler); err != nil {
			return err
		}
	}
	return nil
}

// without leaves operations out. Jobs are numbered as they come: where some don't any more, the later ones may move up, in
// what is said of them as well.
func without(actions []model.Action, at, size int, moveUp bool) []model.Action {
	first, gone := 1, 0
	for i, a := range actions[:at+size] {
		if i < at {
			first += makes(a)
		} else {
			gone += makes(a)
		}
	}
	left := slices.Delete(slices.Clone(actions), at, at+size)
	for i := at; moveUp && gone > 0 && i < len(left); i++ {
		left[i] = renumbered(left[i], func(job int) int {
			if job >= first+gone {
				job -= gone
			}
			return job
		})
	}
	return left
}

// makes is how many jobs an operation makes, when nothing is in its way.
func makes(a model.Action) int {
	count, key := 0, 0
	switch a := a.(type) {
	case model.Enqueue:
		count, key = a.Count, a.Unique
	case model.EnqueueTx:
		count, key = a.Count, a.Unique
	}
	if key != 0 {
		return min(count, 1)
	}
	return count
}

// renumbered is an operation with other numbers of jobs.
func renumbered(a model.Action, number func(int) int) model.Action {
	changed := reflect.New(reflect.TypeOf(a)).Elem()
	changed.Set(reflect.ValueOf(a))
	for i := range changed.NumField() {
		switch f := changed.Field(i); v := f.Interface().(type) {
		case model.AttemptID:
			v.Job = number(v.Job)
			f.Set(reflect.ValueOf(v))
		case []model.AttemptID:
			v = slices.Clone(v)
			for k := range v {
				v[k].Job = number(v[k].Job)
			}
			f.Set(reflect.ValueOf(v))
		case []int: // Jobs, of every operation that has such a field
			v = slices.Clone(v)
			for k := range v {
				v[k] = number(v[k])
			}
			f.Set(reflect.ValueOf(v))
		case int:
			if changed.Type().Field(i).Name == "Job" {
				f.SetInt(int64(number(v)))
			}
		}
	}
	return changed.Interface().(model.Action)
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
