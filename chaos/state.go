package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// state is what the driver wrote down of the database in the end, for the judge to read.
type state struct {
	Orders  []order                  `json:"orders"`
	Drained map[string]engine.Counts `json:"drained"` // by queue, when all workers had ended
	Jobs    []seenJob                `json:"jobs"`    // what Job said of some, at that time
	Rotated map[string]int           `json:"rotated"` // by ring, in the final turning
	Trouble string                   `json:"trouble"` // the error that ended the turning early
	Final   map[string]engine.Counts `json:"final"`   // by queue, after it
	Audit   []string                 `json:"audit"`   // what the engine's audit found wrong, before the turning and after it
	Rows    map[string]int64         `json:"rows"`    // left in each partitioned table, after it
}

// An order is a row of the business table.
type order struct {
	Mark string `json:"mark"`
	Job  int64  `json:"job"`
}

// seenJob is what Job said.
type seenJob struct {
	Job   int64  `json:"job"`
	State string `json:"state"` // "not_found" when its history was pruned
	Lease int64  `json:"lease"`
}

const (
	pollEvery = 25 * time.Millisecond
	lookedUp  = 200 // jobs that Job is asked about
)

// An observer reads the database for the driver.
type observer struct {
	pool *pgxpool.Pool
	eng  *engine.Engine
}

func (o observer) counts(ctx context.Context) (map[string]engine.Counts, error) {
	all := map[string]engine.Counts{}
	for _, q := range queues {
		c, err := o.eng.Counts(ctx, q)
		if err != nil {
			return nil, err
		}
		all[q] = c
	}
	return all, nil
}

// drained waits until nothing is waiting or running; false when the bound was not enough.
func (o observer) drained(ctx context.Context, within time.Duration) (bool, error) {
	deadline := time.Now().Add(within)
	for {
		all, err := o.counts(ctx)
		if err != nil {
			return false, err
		}
		var left int64
		for _, c := range all {
			left += c.Available + c.Scheduled + c.Running
		}
		if left == 0 {
			return true, nil
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		if !pause(ctx, 4*pollEvery) {
			return false, ctx.Err()
		}
	}
}

// turn rotates and prunes both rings until there is nothing left in them or the bound is reached.
func (o observer) turn(ctx context.Context, within time.Duration) (rotated map[string]int, trouble error) {
	rotated = map[string]int{"queue": 0, "claim": 0}
	for deadline := time.Now().Add(within); time.Now().Before(deadline); pause(ctx, pollEvery) {
		q, err1 := o.eng.RotateQueue(ctx)
		c, err2 := o.eng.RotateClaims(ctx)
		pc, err3 := o.eng.PruneClaims(ctx)
		pq, err4 := o.eng.PruneQueue(ctx, 0)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return rotated, err
		}
		if q.Status == engine.Rotated {
			rotated["queue"]++
		}
		if c.Status == engine.Rotated {
			rotated["claim"]++
		}
		idle := q.Status == engine.RotateSkippedIdle && c.Status == engine.RotateSkippedIdle
		if idle && pc.Status == engine.PruneNothing && pq.Status == engine.PruneNothing {
			break
		}
	}
	return rotated, nil
}

// record takes down the state: first as the workers left it, then after the final turning.
func (o observer) record(ctx context.Context, within time.Duration) (s state, err error) {
	rows, err := o.pool.Query(ctx, readOrders)
	if err != nil {
		return s, err
	}
	if s.Orders, err = pgx.CollectRows(rows, pgx.RowToStructByPos[order]); err != nil {
		return s, err
	}
	if s.Drained, err = o.counts(ctx); err != nil {
		return s, err
	}
	for _, one := range s.Orders[max(0, len(s.Orders)-lookedUp):] {
		seen := seenJob{Job: one.Job, State: "not_found"}
		j, err := o.eng.Job(ctx, one.Job)
		switch {
		case err == nil:
			seen.State, seen.Lease = string(j.State), j.RunLease
		case !errors.Is(err, engine.ErrNotFound):
			return s, err
		}
		s.Jobs = append(s.Jobs, seen)
	}
	if err := o.audit(ctx, &s); err != nil {
		return s, err
	}
	var trouble error
	if s.Rotated, trouble = o.turn(ctx, within); trouble != nil {
		s.Trouble = trouble.Error() // no fault is under way any more: it is for the judge
	}
	if s.Final, err = o.counts(ctx); err != nil {
		return s, err
	}
	if err := o.audit(ctx, &s); err != nil {
		return s, err
	}
	s.Rows, err = o.rowsLeft(ctx)
	return s, err
}

func (o observer) audit(ctx context.Context, s *state) error {
	report, err := o.eng.Audit(ctx)
	for _, v := range report.Violations() {
		s.Audit = append(s.Audit, v.String())
	}
	return err
}

// rowsLeft counts the rows of every partitioned table of the schema: those are the rings.
func (o observer) rowsLeft(ctx context.Context) (map[string]int64, error) {
	names, err := o.pool.Query(ctx, `/* chaos:dump */ SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace = $1::regnamespace`, engineSchema)
	if err != nil {
		return nil, err
	}
	tables, err := pgx.CollectRows(names, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	left := map[string]int64{}
	for _, t := range tables {
		var n int64
		q := fmt.Sprintf(`/* chaos:dump */ SELECT count(*) FROM %s`, pgx.Identifier{engineSchema, t}.Sanitize())
		if err := o.pool.QueryRow(ctx, q).Scan(&n); err != nil {
			return nil, err
		}
		left[t] = n
	}
	return left, nil
}
