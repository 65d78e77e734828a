package fuzz

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/awa-engine/awa/model"
	"github.com/awa-engine/awa/pgtest"
)

// Options say how much a lockstep run does.
type Options struct {
	Runs  int    // sequences; 100 when zero
	Steps int    // operations of each; 40 when zero
	Seed  uint64 // 0 draws one
	// Parallel is how many sequences run at once; 2 when zero.
	Parallel int
	// AsDrawn keeps a finding as it was drawn, when the verdict is wanted more than a short story.
	AsDrawn bool
	// Progress, when set, is called after each run, by several goroutines.
	Progress func()

	lie func(doer) doer // a test's
}

// A Report says what a lockstep run did.
type Report struct {
	Seed    uint64
	Runs    int
	Steps   int
	Actions map[string]int // by operation, and by operation and outcome
	Worlds  map[string]int
	Seconds float64
	// Failure is the shrunk finding, nil when engine and model agreed.
	Failure *Seed
}

// Lockstep runs random sequences on engine and model until one differs or all are done. A finding is in the report, not
// an error; an error means that it could not run.
func Lockstep(ctx context.Context, server *pgtest.Server, o Options) (*Report, error) {
	if o.Runs == 0 {
		o.Runs = 100
	}
	if o.Steps == 0 {
		o.Steps = 40
	}
	if o.Parallel == 0 {
		o.Parallel = 2
	}
	o.Parallel = min(o.Parallel, o.Runs)
	if o.Seed == 0 {
		o.Seed = rand.Uint64()>>1 + 1
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &lockstep{o: o, report: &Report{Seed: o.Seed, Actions: map[string]int{}, Worlds: map[string]int{}}, cancel: cancel}
	began := time.Now()
	var wg sync.WaitGroup
	for i := range o.Parallel {
		wg.Go(func() { l.shard(ctx, server, i) })
	}
	wg.Wait()
	l.report.Seconds = time.Since(began).Seconds()
	return l.report, l.err
}

// lockstep is a run under way in several shards.
type lockstep struct {
	o      Options
	cancel context.CancelFunc

	mu     sync.Mutex
	report *Report
	err    error
}

// shard runs its share of the sequences through rapid, which draws and shrinks them.
func (l *lockstep) shard(ctx context.Context, server *pgtest.Server, i int) {
	b, err := newBench(ctx, server, fmt.Sprintf("lockstep_%x_%d", l.o.Seed&0xffffff, i))
	if err != nil {
		l.stop(err)
		return
	}
	defer func() {
		if err := b.close(context.WithoutCancel(ctx)); err != nil {
			l.stop(err)
		}
	}()
	p := &property{l: l, bench: b}
	seed := l.o.Seed + uint64(i)
	failed := check(share(l.o.Runs, l.o.Parallel, i), seed, func(t *rapid.T) { p.run(ctx, t) })
	switch {
	case p.err != nil:
		l.stop(p.err)
	case failed && p.found != nil:
		smaller := p.found
		if !l.o.AsDrawn {
			if smaller, err = b.shrink(ctx, l.o.lie, p.found); err != nil {
				l.stop(err)
				return
			}
		}
		smaller.Seed = seed
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.report.Failure == nil {
			l.report.Failure = smaller
		}
		l.cancel()
	}
}

// share divides n over the shards.
func share(n, shards, i int) int {
	s := n / shards
	if i < n%shards {
		s++
	}
	return s
}

func (l *lockstep) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// After a finding the other shards are cancelled, and stumble over it in many ways.
	if l.err == nil && l.report.Failure == nil {
		l.err = err
	}
	l.cancel()
}

// property is what rapid checks; found is the smallest failing sequence so far.
type property struct {
	l     *lockstep
	bench *bench
	found *Seed
	err   error // the world's, not a finding
}

// run is one sequence.
func (p *property) run(ctx context.Context, t *rapid.T) {
	if p.err != nil || ctx.Err() != nil || p.found != nil && p.l.o.AsDrawn {
		return // nothing more can be learnt; rapid just counts to its end
	}
	w := drawWorld(t)
	r, err := p.bench.start(ctx, w)
	if err != nil {
		p.err = err
		return
	}
	if p.l.o.lie != nil {
		r.doer = p.l.o.lie(r.system)
	}
	defer r.system.close(context.WithoutCancel(ctx))
	g := newGenerator(t, w)
	var actions []model.Action
	for range p.l.o.Steps {
		a := g.draw(t, r.store)
		actions = append(actions, a)
		happened, err := r.step(ctx, a)
		if !p.went(t, w, actions, err) {
			return
		}
		if happened {
			g.learn(r.story)
		}
	}
	if p.went(t, w, actions, r.finish(ctx)) {
		p.count(r, w)
	}
}

// went sorts out what came of a step: a finding fails the sequence, and what else goes wrong ends it.
func (p *property) went(t *rapid.T, w World, actions []model.Action, err error) bool {
	var d *Difference
	if errors.As(err, &d) {
		p.found = &Seed{Property: "lockstep", World: w, Actions: actions, Finding: d}
		t.Fatalf("%s", d.What)
	}
	if err != nil {
		p.err = err
	}
	return err == nil
}

// count adds a finished run to the report.
func (p *property) count(r *run, w World) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.l.report.Runs++
	p.l.report.Steps += len(r.story)
	p.l.report.Worlds[fmt.Sprintf("queue slots %d, claim slots %d, lease slots %d", w.QueueSlots, w.ClaimSlots, w.LeaseSlots)]++
	for name, n := range r.counts {
		p.l.report.Actions[name] += n
	}
	if p.l.o.Progress != nil {
		p.l.o.Progress()
	}
}

// learn remembers the attempts of the last answer.
func (g *generator) learn(s model.Story) {
	if c, ok := s[len(s)-1].Result.(model.Claimed); ok {
		for _, h := range c.Handouts {
			g.attempts = append(g.attempts, h.ID())
		}
	}
}

// rapidStart orders the starts of checks: rapid takes its settings from flags when a check begins.
var rapidStart sync.Mutex

// check runs a rapid check outside a test: n sequences from a seed. It reports whether one failed.
func check(n int, seed uint64, property func(*rapid.T)) (failed bool) {
	if n == 0 {
		return false
	}
	rapidStart.Lock()
	begun := sync.OnceFunc(rapidStart.Unlock)
	if !flag.Parsed() { // outside a test binary nobody has
		testing.Init() // rapid asks testing.Short
		if err := flag.CommandLine.Parse(nil); err != nil {
			panic(err) // there is nothing to parse
		}
	}
	for name, value := range map[string]string{
		"rapid.checks": strconv.Itoa(n), "rapid.seed": strconv.FormatUint(seed, 10), "rapid.nofailfile": "true", "rapid.shrinktime": "20s",
	} {
		if err := flag.Set(name, value); err != nil {
			panic(err) // rapid's flags are there as soon as it is linked
		}
	}
	t := &verdict{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(t, func(rt *rapid.T) { begun(); property(rt) })
	}()
	<-done
	begun()
	return t.failed
}
