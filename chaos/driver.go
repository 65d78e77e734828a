package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/pgtest"
)

// ErrTooLittle says that a run did too little to show anything: the load didn't flow, or nothing was injected. It is no
// finding about the engine, and it is no pass.
var ErrTooLittle = errors.New("too little happened to show anything")

// An event is one line of the driver's story.
type event struct {
	At    int64  `json:"at"`
	Over  int64  `json:"over,omitempty"`  // of a fault: when its victims were gone
	What  string `json:"what"`            // one of the constants below
	Who   string `json:"who,omitempty"`   // a worker
	Fault Fault  `json:"fault,omitempty"` // that was injected
	Note  string `json:"note,omitempty"`
}

// What happens in a story.
const (
	eventServer    = "server up"
	eventStart     = "worker started"
	eventFault     = "fault"
	eventRecovered = "recovered"
	eventNever     = "not recovered"
	eventDied      = "worker died by itself"
	eventHealing   = "healing"
	eventDrained   = "drained"
	eventUndrained = "not drained"
	eventEnd       = "end"
)

// String is the event for people, t seconds into the run.
func (e event) text(start int64) string {
	text := fmt.Sprintf("%7.3f s  %s", time.Duration(e.At-start).Seconds(), e.What)
	for _, more := range []string{string(e.Fault), e.Who, e.Note} {
		if more != "" {
			text += " " + more
		}
	}
	return text
}

// runFacts is the content of run.json.
type runFacts struct {
	Plan   Plan   `json:"plan"`
	Server string `json:"server"`
}

// driver carries out one plan.
type driver struct {
	cfg    Config
	watch  stopwatch
	rng    *rand.Rand
	story  *log
	start  int64
	server *pgtest.Server
	flow   *flow
	alive  []*process
	serial int // of worker names
}

// Run carries out the plan and judges it. A finding is no error: the verdict says it, and names the folder that was
// kept. Errors: ErrTooLittle; ctx's; what else kept the run from its end, which leaves its folder, too.
func Run(ctx context.Context, cfg Config) (Verdict, error) {
	plan, err := cfg.Plan.withDefaults()
	if err != nil {
		return Verdict{}, err
	}
	cfg.Plan = plan
	ours := cfg.Dir == ""
	if ours {
		if cfg.Dir, err = os.MkdirTemp("", "awa-chaos-"); err != nil {
			return Verdict{}, err
		}
	}
	d := &driver{cfg: cfg, watch: startWatch(), rng: rand.New(rand.NewPCG(plan.Seed, 1)), flow: newFlow(cfg.Dir)}
	if err := d.run(ctx); err != nil {
		if ours && (d.server == nil || ctx.Err() != nil) {
			return Verdict{}, errors.Join(err, os.RemoveAll(cfg.Dir)) // it is evidence of nothing
		}
		return Verdict{}, fmt.Errorf("chaos: seed %d, %s, evidence in %s: %w", plan.Seed, plan, cfg.Dir, err)
	}
	v, err := Judge(cfg.Dir)
	if err == nil && v.OK && ours {
		err, v.Dir = os.RemoveAll(cfg.Dir), ""
	}
	return v, err
}

// run makes the evidence. Whatever happens, no process is left.
func (d *driver) run(ctx context.Context) (err error) {
	for _, sub := range []string{journalsDir, workersDir} {
		if err := os.MkdirAll(filepath.Join(d.cfg.Dir, sub), 0o755); err != nil {
			return err
		}
	}
	if d.story, err = openLog(filepath.Join(d.cfg.Dir, storyFile)); err != nil {
		return err
	}
	d.start = d.watch.now()
	defer func() {
		for _, p := range d.alive {
			p.order()
			p.kill()
		}
		err = errors.Join(err, d.flow.close(), d.story.close())
	}()
	if d.server, err = pgtest.Start(ctx, serverOptions()); err != nil {
		return err
	}
	defer func() {
		text := d.server.LogTail()
		err = errors.Join(err, d.server.Close(), os.WriteFile(filepath.Join(d.cfg.Dir, serverLog), []byte(text), 0o644))
	}()
	if err := writeJSON(filepath.Join(d.cfg.Dir, runFile), runFacts{d.cfg.Plan, d.server.Describe()}); err != nil {
		return err
	}
	if err := d.tell(event{What: eventServer, Note: fmt.Sprintf("%s, seed %d", d.server.Describe(), d.cfg.Seed)}); err != nil {
		return err
	}
	if err := d.install(ctx); err != nil {
		return err
	}
	if err := d.startAll(); err != nil {
		return err
	}
	if err := d.rounds(ctx); err != nil && !errors.Is(err, errDied) {
		return err
	}
	return d.heal(ctx)
}

// errDied ends the rounds: a worker that ended by itself is a finding, which the judge takes from the story.
var errDied = errors.New("a worker ended by itself")

// serverOptions ask for a server that keeps what it acknowledged through a SIGKILL, and that is quick to come back: by
// default it syncs every file of the cluster before it recovers, one by one.
func serverOptions() pgtest.Options {
	o := pgtest.Options{Local: true, Durable: true}
	if runtime.GOOS == "linux" {
		o.Settings = map[string]string{"recovery_init_sync_method": "syncfs"}
	}
	return o
}

// tell writes a line of the story.
func (d *driver) tell(e event) error {
	if e.At == 0 {
		e.At = d.watch.now()
	}
	if d.cfg.Tell != nil {
		d.cfg.Tell(e.text(d.start))
	}
	return d.story.write(e)
}

func (d *driver) install(ctx context.Context) error {
	pool, err := d.server.Pool(ctx, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	cfg := engine.Config{Schema: engineSchema, QueueSlots: d.cfg.QueueSlots, ClaimSlots: d.cfg.ClaimSlots}
	if err := engine.Migrate(ctx, pool, cfg); err != nil {
		return err
	}
	eng, err := engine.Open(ctx, pool, cfg)
	if err != nil {
		return err
	}
	for _, q := range queues {
		if err := eng.RegisterQueue(ctx, q); err != nil {
			return err
		}
	}
	_, err = pool.Exec(ctx, createOrders)
	return err
}

func (d *driver) startAll() error {
	for _, group := range []struct {
		role role
		n    int
	}{{roleProducer, d.cfg.Producers}, {roleClaimer, d.cfg.Claimers}, {roleMaintainer, maintainers}} {
		for range group.n {
			if err := d.startWorker(group.role); err != nil {
				return err
			}
		}
	}
	return nil
}

// startWorker starts a process with a name, a journal and a seed of its own.
func (d *driver) startWorker(as role) error {
	d.serial++
	spec := workerSpec{
		Name: fmt.Sprintf("%s-%d", as, d.serial), Role: as, DSN: d.server.DSN(), Seed: d.rng.Uint64(),
		Rate: float64(d.cfg.Rate) / float64(d.cfg.Producers), StaleAfter: d.cfg.StaleAfter,
	}
	p, err := startProcess(d.cfg.Dir, spec, d.cfg.Worker)
	if err != nil {
		return err
	}
	d.alive = append(d.alive, p)
	d.flow.follow(spec.Name)
	return d.tell(event{What: eventStart, Who: spec.Name})
}

// heal lets everything drain, ends the workers, and takes down what is left.
func (d *driver) heal(ctx context.Context) error {
	if err := d.tell(event{What: eventHealing, Note: "the producers stop"}); err != nil {
		return err
	}
	if err := d.stop(roleProducer); err != nil {
		return err
	}
	pool, err := d.server.Pool(ctx, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	eng, err := engine.Open(ctx, pool, engine.Config{Schema: engineSchema})
	if err != nil {
		return err
	}
	o := observer{pool, eng}
	ok, err := o.drained(ctx, d.cfg.DrainWithin)
	if err != nil {
		return err
	}
	what := eventDrained
	if !ok {
		what = eventUndrained
	}
	if err := d.tell(event{What: what}); err != nil {
		return err
	}
	for _, as := range []role{roleClaimer, roleMaintainer} {
		if err := d.stop(as); err != nil {
			return err
		}
	}
	final, err := o.record(ctx, d.cfg.DrainWithin)
	if err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(d.cfg.Dir, stateFile), final); err != nil {
		return err
	}
	return d.tell(event{What: eventEnd})
}

// stop ends the workers of a role in the ordinary way.
func (d *driver) stop(as role) error {
	for _, p := range d.alive {
		if p.spec.Role == as {
			p.order()
		}
	}
	var still []*process
	for _, p := range d.alive {
		if p.spec.Role != as {
			still = append(still, p)
			continue
		}
		if err := p.wait(stopLimit + callLimit + settleLimit); err != nil {
			if err := d.tell(p.death(err)); err != nil {
				return err
			}
		}
	}
	d.alive = still
	return nil
}
