package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// failAll fails the attempts, all of which must be open.
func (b *bundle) failAll(t *testing.T, attempts []engine.Attempt) {
	t.Helper()
	var failures []engine.Failure
	for _, a := range attempts {
		failures = append(failures, engine.Failure{Receipt: a.Receipt, Message: fmt.Sprint("m", a.Receipt.JobID())})
	}
	results, err := b.Fail(t.Context(), failures)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("fail %s: %v", r.Receipt, r.Err)
		}
	}
}

// lap turns the queue ring once and prunes with a retention; it returns how many rows were carried. A job that is
// enqueued and done makes the ring turn.
func (b *bundle) lap(t *testing.T, retention time.Duration) int {
	t.Helper()
	b.complete(t, b.claimNew(t, "other", 1))
	if out, err := b.RotateQueue(t.Context()); err != nil || out.Status != engine.Rotated {
		t.Fatal(out, err)
	}
	out, err := b.PruneQueue(t.Context(), retention)
	if err != nil || out.Status != engine.Pruned {
		t.Fatal(out, err)
	}
	return out.CarriedFailedRows
}

// A failed row is carried with all that its ready row knew, again on every lap of the ring, and says the same each time,
// in both ways to carry: under the exclusive locks, and before them (ADR-032, P8).
func TestCarriedRowsSayTheSame(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 100} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			cfg := smallRings(b.schema)
			cfg.Now, cfg.CarryLimit = b.clock.now, limit
			var err error
			if b.Engine, err = engine.Open(t.Context(), b.pool, cfg); err != nil {
				t.Fatal(err)
			}
			attempts := b.claimNew(t, "q", 3)
			b.failAll(t, attempts)
			var before []engine.Job
			for _, a := range attempts {
				before = append(before, b.job(t, a.Receipt.JobID()))
			}
			for lap := range 6 {
				if n := b.lap(t, time.Hour); n != 3 {
					t.Fatalf("lap %d: %d rows were carried, want 3", lap, n)
				}
				for _, j := range before {
					if now := b.job(t, j.ID); fmt.Sprint(now) != fmt.Sprint(j) && !sameJob(now, j) {
						t.Errorf("lap %d: job %d became %+v, it was %+v", lap, j.ID, now, j)
					}
				}
				b.wantCounts(t, "q", engine.Counts{Failed: 3})
			}
			b.clock.advance(2 * time.Hour)
			if n := b.lap(t, time.Hour); n != 0 {
				t.Errorf("%d rows were carried past their retention", n)
			}
			b.wantCounts(t, "q", engine.Counts{PrunedFailed: 3})
		})
	}
}

func (b *bundle) job(t *testing.T, id int64) engine.Job {
	t.Helper()
	j, err := b.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// sameJob compares what pointers point at, too.
func sameJob(a, b engine.Job) bool {
	at := func(p *time.Time) time.Time {
		if p == nil {
			return time.Time{}
		}
		return *p
	}
	same := at(a.FinalizedAt).Equal(at(b.FinalizedAt)) && at(a.ClaimedAt).Equal(at(b.ClaimedAt))
	a.FinalizedAt, b.FinalizedAt, a.ClaimedAt, b.ClaimedAt = nil, nil, nil, nil
	return same && fmt.Sprint(a) == fmt.Sprint(b)
}

// A row that lost its ready row has no body to be carried with: the prune stops.
func TestCarryOfABodilessRow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failAll(t, b.claimNew(t, "q", 1))
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	b.exec(t, `DELETE FROM %s.ready_entries`)
	before := b.rowCounts(t)
	_, err := b.PruneQueue(t.Context(), time.Hour)
	wantError(t, err, engine.ErrCorrupt)
	b.wantUnchanged(t, before)
}

// Cancelled rows aren't carried: they had their decision.
func TestCancelledRowsAreNotCarried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.failAll(t, b.claimNew(t, "q", 2))
	b.exec(t, `UPDATE %s.done_entries SET state = 'cancelled' WHERE lane_seq = 1`)
	if n := b.lap(t, time.Hour); n != 1 {
		t.Errorf("%d rows were carried, want the failed one", n)
	}
	if c, err := b.Counts(t.Context(), "q"); err != nil || c.PrunedCompleted != 1 || c.PrunedFailed != 0 || c.Failed != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// While many rows are carried, readers of the slot aren't kept waiting; who holds it already makes the prune yield
// before it begins (P7).
func TestCarryOfManyYieldsToAReader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := smallRings(b.schema)
	cfg.Now, cfg.CarryLimit = b.clock.now, 1
	e, err := engine.Open(t.Context(), b.pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.failAll(t, b.claimNew(t, "q", 2))
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	reader := begin(t, b.pool, pgx.ReadCommitted)
	if _, err := reader.Exec(t.Context(), b.sql(`LOCK TABLE %s.done_entries_0 IN ACCESS SHARE MODE`)); err != nil {
		t.Fatal(err)
	}
	out, err := e.PruneQueue(t.Context(), time.Hour)
	if err != nil || out.Status != engine.PruneBlocked || out.CarriedFailedRows != 0 || out.Holder == nil {
		t.Fatal(out, err)
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err = e.PruneQueue(t.Context(), time.Hour); err != nil || out.Status != engine.Pruned || out.CarriedFailedRows != 2 {
		t.Fatal(out, err)
	}
}

// Whatever column a ready row has, its place, its attempts and its waiting apart, is a column of the body: carried, retried, shown.
func TestBodyColumnsAreComplete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	columns := func(table string) []string {
		return one[[]string](t, b, `SELECT array_agg(attname ORDER BY attname)::text[] FROM pg_attribute
			WHERE attrelid = ('%s.' || $1)::regclass AND attnum > 0 AND NOT attisdropped`, table)
	}
	own := []string{"ready_generation", "ready_slot", "lane_id", "lane_seq", "job_id", "run_lease", "attempt", "errors", "available_at"}
	body := strings.Split(engine.BodyColumns(b.Engine), ", ")
	for _, c := range columns("ready_entries") {
		if !slices.Contains(own, c) && !slices.Contains(body, c) {
			t.Errorf("ready_entries.%s is in no list: a carried row would lose it", c)
		}
	}
	for _, table := range []string{"ready_entries", "done_entries"} {
		for _, c := range body {
			if !slices.Contains(columns(table), c) {
				t.Errorf("%s has no column %s", table, c)
			}
		}
	}
	for _, c := range body {
		if want := fmt.Sprintf("coalesce(d.%s, r.%s)", c, c); !strings.Contains(engine.HydratedBody(b.Engine), want) {
			t.Errorf("%s isn't hydrated", c)
		}
	}
}

// A prune that carries, and a retry, whose answers are lost: Settle says what became of them, the rows are as before or
// as after, nothing between, and repeating is safe.
func TestLostCarryAndRetryAreSettled(t *testing.T) {
	t.Parallel()
	for what, committed := range map[loss]bool{loseAnswer: true, loseCommit: false} {
		b := setup(t)
		wire := &lossyWire{}
		e := b.open(t, wire.pool(t))
		b.failAll(t, b.claimNew(t, "q", 3))
		b.wantRotate(t, rings[0], engine.Rotated, 1)
		settle := func(op string, err error) {
			t.Helper()
			wantError(t, err, engine.ErrAmbiguous, op)
			if got, err := e.Settle(t.Context(), err); err != nil || got != committed {
				t.Errorf("%s settles as %v, %v; want %v", op, got, err, committed)
			}
		}
		standing := func() [2]int {
			return [2]int{
				one[int](t, b, `SELECT count(*) FROM %s.done_entries WHERE ready_generation = 0`),
				one[int](t, b, `SELECT count(*) FROM %s.done_entries WHERE ready_generation = 1`),
			}
		}
		wire.lose(what)
		_, err := e.PruneQueue(t.Context(), time.Hour)
		settle("PruneQueue", err)
		want := [2]int{3, 0}
		if committed {
			want = [2]int{0, 3}
		}
		if got := standing(); got != want {
			t.Errorf("committed=%v: the rows stand in %v", committed, got)
		}
		b.wantCounts(t, "q", engine.Counts{Failed: 3})
		if _, err := e.PruneQueue(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := standing(); got != [2]int{0, 3} {
			t.Errorf("committed=%v, and repeated: the rows stand in %v", committed, got)
		}

		wire.lose(what)
		_, err = e.RetryFailed(t.Context(), engine.FailedJobs{Queue: "q"}, 2)
		settle("RetryFailed", err)
		out, err := e.RetryFailed(t.Context(), engine.FailedJobs{Queue: "q"}, 3)
		if left := map[bool]int{true: 1, false: 3}[committed]; err != nil || len(out.Retried) != left || out.Matched != left {
			t.Errorf("committed=%v, and repeated: %+v, %v", committed, out, err)
		}
		b.wantCounts(t, "q", engine.Counts{Available: 3})
	}
}
