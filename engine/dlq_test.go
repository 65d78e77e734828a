package engine_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// hold switches the DLQ of a queue on, or off.
func (b *bundle) hold(t *testing.T, queue string, on bool) {
	t.Helper()
	if err := b.SetDLQ(t.Context(), queue, on); err != nil {
		t.Fatal(err)
	}
}

// A queue with the DLQ on gets no failed row, on any path, in either shape of a claim, whoever has the attempt: the policy is
// read by the statement that fails the job, so that a process which never heard of it follows it, too.
func TestDLQByPolicy(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *bundle, []engine.Attempt){
		"Fail": func(t *testing.T, b *bundle, attempts []engine.Attempt) {
			b.failAll(t, attempts)
		},
		"Retry": func(t *testing.T, b *bundle, attempts []engine.Attempt) {
			var retrials []engine.Retrial
			for _, r := range receipts(attempts) {
				retrials = append(retrials, engine.Retrial{Receipt: r, Message: "m"})
			}
			results, err := b.Retry(t.Context(), retrials)
			if err != nil || results[0].State != engine.JobDLQ || results[1].State != engine.JobDLQ {
				t.Errorf("%+v, %v", results, err)
			}
		},
		"RescueStale": func(t *testing.T, b *bundle, _ []engine.Attempt) {
			b.clock.advance(time.Hour)
			out, err := b.RescueStale(t.Context(), time.Minute, 10)
			if err != nil || out != (engine.RescueOutcome{DLQ: 2}) {
				t.Errorf("%+v, %v", out, err)
			}
		},
		"RescueDeadline": func(t *testing.T, b *bundle, attempts []engine.Attempt) {
			b.clock.advance(time.Hour)
			out, err := b.RescueDeadline(t.Context(), 1)
			if err != nil || out != (engine.RescueOutcome{DLQ: 1}) {
				t.Errorf("%+v, %v", out, err)
			}
			b.failAll(t, attempts[:1]) // it has no deadline
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			batch := jobs("q", 2)
			batch[0].MaxAttempts, batch[1].MaxAttempts, batch[1].TimeLimit = 1, 1, time.Minute
			ids, err := b.EnqueueMany(t.Context(), batch)
			if err != nil {
				t.Fatal(err)
			}
			attempts := b.claim(t, "q", 2)
			other := bundle{Engine: b.open(t, b.pool)}
			other.hold(t, "q", true)
			end(t, b, attempts)
			b.wantCounts(t, "q", engine.Counts{DLQ: 2})
			for i, id := range ids {
				j := b.job(t, id)
				if j.State != engine.JobDLQ || j.RunLease != 1 || j.Attempt != 1 || j.FinalizedAt == nil || len(j.Errors) != 1 || string(j.Args) != string(batch[i].Args) {
					t.Errorf("%+v", j)
				}
			}
			if n := one[int](t, b, `SELECT count(*) FROM %s.terminal_jobs WHERE state = 'dlq' AND kind = 'k' AND queue = 'q'`); n != 2 {
				t.Errorf("the view shows %d jobs", n)
			}
			b.wantAudit(t)
			// Nothing holds the slots, and nothing is carried.
			if n := b.lap(t, time.Hour); n != 0 {
				t.Errorf("%d rows were carried", n)
			}
			b.wantCounts(t, "q", engine.Counts{DLQ: 2})
			b.wantAudit(t)
		})
	}
}

// A policy is about jobs that fail from then on; where a job of another queue goes is that queue's.
func TestSetDLQ(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hold(t, "held", true)
	b.hold(t, "held", true)
	b.failAll(t, append(b.claimNew(t, "held", 1), b.claimNew(t, "other", 1)...))
	b.hold(t, "held", false)
	b.failAll(t, b.claimNew(t, "held", 1))
	b.wantCounts(t, "held", engine.Counts{DLQ: 1, Failed: 1})
	b.wantCounts(t, "other", engine.Counts{Failed: 1})
	wantError(t, b.SetDLQ(t.Context(), "", true), engine.ErrInvalid, "queue")
}

// Failed rows of every shape are moved, out to the DLQ and back to be tried again, with all that they say.
func TestMoveToDLQAndBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	batch := jobs("q", 3)
	batch[0].MaxAttempts, batch[1].MaxAttempts, batch[2].Kind = 1, 5, "special"
	var ids []int64
	for i := range batch {
		id, err := b.Enqueue(ctx, batch[i])
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		b.failAll(t, b.claim(t, "q", 1))
		switch i {
		case 0: // a wide row
			if n := b.lap(t, time.Hour); n != 1 {
				t.Fatalf("%d rows were carried", n)
			}
		case 1: // a narrow one in a sealed slot, the last one's is current
			b.wantRotate(t, rings[0], engine.Rotated, 2)
		}
	}
	before := map[int64]engine.Job{}
	for _, id := range ids {
		before[id] = b.job(t, id)
	}
	move := func(which engine.FailedJobs, limit int, want ...int64) {
		t.Helper()
		out, err := b.MoveToDLQ(ctx, which, limit)
		if err != nil || !slices.Equal(out.Moved, want) || out.Matched != len(want) {
			t.Fatalf("%+v: %+v, %v, want %v", which, out, err, want)
		}
	}
	move(engine.FailedJobs{Kind: "special"}, 10, ids[2])
	move(engine.FailedJobs{IDs: []int64{ids[2], ids[1], 999_999}}, 10, ids[1])
	move(engine.FailedJobs{Queue: "q"}, 10, ids[0])
	move(engine.FailedJobs{Queue: "q"}, 10)
	b.wantCounts(t, "q", engine.Counts{DLQ: 3})
	b.wantAudit(t)
	for _, id := range ids {
		was, is := before[id], b.job(t, id)
		was.State = engine.JobDLQ
		if !sameJob(was, is) {
			t.Errorf("moved: %+v, was %+v", is, was)
		}
	}
	retry := func(which engine.FailedJobs, limit int, want ...int64) {
		t.Helper()
		out, err := b.RetryFromDLQ(ctx, which, limit)
		if err != nil || !slices.Equal(out.Retried, want) || out.Matched != len(want) {
			t.Fatalf("%+v: %+v, %v, want %v", which, out, err, want)
		}
	}
	retry(engine.FailedJobs{IDs: []int64{999_999, ids[1]}}, 10, ids[1])
	retry(engine.FailedJobs{Kind: "special"}, 10, ids[2])
	retry(engine.FailedJobs{Queue: "q"}, 1, ids[0])
	retry(engine.FailedJobs{Queue: "q"}, 1)
	for i, a := range b.claim(t, "q", 3) {
		id, most := []int64{ids[1], ids[2], ids[0]}[i], []int{5, 25, 2}[i]
		if a.Receipt.JobID() != id || a.Receipt.RunLease() != 2 || a.Attempt != 2 || a.Max != most || string(a.Args) != string(before[id].Args) {
			t.Errorf("handed out %+v, want job %d with %d attempts", a, id, most)
		}
		if j := b.job(t, id); len(j.Errors) != 1 {
			t.Errorf("the error history is %+v", j.Errors)
		}
	}
	b.wantAudit(t)
}

// A purge by age takes the oldest first and nothing that is young; the age is measured once, however many transactions it
// takes and however the clock goes on meanwhile (hazard 29).
func TestPurgeDLQByAge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.hold(t, "q", true)
	b.failAll(t, b.claimNew(t, "q", 2))
	b.clock.advance(time.Hour)
	b.failAll(t, b.claimNew(t, "q", 1))
	purge := func(age time.Duration, limit int, want ...int64) {
		t.Helper()
		gone, err := b.PurgeDLQ(ctx, engine.HeldJobs{OlderThan: age}, limit)
		if err != nil || !slices.Equal(gone, want) {
			t.Fatalf("%v, %v, want %v", gone, err, want)
		}
	}
	purge(time.Hour, 10) // exactly so old is young
	purge(time.Hour-time.Second, 1, 1)
	purge(time.Hour-time.Second, 10, 2)
	b.wantCounts(t, "q", engine.Counts{DLQ: 1})
	if _, err := b.Job(ctx, 1); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a purged job: %v", err)
	}
	b.wantCancelled(t, []int64{1, 3}, engine.ErrNotFound, engine.ErrWrongState)
	b.wantAudit(t)

	// 1,000 that are old, and others that become so while the purge is at work.
	b.exec(t, `INSERT INTO %s.dlq_entries SELECT 10000 + n, 1, $1::timestamptz - CASE WHEN n <= 1000 THEN interval '2 hours' ELSE interval '30 minutes' END,
		$1, $1, lane_id, 1, 1, 'k', '{}', '[]' FROM %s.dlq_entries, generate_series(1, 1500) n`, b.clock.now())
	var asked atomic.Int64
	cfg := smallRings(b.schema)
	cfg.Now = func() time.Time { return b.clock.now().Add(time.Duration(asked.Add(1)-1) * time.Hour) }
	e, err := engine.Open(ctx, b.pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := e.PurgeDLQ(ctx, engine.HeldJobs{OlderThan: time.Hour}, 5_000)
	if err != nil || len(gone) != 1_000 {
		t.Errorf("%d were purged, %v, want the 1,000 that were old when it began", len(gone), err)
	}
}

// By id a purge takes what is held and nothing else; a key that was held is free.
func TestPurgeDLQByID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.hold(t, "q", true)
	unique := func() engine.JobParams {
		return once(func(j *engine.JobParams) { j.Unique.HeldIn = []engine.JobState{engine.JobDLQ} })
	}
	id := b.newUniqueJob(t, unique())
	b.failAll(t, b.claim(t, "q", 1))
	b.wantUnique(t, unique(), engine.Enqueued{ID: id, Existing: true})
	running := b.claimNew(t, "q", 1)[0].Receipt.JobID()
	gone, err := b.PurgeDLQ(ctx, engine.HeldJobs{IDs: []int64{running, id, 999_999}}, 10)
	if err != nil || !slices.Equal(gone, []int64{id}) {
		t.Fatalf("%v, %v", gone, err)
	}
	b.wantCounts(t, "q", engine.Counts{Running: 1})
	if again := b.newUniqueJob(t, unique()); again == id {
		t.Errorf("job %d holds the key of itself", again)
	}
	b.wantAudit(t)
}

// A job whose key another has taken stays where it is; JobFailed says nothing of a job that is held.
func TestDLQAndUniqueKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	unique := func() engine.JobParams {
		return once(func(j *engine.JobParams) { j.Unique.HeldIn = []engine.JobState{engine.JobFailed} })
	}
	id := b.newUniqueJob(t, unique())
	b.failAll(t, b.claim(t, "q", 1))
	b.wantUnique(t, unique(), engine.Enqueued{ID: id, Existing: true})
	if out, err := b.MoveToDLQ(ctx, engine.FailedJobs{IDs: []int64{id}}, 1); err != nil || len(out.Moved) != 1 {
		t.Fatal(out, err)
	}
	b.newUniqueJob(t, unique())
	out, err := b.RetryFromDLQ(ctx, engine.FailedJobs{IDs: []int64{id}}, 1)
	if err != nil || len(out.Retried) != 0 || out.Matched != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if j := b.job(t, id); j.State != engine.JobDLQ {
		t.Errorf("the job is %s", j.State)
	}
	b.wantAudit(t)
}

func TestDLQValidates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	before := b.rowCounts(t)
	for _, which := range []engine.FailedJobs{{}, {Queue: "q", Kind: "k"}, {Queue: "\x00"}, {IDs: make([]int64, 10_001)}} {
		if _, err := b.MoveToDLQ(ctx, which, 10); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("MoveToDLQ, queue %q: %v", which.Queue, err)
		}
		if _, err := b.RetryFromDLQ(ctx, which, 10); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("RetryFromDLQ, queue %q: %v", which.Queue, err)
		}
	}
	// The zero value must not mean everything.
	for _, which := range []engine.HeldJobs{{}, {OlderThan: -1}, {OlderThan: 1, IDs: []int64{1}}, {IDs: make([]int64, 10_001)}} {
		if _, err := b.PurgeDLQ(ctx, which, 10); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("PurgeDLQ, %s, %d ids: %v", which.OlderThan, len(which.IDs), err)
		}
	}
	for _, limit := range []int{0, 10_001} {
		_, err := b.PurgeDLQ(ctx, engine.HeldJobs{OlderThan: time.Hour}, limit)
		wantError(t, err, engine.ErrInvalid, "limit")
	}
	b.wantUnchanged(t, before)
}
