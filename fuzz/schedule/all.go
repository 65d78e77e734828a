package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/awa-engine/awa/pgtest"
)

// ExploreAll explores scenarios on several servers at once, and returns the results in the order of the scenarios. Each
// explorer has a server of its own: transaction ids are the whole server's, and claims look at them. done, when set, is
// called after each scenario, by several goroutines.
func ExploreAll(ctx context.Context, scenarios []*Scenario, explorers int, o Options, done func(*Result)) ([]*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]*Result, len(scenarios))
	jobs := make(chan int)
	errs := make([]error, explorers)
	var wg sync.WaitGroup
	for e := range min(explorers, len(scenarios)) {
		wg.Go(func() {
			if errs[e] = exploreSome(ctx, scenarios, results, jobs, o, done); errs[e] != nil {
				cancel()
			}
		})
	}
feeding:
	for i := range scenarios {
		select {
		case jobs <- i:
		case <-ctx.Done():
			break feeding
		}
	}
	close(jobs)
	wg.Wait()
	return results, errors.Join(errs...)
}

// exploreSome is an explorer: it takes scenarios until there are none left.
func exploreSome(ctx context.Context, scenarios []*Scenario, results []*Result, jobs <-chan int, o Options, done func(*Result)) (err error) {
	server, err := pgtest.Start(ctx, ServerOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for i := range jobs {
		r, err := Explore(ctx, server, fmt.Sprintf("schedules_%d", i), scenarios[i], o)
		if err != nil {
			return err
		}
		results[i] = r
		if done != nil {
			done(r)
		}
	}
	return nil
}
