package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// queues are the two that jobs go to. The second holds its failed jobs in the DLQ.
var queues = []string{"mail", "invoices"}

// Config is a plan, and who hears of it.
type Config struct {
	Plan
	// Progress, when set, hears each second how long the load has lasted, and what it did.
	Progress func(load time.Duration, closed int64)
}

// run is one load under way.
type run struct {
	plan  Plan
	pool  *pgxpool.Pool
	eng   *engine.Engine
	facts *facts
}

// schemaName is the schema of the load, on a server of its own.
const schemaName = "awa"

// Run carries out the plan on a private server whose settings are its defaults, and judges what that leaves. A finding is
// no error: the report says it. Errors: ctx's; a plan that makes no sense; what keeps the load from its end.
func Run(ctx context.Context, cfg Config) (_ Report, err error) {
	plan, err := cfg.withDefaults()
	if err != nil {
		return Report{}, fmt.Errorf("soak: %w", err)
	}
	server, err := start(ctx)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	ev, err := load(ctx, server, plan, cfg.Progress)
	if err != nil {
		return Report{}, fmt.Errorf("soak: seed %d: %w", plan.Seed, err)
	}
	return judge(ev), nil
}

// start is a server with PostgreSQL's own settings, and its statistics of statements where they are installed.
func start(ctx context.Context) (*pgtest.Server, error) {
	opts := pgtest.Options{Local: true, Durable: true, Settings: map[string]string{"shared_preload_libraries": statistics}}
	server, err := pgtest.Start(ctx, opts)
	if errors.Is(err, pgtest.ErrStart) && ctx.Err() == nil {
		opts.Settings = nil
		server, err = pgtest.Start(ctx, opts)
	}
	return server, err
}

// load runs clients and maintenance, lets all of it drain, and takes down what is left.
func load(ctx context.Context, server *pgtest.Server, plan Plan, progress func(time.Duration, int64)) (ev evidence, err error) {
	watching, err := server.Pool(ctx, 2)
	if err != nil {
		return ev, err
	}
	defer watching.Close()
	pool, err := server.Pool(ctx, 2*plan.Clients+8)
	if err != nil {
		return ev, err
	}
	defer pool.Close()
	r := &run{plan: plan, pool: pool, facts: &facts{did: map[string]int64{}}}
	if err := r.open(ctx); err != nil {
		return ev, err
	}
	w, err := openWatcher(ctx, watching, schemaName)
	if err != nil {
		return ev, err
	}
	release := func(context.Context) error { return nil }
	if plan.Pinned {
		if release, err = pin(ctx, server.DSN()); err != nil {
			return ev, err
		}
	}
	ev, err = r.all(ctx, w, progress)
	if err = errors.Join(err, release(context.WithoutCancel(ctx))); err != nil {
		return ev, err
	}
	pool.Close()
	return r.settle(ctx, w, ev)
}

func (r *run) open(ctx context.Context) (err error) {
	cfg := engine.Config{Schema: schemaName}
	if err := engine.Migrate(ctx, r.pool, cfg); err != nil {
		return err
	}
	if r.eng, err = engine.Open(ctx, r.pool, cfg); err != nil {
		return err
	}
	for _, queue := range queues {
		if err := r.eng.RegisterQueue(ctx, queue); err != nil {
			return err
		}
	}
	return r.eng.SetDLQ(ctx, queues[1], true)
}

// all is the load and its drain. No goroutine outlives it.
func (r *run) all(ctx context.Context, w *watcher, progress func(time.Duration, int64)) (ev evidence, err error) {
	upkeep, stopUpkeep := context.WithCancel(ctx)
	var maintenance, clients sync.WaitGroup
	defer func() { stopUpkeep(); maintenance.Wait() }()
	for _, d := range r.duties() {
		maintenance.Go(func() { r.keepUp(ctx, upkeep, d) })
	}
	stop, stopLoad := context.WithTimeout(ctx, r.plan.Duration)
	defer func() { stopLoad(); clients.Wait() }()
	all := make([]*client, r.plan.Clients)
	for i := range all {
		all[i] = &client{run: r, rng: rand.New(rand.NewPCG(r.plan.Seed, uint64(i)))}
		clients.Go(func() { all[i].live(ctx, stop) })
	}
	clients.Go(func() { r.keepUp(ctx, stop, duty{operatorEvery, r.operate}) })
	if ev.samples, err = r.watch(ctx, stop, w, progress); err != nil {
		return ev, err
	}
	clients.Wait()
	ev.plan = r.plan
	ev.drained, err = r.drain(ctx, all)
	return ev, err
}

// watch takes a sample at once, each second, and at the load's end.
func (r *run) watch(ctx, stop context.Context, w *watcher, progress func(time.Duration, int64)) (samples []sample, err error) {
	began := time.Now()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for over := false; ; {
		s, err := w.look(ctx)
		if err != nil {
			return nil, err
		}
		s.at, s.closed, s.handed = time.Since(began), r.facts.get("closed"), r.facts.get("handed")
		samples = append(samples, s)
		if progress != nil {
			progress(s.at, s.closed)
		}
		if over {
			return samples, nil
		}
		select {
		case <-stop.Done():
			over = true
		case <-ticker.C:
		}
	}
}

// drain claims and closes until nothing waits and nothing runs. The clients bring the callbacks that they owe.
func (r *run) drain(ctx context.Context, all []*client) (drained bool, err error) {
	until := time.Now().Add(drainLimit)
	ticker := time.NewTicker(promoteEvery)
	defer ticker.Stop()
	for {
		left := int64(0)
		for _, queue := range queues {
			all[0].work(ctx, queue)
			n, err := r.eng.Counts(ctx, queue)
			if err != nil {
				return false, err
			}
			left += n.Available + n.Scheduled + n.Retryable + n.Running + n.Waiting
		}
		for _, c := range all {
			c.callBack(ctx)
		}
		if left == 0 || time.Now().After(until) {
			return left == 0, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-ticker.C:
		}
	}
}

// settle takes down the end. Where there is time for it, autovacuum may come by first.
func (r *run) settle(ctx context.Context, w *watcher, ev evidence) (_ evidence, err error) {
	until := time.Now().Add(r.plan.Settle)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		if ev.after, err = w.look(ctx); err != nil {
			return ev, err
		}
		if r.plan.Pinned || ev.after.dead <= deadMost || time.Now().After(until) {
			break
		}
		select {
		case <-ctx.Done():
			return ev, ctx.Err()
		case <-ticker.C:
		}
	}
	if ev.churn, ev.deadlocks, err = w.churn(ctx); err != nil {
		return ev, err
	}
	eng, err := engine.Open(ctx, w.pool, engine.Config{Schema: schemaName})
	if err != nil {
		return ev, err
	}
	ev.counts = map[string]engine.Counts{}
	for _, queue := range queues {
		if ev.counts[queue], err = eng.Counts(ctx, queue); err != nil {
			return ev, err
		}
	}
	report, err := eng.Audit(ctx)
	if err != nil {
		return ev, err
	}
	if err := report.Err(); err != nil {
		r.facts.blame("in the end: " + err.Error())
	}
	ev.did, ev.wrong, ev.slowest = r.facts.did, r.facts.wrong, r.facts.slowest
	return ev, nil
}
