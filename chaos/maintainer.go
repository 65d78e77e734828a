package chaos

import (
	"context"
	"time"
)

const (
	tick         = 200 * time.Millisecond
	rescueBudget = 1000
	promoteLimit = 1000
)

// maintain is a maintenance leader; there are two of them, which is one more than there should be.
func (w *worker) maintain() error {
	for pause(w.stop, tick) {
		for _, one := range w.duties() {
			if _, err := w.call(one.begin, one.act); err != nil {
				return err
			}
		}
	}
	return nil
}

// A duty is one call of a maintenance tick.
type duty struct {
	begin line
	act   func(context.Context, *line) error
}

// duties are those of one tick: rescue before prune, prune before rotate.
func (w *worker) duties() []duty {
	return []duty{
		{line{Op: opPromote, Count: promoteLimit}, func(ctx context.Context, end *line) (err error) {
			end.Count, err = w.eng.Promote(ctx, promoteLimit)
			return err
		}},
		{line{Op: opRescue, Count: rescueBudget}, func(ctx context.Context, end *line) error {
			out, err := w.eng.RescueStale(ctx, w.spec.StaleAfter, rescueBudget)
			end.Requeued, end.Failed = out.Requeued, out.Failed // of the slots before an error
			return err
		}},
		{line{Op: opPruneClaim}, func(ctx context.Context, end *line) error {
			out, err := w.eng.PruneClaims(ctx)
			end.Status = string(out.Status)
			return err
		}},
		{line{Op: opPruneQueue}, func(ctx context.Context, end *line) error {
			out, err := w.eng.PruneQueue(ctx, 0)
			end.Status = string(out.Status)
			return err
		}},
		{line{Op: opRotateClaim}, func(ctx context.Context, end *line) error {
			out, err := w.eng.RotateClaims(ctx)
			end.Status = string(out.Status)
			return err
		}},
		{line{Op: opRotateQueue}, func(ctx context.Context, end *line) error {
			out, err := w.eng.RotateQueue(ctx)
			end.Status = string(out.Status)
			return err
		}},
	}
}
