package linearizability

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

const (
	callLimit  = 20 * time.Second // of one call
	fenceLimit = 10 * time.Second // of finding out that a lost transaction has ended
	poolSize   = 4                // connections of a process
)

// A process stands for one: a pool of its own, on connections that can be cut, and an engine that knows nothing of the
// others. Two clients share it.
type process struct {
	name   string // its sessions' application_name
	schema string
	pool   *pgxpool.Pool
	cutter *cutter
	eng    *engine.Engine
	queue  Queue // eng, or what Config.Wrap made of it
	wrap   func(Queue) Queue
}

func startProcess(ctx context.Context, dsn, schema, name string, wrap func(Queue) Queue) (*process, error) {
	p := &process{name: name, schema: schema, cutter: &cutter{}, wrap: wrap}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = poolSize
	cfg.ConnConfig.RuntimeParams["application_name"] = name
	cfg.ConnConfig.DialFunc = p.cutter.dial
	if p.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	if p.eng, err = engine.Open(ctx, p.pool, engine.Config{Schema: schema}); err != nil {
		p.pool.Close()
		return nil, err
	}
	p.queue = p.eng
	if wrap != nil {
		p.queue = wrap(p.eng)
	}
	return p, nil
}

// sight is a transaction at work.
type sight struct {
	pid   int32
	start time.Time
}

// fence waits until every transaction that is at work in the process now has ended, and tells whether it saw that. A
// transaction whose client gave it up is one of them, if it is still there at all: its session isn't idle, since nothing
// is sent before the BEGIN was answered. From then on nothing more can come of it.
func fence(ctx context.Context, control *pgxpool.Pool, process string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fenceLimit)
	defer cancel()
	first, err := atWork(ctx, control, process)
	for now := first; err == nil; now, err = atWork(ctx, control, process) {
		if !share(first, now) {
			return true
		}
		if !pause(ctx, 2*time.Millisecond) {
			return false
		}
	}
	return false
}

func share(first, now []sight) bool {
	there := map[sight]bool{}
	for _, s := range first {
		there[s] = true
	}
	for _, s := range now {
		if there[s] {
			return true
		}
	}
	return false
}

func atWork(ctx context.Context, control *pgxpool.Pool, process string) ([]sight, error) {
	rows, err := control.Query(ctx, `/* lin:fence */
		SELECT pid, xact_start FROM pg_stat_activity WHERE application_name = $1 AND xact_start IS NOT NULL`, process)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (s sight, err error) {
		err = r.Scan(&s.pid, &s.start)
		s.start = s.start.UTC() // so that equal times compare as such
		return s, err
	})
}

// settle takes the engine at its word: only an ambiguous error leaves anything open, and that one is settled.
func (p *process) settle(ctx context.Context, err error) outcome {
	if err == nil {
		return outcomeOK
	}
	if !engine.Ambiguous(err) {
		return outcomeNotDone
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fenceLimit)
	defer cancel()
	switch committed, err := p.eng.Settle(ctx, err); {
	case err != nil:
		return outcomeUnknown
	case committed:
		return outcomeCommitted
	}
	return outcomeAborted
}

// commitOutcome is what a caller knows of the commit of a transaction of its own.
func commitOutcome(err error) outcome {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return outcomeOK
	case errors.Is(err, pgx.ErrTxCommitRollback), errors.Is(err, pgx.ErrTxClosed), pgconn.SafeToRetry(err):
		return outcomeNotDone
	case errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57") && !strings.HasPrefix(pg.Code, "08"):
		return outcomeNotDone
	}
	return outcomeUnknown
}

// codeOf is the SQLSTATE of an error, or its family where the judge looks at that.
func codeOf(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		return "corrupt"
	case errors.Is(err, engine.ErrInvalid):
		return "invalid"
	case errors.As(err, &pg):
		return pg.Code
	}
	return ""
}

// pause waits; false when ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
