package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/fuzz"
	"github.com/awa-engine/awa/model"
	"github.com/awa-engine/awa/pgtest"
)

// A stage is where the schedules of one scenario run, one after the other: a database of its own, the sessions, and a
// copy of the rows that each schedule starts from.
type stage struct {
	scenario *Scenario
	dsn      string
	schema   string
	drop     func(context.Context) error
	control  *pgx.Conn // asks who waits for whom, resets
	judge    *pgx.Conn // reads the rows at the end
	auditor  *pgxpool.Pool
	sessions []*session
	pids     []int32         // of all sessions
	owners   map[int32]int   // session by pid
	tables   []string        // without partitioned parents
	filled   map[string]bool // those that the setup left rows in
	touched  map[string]bool // by the schedule under way
	runs     int
	catalog  *Catalog

	start *model.Flat   // the model's state after the setup
	names map[int64]int // the model's numbers of the setup's jobs

	mu       sync.Mutex
	given    map[model.AttemptID]engine.Receipt // by the setup
	receipts map[model.AttemptID]engine.Receipt // by the setup and the schedule
}

// ServerOptions are what servers for schedules need: nothing runs on them by itself, and a cycle of waits becomes an
// error soon after it was seen.
func ServerOptions() pgtest.Options {
	return pgtest.Options{Local: true, SharedBuffers: "32MB", MaxConnections: 60, Settings: map[string]string{
		"autovacuum": "off", "deadlock_timeout": "10ms", "max_wal_size": "4GB", "checkpoint_timeout": "1d", "jit": "off",
	}}
}

const schemaName = "awa"

func newStage(ctx context.Context, server *pgtest.Server, database string, sc *Scenario) (_ *stage, err error) {
	st := &stage{
		scenario: sc, schema: schemaName, names: map[int64]int{}, owners: map[int32]int{}, filled: map[string]bool{}, touched: map[string]bool{},
		given: map[model.AttemptID]engine.Receipt{}, catalog: &Catalog{schema: schemaName, children: map[string][]string{}, sequences: map[string]bool{}},
	}
	if st.dsn, st.drop, err = server.NewDatabase(ctx, database); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close(context.WithoutCancel(ctx)))
		}
	}()
	if st.control, err = pgx.Connect(ctx, st.dsn); err != nil {
		return nil, err
	}
	// Rows are put back table by table: what refers to what is right again at the end.
	if _, err = st.control.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		return nil, err
	}
	if st.judge, err = pgx.Connect(ctx, st.dsn); err != nil {
		return nil, err
	}
	if _, err = st.judge.Exec(ctx, "SET statement_timeout = '10s'"); err != nil {
		return nil, err
	}
	if st.auditor, err = newAuditor(ctx, st.dsn); err != nil {
		return nil, err
	}
	st.start = model.NewFlat(sc.World.Config())
	if !sc.bare {
		if err = st.setUp(ctx); err != nil {
			return nil, err
		}
	}
	for i := range sc.Sessions {
		s, err := newSession(ctx, st, i)
		if s != nil && s.pool != nil {
			st.sessions = append(st.sessions, s)
		}
		if err != nil {
			return nil, err
		}
		for _, pid := range s.pids() {
			st.pids = append(st.pids, pid)
			st.owners[pid] = i
		}
	}
	return st, nil
}

func (st *stage) close(ctx context.Context) error {
	for _, s := range st.sessions {
		s.pool.Close()
	}
	if st.auditor != nil {
		st.auditor.Close()
	}
	var errs []error
	for _, conn := range []*pgx.Conn{st.control, st.judge} {
		if conn != nil {
			errs = append(errs, conn.Close(ctx))
		}
	}
	return errors.Join(append(errs, st.drop(ctx))...)
}

// setUp installs the schema, runs the setup's operations on engine and model, and copies the rows that came of it.
func (st *stage) setUp(ctx context.Context) error {
	pool, err := pgxpool.New(ctx, st.dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	w := st.scenario.World
	if err := engine.Migrate(ctx, pool, engine.Config{Schema: st.schema, QueueSlots: w.QueueSlots, ClaimSlots: w.ClaimSlots, LeaseSlots: w.LeaseSlots}); err != nil {
		return err
	}
	s := &session{stage: st, pool: pool}
	if err := s.open(ctx, time.Millisecond); err != nil {
		return err
	}
	defer s.end(ctx)
	st.receipts = st.given
	for _, op := range st.scenario.Setup {
		answer, err := s.apply(ctx, op)
		if err != nil {
			return fmt.Errorf("setup: %s: %w", op, err)
		}
		result, err := model.Apply(st.start, op.Action)
		if err != nil {
			return fmt.Errorf("setup: %w", err)
		}
		if e, ok := result.(model.Enqueued); ok {
			for i, id := range answer.Jobs {
				st.names[id] = e.Jobs[i]
			}
		}
	}
	if len(s.txs) > 0 {
		return errors.New("setup: a transaction is left open")
	}
	if err := st.namesAreKnown(); err != nil {
		return err
	}
	if err := st.readCatalog(ctx); err != nil {
		return err
	}
	got, err := fuzz.Abstract(ctx, st.judge, st.schema, w)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	if want, got := model.Canonical(fuzz.Comparable(st.start)), model.Canonical(fuzz.Comparable(got)); want != got {
		return fmt.Errorf("setup: engine and model differ\nmodel:\n%s\nengine:\n%s", want, got)
	}
	return st.copyRows(ctx)
}

// namesAreKnown refuses sessions that name jobs which the setup doesn't make: engine and model would be asked different
// questions.
func (st *stage) namesAreKnown() error {
	known := slices.Collect(maps.Values(st.names))
	for _, s := range st.scenario.Sessions {
		for _, op := range s.Ops {
			for _, job := range named(op.Action) {
				if !slices.Contains(known, job) {
					return fmt.Errorf("session %s: %s: the setup makes no job %d", s.Name, op, job)
				}
			}
		}
	}
	return nil
}

// named are the jobs that an operation names: the Jobs of every one that has such a field.
func named(a model.Action) []int {
	if a == nil {
		return nil
	}
	f := reflect.ValueOf(a).FieldByName("Jobs")
	if !f.IsValid() {
		return nil
	}
	return f.Interface().([]int)
}

// learn remembers the receipt of an attempt of a job that has a name.
func (st *stage) learn(r engine.Receipt) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if name, ok := st.names[r.JobID()]; ok {
		st.receipts[model.AttemptID{Job: name, Lease: int(r.RunLease())}] = r
	}
}

func (st *stage) receiptsOf(attempts []model.AttemptID) ([]engine.Receipt, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	receipts := make([]engine.Receipt, len(attempts))
	for i, id := range attempts {
		r, ok := st.receipts[id]
		if !ok {
			return nil, errPassedOver
		}
		receipts[i] = r
	}
	return receipts, nil
}

// idsOf are the database's ids of jobs of the setup.
func (st *stage) idsOf(jobs []int) []int64 {
	var ids []int64
	for id, name := range st.names {
		if slices.Contains(jobs, name) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// readCatalog reads what the footprints know of the schema.
func (st *stage) readCatalog(ctx context.Context) error {
	rows, err := st.control.Query(ctx, `
		SELECT c.relname, c.relkind::text, coalesce((SELECT p.relname FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent WHERE i.inhrelid = c.oid), '')
		  FROM pg_class c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p', 'S') ORDER BY c.relname`, st.schema)
	if err != nil {
		return err
	}
	var name, kind, parent string
	_, err = pgx.ForEachRow(rows, []any{&name, &kind, &parent}, func() error {
		if kind == "S" {
			st.catalog.sequences[name] = true
			if strings.Contains(name, "lane") {
				st.catalog.lanes = append(st.catalog.lanes, name)
			}
			return nil
		}
		st.catalog.children[name] = append(st.catalog.children[name], []string(nil)...)
		if parent != "" {
			st.catalog.children[parent] = append(st.catalog.children[parent], name)
		}
		if kind == "r" {
			st.tables = append(st.tables, name)
		}
		return nil
	})
	return err
}

func (st *stage) table(name string) string { return pgx.Identifier{st.schema, name}.Sanitize() }
func (st *stage) saved(name string) string { return pgx.Identifier{"saved", name}.Sanitize() }

// copyRows keeps the rows that every schedule starts from.
func (st *stage) copyRows(ctx context.Context) error {
	var filled strings.Builder
	for _, name := range st.tables {
		fmt.Fprintf(&filled, "SELECT '%s' WHERE EXISTS (SELECT FROM %s) UNION ALL ", name, st.table(name))
	}
	rows, err := st.control.Query(ctx, strings.TrimSuffix(filled.String(), " UNION ALL "))
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	copies := "CREATE SCHEMA saved;"
	for _, name := range names {
		copies += fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM %s;", st.saved(name), st.table(name))
		st.filled[name] = true
	}
	empty := map[string]bool{}
	for _, name := range st.tables {
		empty[name] = !st.filled[name]
	}
	_, err = st.control.Exec(ctx, copies+st.backToSetup(empty))
	return err
}

// vacuumEvery is how many schedules leave their dead rows, of tables and of the catalogue, to the next vacuum.
const vacuumEvery = 200

// reset takes the rows back to the setup's: of the tables that the last schedule touched. Sequences go on.
func (st *stage) reset(ctx context.Context) error {
	st.mu.Lock()
	st.receipts = map[model.AttemptID]engine.Receipt{}
	for id, r := range st.given {
		st.receipts[id] = r
	}
	st.mu.Unlock()
	st.runs++
	if st.scenario.bare {
		_, err := st.control.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{st.schema}.Sanitize()+" CASCADE")
		return err
	}
	if text := st.backToSetup(st.touched); text != "" {
		if _, err := st.control.Exec(ctx, text); err != nil {
			return err
		}
	}
	clear(st.touched)
	if st.runs%vacuumEvery == 0 {
		if _, err := st.control.Exec(ctx, "VACUUM"); err != nil {
			return err
		}
	}
	return nil
}

// backToSetup makes the tables what they were after the setup. One that had no rows then takes up no space afterwards: a prune
// truncates what does, so that the same schedule must find the same.
func (st *stage) backToSetup(tables map[string]bool) string {
	// What is put back is no change: the triggers that count terminal rows don't fire.
	const begin, end = "BEGIN; SET LOCAL session_replication_role = replica;", "COMMIT"
	var b strings.Builder
	var empty []string
	for _, name := range st.tables {
		switch {
		case !tables[name]:
		case st.filled[name]:
			fmt.Fprintf(&b, "DELETE FROM %[1]s; INSERT INTO %[1]s OVERRIDING SYSTEM VALUE SELECT * FROM %[2]s;", st.table(name), st.saved(name))
		default:
			empty = append(empty, st.table(name))
		}
	}
	if len(empty) > 0 {
		fmt.Fprintf(&b, "TRUNCATE %s;", strings.Join(empty, ", "))
	}
	if b.Len() == 0 {
		return ""
	}
	return begin + b.String() + end
}

// touch notes what a statement writes.
func (st *stage) touch(u unit, f Footprint) {
	if f.all {
		for _, name := range st.tables {
			st.touched[name] = true
		}
		return
	}
	p := st.catalog.parse(u.sql)
	for _, names := range [][]string{p.written, p.emptied} {
		for _, name := range names {
			st.touched[name] = true
		}
	}
}
