package schedule

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// auditEvery is how many schedules share an audit. It costs several times what comparing the rows with the model does, and
// judges less; what it must show here is that it finds nothing where nothing is wrong.
const auditEvery = 25

// newAuditor is one connection, which waits for nothing that a session holds: it is used when all of them are over.
func newAuditor(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 1
	return pgxpool.NewWithConfig(ctx, cfg)
}

// audit asks the engine's audit about the rows that a schedule left. nil is a verdict of innocence.
func (st *stage) audit(ctx context.Context) (*Failure, error) {
	e, err := engine.Open(ctx, st.auditor, engine.Config{Schema: st.schema})
	if err != nil {
		return nil, err
	}
	report, err := e.Audit(ctx)
	if err != nil {
		return nil, err
	}
	if err := report.Err(); err != nil {
		return &Failure{What: "the audit finds something wrong in the rows at the end", Detail: err.Error()}, nil
	}
	return nil, nil
}
