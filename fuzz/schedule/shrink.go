package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/awa-engine/awa/pgtest"
)

// shrinkBudget is how long a smaller scenario is searched for a schedule that fails.
const shrinkBudget = 8 * time.Second

// A shrinker makes a failing seed smaller: fewer sessions, fewer operations, fewer turns.
type shrinker struct {
	server   *pgtest.Server
	database string
	best     *Seed
	tell     func(string)
}

// Shrink returns the smallest seed found that fails in the same way, and nil when the seed doesn't fail. What goes is
// told while it works.
func Shrink(ctx context.Context, server *pgtest.Server, database string, s *Seed, tell func(string)) (*Seed, error) {
	r, err := Replay(ctx, server, database, s)
	if err != nil || r.Failure == nil {
		return nil, err
	}
	best := *s
	best.Found = r.Failure.What
	sh := &shrinker{server: server, database: database, best: &best, tell: tell}
	if err := sh.sessions(ctx); err != nil {
		return nil, err
	}
	if err := sh.operations(ctx); err != nil {
		return nil, err
	}
	if err := sh.preemptions(ctx); err != nil {
		return nil, err
	}
	return sh.best, sh.turns(ctx)
}

// accept keeps a smaller scenario when one of its schedules fails. A scenario that can't be set up is none.
func (sh *shrinker) accept(ctx context.Context, sc *Scenario, mode Mode, what string) (bool, error) {
	sc.LockTimeout, sc.Expect = []bool{sh.best.Fire}, nil
	r, err := Explore(ctx, sh.server, sh.database, sc, Options{Mode: &mode, Budget: shrinkBudget})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil || r.Failure == nil || r.Failure.Found != sh.best.Found {
		return false, nil // an operation whose ground is gone isn't a failure of this search
	}
	sh.best = r.Failure
	sh.tell(what)
	return true, nil
}

func (sh *shrinker) sessions(ctx context.Context) error {
	for i := 0; i < len(sh.best.Scenario.Sessions) && len(sh.best.Scenario.Sessions) > 1; {
		sc := sh.best.Scenario.clone()
		name := sc.Sessions[i].Name
		sc.Sessions = slices.Delete(sc.Sessions, i, i+1)
		gone, err := sh.accept(ctx, sc, Mode{Kind: Reduced}, "without session "+name)
		if err != nil {
			return err
		}
		if !gone {
			i++
		}
	}
	return nil
}

func (sh *shrinker) operations(ctx context.Context) error {
	for list := -1; list < len(sh.best.Scenario.Sessions); list++ {
		for i := 0; ; {
			sc := sh.best.Scenario.clone()
			ops := &sc.Setup
			if list >= 0 {
				ops = &sc.Sessions[list].Ops
			}
			if i >= len(*ops) || list >= 0 && len(*ops) == 1 {
				break
			}
			op := (*ops)[i]
			*ops = slices.Delete(*ops, i, i+1)
			gone, err := sh.accept(ctx, sc, Mode{Kind: Reduced}, "without "+op.String())
			if err != nil {
				return err
			}
			if !gone {
				i++
			}
		}
	}
	return nil
}

// preemptions looks for a schedule with fewer of them, from none on.
func (sh *shrinker) preemptions(ctx context.Context) error {
	for n := range len(sh.best.Schedule) {
		found, err := sh.accept(ctx, sh.best.Scenario.clone(), Mode{Kind: Bounded, Preemptions: n}, fmt.Sprintf("with %d preemptions", n))
		if found || err != nil {
			return err
		}
	}
	return nil
}

// turns leaves out turns: from the end, where sessions go on by themselves, then one by one.
func (sh *shrinker) turns(ctx context.Context) (err error) {
	st, err := newStage(ctx, sh.server, sh.database, sh.best.Scenario)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close(context.WithoutCancel(ctx))) }()
	for i := len(sh.best.Schedule) - 1; i >= 0; i-- {
		fewer := *sh.best
		fewer.Schedule = slices.Delete(slices.Clone(sh.best.Schedule), i, i+1)
		r, _, err := st.replay(ctx, &fewer)
		if err != nil {
			return err
		}
		if r.Failure != nil && r.Failure.What == sh.best.Found {
			sh.best = &fewer
			sh.tell(fmt.Sprintf("without turn %d", i+1))
		}
	}
	return nil
}
