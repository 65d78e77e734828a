package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// wantPlaced compares the outcome of each job; nil stands for success.
func wantPlaced(t *testing.T, ids []int64, results []engine.JobResult, err error, want ...error) {
	t.Helper()
	if err != nil || len(results) != len(want) {
		t.Fatalf("%+v, %v", results, err)
	}
	for i, r := range results {
		if r.JobID != ids[i] || !errors.Is(r.Err, want[i]) || (want[i] == nil) != (r.Err == nil) {
			t.Errorf("place %d: %+v, want job %d and %v", i, r, ids[i], want[i])
		}
	}
}

func (b *bundle) prioritise(t *testing.T, priority int, ids ...int64) {
	t.Helper()
	results, err := b.SetPriority(t.Context(), ids, priority)
	wantPlaced(t, ids, results, err, make([]error, len(ids))...)
}

func (b *bundle) moveTo(t *testing.T, queue string, ids ...int64) {
	t.Helper()
	results, err := b.MoveJob(t.Context(), ids, queue)
	wantPlaced(t, ids, results, err, make([]error, len(ids))...)
}

// Jobs that wait are moved wherever they wait, many at once, and what doesn't wait is left alone and told apart.
func TestMoveInEveryState(t *testing.T) {
	t.Parallel()
	for _, op := range []struct {
		name, queue string
		priority    int
		run         func(context.Context, *engine.Engine, []int64) ([]engine.JobResult, error)
	}{
		{"SetPriority", "q", 1, func(ctx context.Context, e *engine.Engine, ids []int64) ([]engine.JobResult, error) {
			return e.SetPriority(ctx, ids, 1)
		}},
		{"MoveJob", "other", 2, func(ctx context.Context, e *engine.Engine, ids []int64) ([]engine.JobResult, error) {
			return e.MoveJob(ctx, ids, "other")
		}},
	} {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := t.Context()
			batch := jobs("q", 6)
			batch[3].TimeLimit = time.Hour
			batch[4].RunAt = b.clock.now().Add(time.Hour)
			ids, err := b.EnqueueMany(ctx, batch)
			if err != nil {
				t.Fatal(err)
			}
			b.again(t, b.claim(t, "q", 1), time.Hour, engine.JobRetryable) // 0
			b.complete(t, b.claim(t, "q", 1))                              // 1
			running := b.claim(t, "q", 1)                                  // 2; 3 and 5 are available, 4 is scheduled
			asked := append(slices.Clone(ids), ids[5], ids[5]+1000)
			results, err := op.run(ctx, b.Engine, asked)
			wantPlaced(t, asked, results, err, nil, engine.ErrWrongState, engine.ErrWrongState, nil, nil, nil, nil, engine.ErrNotFound)
			for i, want := range []struct {
				state   engine.JobState
				lease   int64
				attempt int
			}{{engine.JobRetryable, 1, 1}, {engine.JobCompleted, 1, 1}, {engine.JobRunning, 1, 1}, {engine.JobAvailable, 1, 0}, {engine.JobScheduled, 0, 0}, {engine.JobAvailable, 1, 0}} {
				j := b.job(t, ids[i])
				queue, priority := op.queue, op.priority
				if i == 1 || i == 2 {
					queue, priority = "q", 2
				}
				if j.State != want.state || j.Queue != queue || j.Priority != priority || j.RunLease != want.lease || j.Attempt != want.attempt || string(j.Args) != string(batch[i].Args) {
					t.Errorf("job %d: %+v", i, j)
				}
			}
			b.wantAudit(t)
			b.clock.advance(time.Hour)
			if n, err := b.Promote(ctx, 10); err != nil || n != 2 {
				t.Fatalf("promoted %d, %v", n, err)
			}
			attempts := b.claim(t, op.queue, 4)
			var got []int64
			for _, a := range attempts {
				if a.Priority != op.priority || a.Deadline != nil != (a.Receipt.JobID() == ids[3]) {
					t.Errorf("%+v", a)
				}
				got = append(got, a.Receipt.JobID())
			}
			slices.Sort(got[2:])
			if want := []int64{ids[3], ids[5], ids[0], ids[4]}; !slices.Equal(got, want) {
				t.Errorf("handed out %v, want %v", got, want)
			}
			b.complete(t, append(attempts, running...))
			b.wantAudit(t)
		})
	}
}

// Jobs come to the end of their new lane in the order of the request, from whatever slots, and one that is there keeps its
// place; the positions that they leave let their slots be pruned.
func TestMovedJobsStandInTheOrderOfTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.enqueue(t, "q", 2)
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	second := b.enqueue(t, "q", 2)
	other := b.open(t, b.pool)
	b.prioritise(t, 1, second[1])
	b.prioritise(t, 1, first[1], second[1], first[0])
	b.wantPrune(t, rings[0], engine.Pruned, 0)
	b.wantRotate(t, rings[0], engine.Rotated, 2)
	b.prioritise(t, 3, first[1])
	b.wantCounts(t, "q", engine.Counts{Available: 4})
	b.wantAudit(t)
	b.wantJobs(t, other, "q", second[1], first[0], second[0], first[1])
}

// A job that was moved is its new queue's: paused with it, late after its time, held when it fails. What was taken for the
// old one stays: its unique key.
func TestMovedJobIsItsNewQueues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	cfg := smallRings(b.schema)
	cfg.Now = b.clock.now
	cfg.Queues = map[string]engine.QueueConfig{"new": {DeadlineDuration: time.Minute}}
	e, err := engine.Open(ctx, b.pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	job := engine.JobParams{Queue: "old", Kind: "k", MaxAttempts: 1, Unique: &engine.Unique{Queue: true}}
	id := b.newUniqueJob(t, job)
	b.hold(t, "new", true)
	if err := b.PauseQueue(ctx, "new"); err != nil {
		t.Fatal(err)
	}
	b.moveTo(t, "new", id)
	b.wantCounts(t, "old", engine.Counts{})
	b.wantCounts(t, "new", engine.Counts{Available: 1})
	if attempts, err := e.Claim(ctx, "new", 1); err != nil || len(attempts) != 0 {
		t.Fatalf("handed out of a paused queue: %+v, %v", attempts, err)
	}
	if err := b.ResumeQueue(ctx, "new"); err != nil {
		t.Fatal(err)
	}
	attempts, err := e.Claim(ctx, "new", 1)
	if err != nil || len(attempts) != 1 || attempts[0].Deadline == nil {
		t.Fatalf("%+v, %v", attempts, err)
	}
	b.wantUnique(t, job, engine.Enqueued{ID: id, Existing: true})
	job.Queue = "new"
	b.newUniqueJob(t, job)
	if _, err := e.Fail(ctx, []engine.Failure{{Receipt: attempts[0].Receipt, Message: "m"}}); err != nil {
		t.Fatal(err)
	}
	b.wantCounts(t, "new", engine.Counts{DLQ: 1, Available: 1})
	b.wantAudit(t)
}

// One piece of evidence covers no more positions than a claim may take: the audit reads no further.
func TestManyPositionsAreSpentInSeveralPieces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(t, "q", 5000)
	b.prioritise(t, 1, ids...)
	b.wantCancelled(t, ids, make([]error, len(ids))...)
	b.wantCounts(t, "q", engine.Counts{Cancelled: 5000})
	var most, pieces int
	err := b.pool.QueryRow(t.Context(), b.sql(`SELECT max(claimed_count), count(*) FROM %s.ready_claim_attempt_batches`)).Scan(&most, &pieces)
	if err != nil || most > 4096 || pieces != 4 {
		t.Errorf("%d pieces with up to %d positions, %v", pieces, most, err)
	}
}

func TestMoveRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(t, "q", 1)
	for _, priority := range []int{0, 5} {
		_, err := b.SetPriority(t.Context(), ids, priority)
		wantError(t, err, engine.ErrInvalid, "priority")
	}
	_, err := b.MoveJob(t.Context(), ids, "")
	wantError(t, err, engine.ErrInvalid, "queue")
	_, err = b.MoveJob(t.Context(), make([]int64, 10_001), "q")
	wantError(t, err, engine.ErrInvalid, "10001 jobs")
	if j := b.job(t, ids[0]); j.RunLease != 0 {
		t.Errorf("%+v", j)
	}
}
