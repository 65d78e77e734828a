package linearizability

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

const (
	promoteEvery = 50 * time.Millisecond
	sweepMost    = 100 // attempts of one rescue, jobs of one promotion
)

// A duty is what one maintenance goroutine does, again and again.
type duty struct {
	every time.Duration
	do    func(context.Context, *process, int)
}

// duties are all of maintenance. Two leaders rescue; one turns the rings, so that what it dumps before a prune is what
// the prune takes.
func (r *run) duties() []duty {
	return []duty{
		{r.cfg.TurnEvery, r.turn},
		{r.cfg.RescueEvery, r.rescue},
		{r.cfg.RescueEvery, r.rescue},
		{promoteEvery, r.promote},
	}
}

// maintain does a duty until stop is done.
func (r *run) maintain(ctx, stop context.Context, p *process, id int, d duty) {
	ticker := time.NewTicker(d.every)
	defer ticker.Stop()
	for {
		select {
		case <-stop.Done():
			return
		case <-ticker.C:
			d.do(ctx, p, id)
		}
	}
}

// oneDuty makes a call of maintenance, which nothing disturbs: an error of it is a finding.
func (r *run) oneDuty(ctx context.Context, p *process, id int, as op, act func(context.Context, *call) error) *call {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return r.finish(ctx, p, &call{Client: id, Op: as}, act)
}

func (r *run) rescue(ctx context.Context, p *process, id int) {
	r.oneDuty(ctx, p, id, opRescue, func(ctx context.Context, one *call) error {
		out, err := p.eng.RescueStale(ctx, r.cfg.StaleAfter, sweepMost)
		one.Requeued, one.Failed = out.Requeued, out.Failed
		return err
	})
}

func (r *run) promote(ctx context.Context, p *process, id int) {
	r.oneDuty(ctx, p, id, opPromote, func(ctx context.Context, one *call) (err error) {
		one.Limit = sweepMost
		one.Promoted, err = p.eng.Promote(ctx, sweepMost)
		return err
	})
}

// turn moves both rings on and prunes one slot of each. What a prune takes away is written down first.
func (r *run) turn(ctx context.Context, p *process, id int) {
	r.oneDuty(ctx, p, id, opRotateQueue, func(ctx context.Context, one *call) error {
		out, err := p.eng.RotateQueue(ctx)
		one.Status = string(out.Status)
		return err
	})
	r.oneDuty(ctx, p, id, opRotateClaims, func(ctx context.Context, one *call) error {
		out, err := p.eng.RotateClaims(ctx)
		one.Status = string(out.Status)
		return err
	})
	claims, err := r.dumpClaims(ctx, r.oldestSealed("claim"))
	r.keep(err)
	if one := r.oneDuty(ctx, p, id, opPruneClaims, func(ctx context.Context, one *call) error {
		out, err := p.eng.PruneClaims(ctx)
		one.Status = string(out.Status)
		return err
	}); one.Status == string(engine.Pruned) {
		r.rec.write(line{Claims: claims})
	}
	rows, err := r.dumpRows(ctx, r.oldestSealed("queue"))
	r.keep(err)
	if one := r.oneDuty(ctx, p, id, opPruneQueue, func(ctx context.Context, one *call) error {
		out, err := p.eng.PruneQueue(ctx, 0)
		one.Status = string(out.Status)
		return err
	}); one.Status == string(engine.Pruned) {
		r.rec.write(line{Rows: rows})
	}
}

// oldestSealed is a condition on a ring's rows: those of the generation that a prune would take next.
func (r *run) oldestSealed(ring string) string {
	return fmt.Sprintf(`(SELECT o.generation FROM (SELECT coalesce(max(generation) + 1, 0) AS generation FROM %[1]s.%[2]s_ring_prunes) o
		WHERE o.generation < (SELECT max(generation) FROM %[1]s.%[2]s_ring_rotations))`, r.quoted, ring)
}

// all is the same for every row.
const all = `NULL`

// dumpRows reads ready rows of one generation, or of all.
func (r *run) dumpRows(ctx context.Context, generation string) ([]row, error) {
	rows, err := r.control.Query(ctx, fmt.Sprintf(`/* lin:dump */
		SELECT e.job_id, e.run_lease, l.queue, l.priority, e.lane_seq, coalesce(e.args->>'mark', '')
		  FROM %[1]s.ready_entries e JOIN %[1]s.lanes l USING (lane_id)
		 WHERE %[3]t OR e.ready_generation = %[2]s
		 ORDER BY l.lane_id, e.lane_seq`, r.quoted, generation, generation == all))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(from pgx.CollectableRow) (one row, err error) {
		err = from.Scan(&one.Job, &one.Lease, &one.Queue, &one.Priority, &one.Seq, &one.Mark)
		return one, err
	})
}

// dumpClaims reads claim records of one generation, or of all, with the closures of each.
func (r *run) dumpClaims(ctx context.Context, generation string) ([]handed, error) {
	rows, err := r.control.Query(ctx, fmt.Sprintf(`/* lin:dump */
		SELECT a.job_id, a.run_lease, coalesce(
		       (SELECT string_agg(c.outcome, '+') FROM %[1]s.lease_claim_closure_batches c
		         WHERE c.claim_slot = b.claim_slot AND c.batch_id = b.batch_id
		           AND c.receipt_ranges @> lower(b.receipt_ranges) + a.place - 1), '')
		  FROM %[1]s.lease_claim_batches b
		 CROSS JOIN LATERAL unnest(b.job_ids, b.run_leases) WITH ORDINALITY AS a(job_id, run_lease, place)
		 WHERE %[3]t OR b.claim_generation = %[2]s`, r.quoted, generation, generation == all))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(from pgx.CollectableRow) (one handed, err error) {
		err = from.Scan(&one.Job, &one.Lease, &one.Outcome)
		return one, err
	})
}
