package linearizability

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// readMost is how many jobs are read in the end.
const readMost = 2_000

// run is one plan being carried out.
type run struct {
	cfg     Config
	schema  string
	quoted  string
	control *pgxpool.Pool // for what only looks: the fence, the dumps
	rec     *recorder
	board   *board
	calls   atomic.Int64

	mu  sync.Mutex
	err error // the first that kept the run from its end
}

// Run carries out the plan and judges the history. A finding is no error: the verdict says it, and names the folder that
// was kept. Errors: ErrTooLittle; ctx's; what else kept the run from its end.
func Run(ctx context.Context, cfg Config) (Verdict, error) {
	plan, err := cfg.Plan.withDefaults()
	if err != nil {
		return Verdict{}, err
	}
	cfg.Plan = plan
	ours := cfg.Dir == ""
	if ours {
		cfg.Dir, err = os.MkdirTemp("", "awa-lin-")
	} else {
		err = os.MkdirAll(cfg.Dir, 0o755)
	}
	if err != nil {
		return Verdict{}, err
	}
	if err := record(ctx, cfg); err != nil {
		if ours {
			err = errors.Join(err, os.RemoveAll(cfg.Dir)) // a history without its end is evidence of nothing
		}
		return Verdict{}, fmt.Errorf("linearizability: seed %d: %w", plan.Seed, err)
	}
	v, err := judgeFile(cfg.Dir, cfg.Picture)
	if err == nil && v.OK && ours {
		err, v.Dir = os.RemoveAll(cfg.Dir), ""
	}
	return v, err
}

// record makes the history.
func record(ctx context.Context, cfg Config) (err error) {
	engineConfig := engine.Config{QueueSlots: cfg.QueueSlots, ClaimSlots: cfg.ClaimSlots}
	schemas, err := cfg.Server.NewSchemas(ctx, func(ctx context.Context, pool *pgxpool.Pool, schema string) error {
		own := engineConfig
		own.Schema = schema
		return engine.Migrate(ctx, pool, own)
	}, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, schemas.Close()) }()
	schema, _, err := schemas.Take(ctx)
	if err != nil {
		return err
	}
	control, err := cfg.Server.Pool(ctx, 8)
	if err != nil {
		return err
	}
	defer control.Close()
	rec, err := openRecorder(cfg.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.close()) }()
	r := &run{
		cfg: cfg, schema: schema, quoted: pgx.Identifier{schema}.Sanitize(), control: control, rec: rec, board: newBoard(),
	}
	rec.write(line{Run: &runFacts{cfg.Plan, cfg.Server.Describe()}})
	return r.all(ctx)
}

// all runs clients and maintenance, drains, and takes down the end. No goroutine outlives it.
func (r *run) all(ctx context.Context) error {
	clients, err := r.processes(ctx, "client", (r.cfg.Clients+1)/2, r.cfg.Wrap)
	defer closeAll(clients)
	if err != nil {
		return err
	}
	leaders, err := r.processes(ctx, "leader", 2, nil)
	defer closeAll(leaders)
	if err != nil {
		return err
	}
	for _, q := range queues {
		if err := leaders[0].eng.RegisterQueue(ctx, q); err != nil {
			return err
		}
	}
	stop, stopMaintenance := context.WithCancel(ctx)
	defer stopMaintenance()
	var maintenance sync.WaitGroup
	for i, d := range r.duties() {
		maintenance.Go(func() { r.maintain(ctx, stop, leaders[i%len(leaders)], r.cfg.Clients+i, d) })
	}
	drained := r.load(ctx, clients, leaders[0].eng)
	stopMaintenance()
	maintenance.Wait()
	if err := errors.Join(r.err, ctx.Err()); err != nil {
		return err
	}
	return r.end(ctx, leaders[0], drained)
}

func (r *run) processes(ctx context.Context, kind string, n int, wrap func(Queue) Queue) (all []*process, err error) {
	for i := range n {
		p, err := startProcess(ctx, r.cfg.Server.DSN(), r.schema, fmt.Sprintf("lin %s %s-%d", r.schema, kind, i), wrap)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

func closeAll(all []*process) {
	for _, p := range all {
		p.pool.Close()
	}
}

// load lets the clients work and drain, and waits for them.
func (r *run) load(ctx context.Context, on []*process, eng *engine.Engine) (drained bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	enough, stop := context.WithCancel(ctx)
	defer stop()
	var clients sync.WaitGroup
	calm := newRest(r.cfg.Clients)
	for i := range r.cfg.Clients {
		share := r.cfg.Ops / r.cfg.Clients
		if i < r.cfg.Ops%r.cfg.Clients {
			share++
		}
		clients.Go(func() {
			if err := r.newClient(i, on[i/2]).work(ctx, enough, share, calm); err != nil {
				r.keep(err)
				cancel()
			}
		})
	}
	drained = r.drained(ctx, eng)
	stop()
	clients.Wait()
	return drained
}

// drained waits until the clients have made their calls and nothing is left to do; false when that took too long.
func (r *run) drained(ctx context.Context, eng *engine.Engine) bool {
	for r.calls.Load() < int64(r.cfg.Ops) {
		if !pause(ctx, 20*time.Millisecond) {
			return false
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.DrainWithin)
	defer cancel()
	for {
		left := int64(0)
		for _, q := range queues {
			c, err := eng.Counts(ctx, q)
			if err != nil {
				return false // too late, or ended
			}
			left += c.Available + c.Scheduled + c.Running
		}
		if left == 0 {
			return true
		}
		if !pause(ctx, 50*time.Millisecond) {
			return false
		}
	}
}

// told counts a call of the plan's.
func (r *run) told() {
	n := int(r.calls.Add(1))
	if r.cfg.Progress != nil {
		r.cfg.Progress(n)
	}
}

// keep keeps the first error.
func (r *run) keep(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// end takes down what the database says when everything stands still: each job that isn't known to be over, as an
// ordinary call, the rows, and the counts.
func (r *run) end(ctx context.Context, p *process, drained bool) error {
	live := slices.Sorted(maps.Keys(r.board.live))
	unread := max(0, len(live)-readMost)
	for _, id := range live[:len(live)-unread] {
		r.oneDuty(ctx, p, r.cfg.Clients, opJob, func(ctx context.Context, one *call) error { return see(ctx, p.eng, id, one) })
	}
	rows, err := r.dumpRows(ctx, all)
	if err != nil {
		return err
	}
	claims, err := r.dumpClaims(ctx, all)
	if err != nil {
		return err
	}
	end := ending{Drained: drained, Unread: unread, Counts: map[string]counts{}}
	for _, q := range queues {
		c, err := p.eng.Counts(ctx, q)
		if err != nil {
			return err
		}
		end.Counts[q] = counts(c)
	}
	report, err := p.eng.Audit(ctx)
	if err != nil {
		return err
	}
	for _, v := range report.Violations() {
		end.Audit = append(end.Audit, v.String())
	}
	end.At = r.rec.now()
	r.rec.write(line{Rows: rows})
	r.rec.write(line{Claims: claims})
	r.rec.write(line{End: &end})
	return nil
}

// pictureFile names a picture beside the history.
func pictureFile(dir string, id int64) string {
	return filepath.Join(dir, fmt.Sprintf("job-%d.html", id))
}
