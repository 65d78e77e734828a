package engine_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// openProducer is a transaction of the caller's that has enqueued and stays open, perhaps for hours.
type openProducer struct {
	pgx.Tx
	ids []int64
}

func (b *bundle) openProducer(t *testing.T, queue string, n int) *openProducer {
	t.Helper()
	p := &openProducer{Tx: begin(t, b.pool, pgx.ReadCommitted)}
	p.enqueue(t, b, queue, n)
	return p
}

func (p *openProducer) enqueue(t *testing.T, b *bundle, queue string, n int) {
	t.Helper()
	ids, err := b.EnqueueTx(t.Context(), p, jobs(queue, n)...)
	if err != nil {
		t.Fatal(err)
	}
	p.ids = append(p.ids, ids...)
}

func (p *openProducer) commit(t *testing.T) {
	t.Helper()
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantJobs claims exactly these jobs, in this order.
func (b *bundle) wantJobs(t *testing.T, e *engine.Engine, queue string, ids ...int64) []engine.Attempt {
	t.Helper()
	attempts, err := e.Claim(t.Context(), queue, len(ids)+1)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, a := range attempts {
		got = append(got, a.Receipt.JobID())
	}
	if len(got) != len(ids) {
		t.Fatalf("claimed the jobs %v, want %v", got, ids)
	}
	for i := range ids {
		if got[i] != ids[i] {
			t.Fatalf("claimed the jobs %v, want %v", got, ids)
		}
	}
	return attempts
}

// Promise P5: with a producer open in the same queue nobody waits. On sessions that give up after a second.
func TestNobodyWaitsForAnOpenProducer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	e := b.open(t, impatient(t, 4))
	open := b.openProducer(t, "q", 2)

	tx, err := b.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // it is committed below
	inTx, err := e.EnqueueTx(ctx, tx, jobs("q", 1)...)
	if err != nil {
		t.Fatal("another producer:", err)
	}
	many, err := e.EnqueueMany(ctx, jobs("q", 3))
	if err != nil {
		t.Fatal("another producer, by COPY:", err)
	}
	attempts := b.wantJobs(t, e, "q", many...)
	results, err := e.Complete(ctx, receipts(attempts[:1]))
	if err != nil || results[0].Err != nil {
		t.Fatal("a completion:", results, err)
	}
	results, err = e.Fail(ctx, []engine.Failure{{Receipt: attempts[1].Receipt, Message: "m"}})
	if err != nil || results[0].Err != nil {
		t.Fatal("a failure:", results, err)
	}
	b.clock.advance(1e9)
	if swept, err := e.RescueStale(ctx, 0, 10); err != nil || swept.Requeued != 1 {
		t.Fatal("a rescue:", swept, err)
	}
	if out, err := e.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatal("a rotation:", out, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	one, err := e.Enqueue(ctx, jobs("q", 1)[0])
	if err != nil {
		t.Fatal("another producer, alone:", err)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 3, Completed: 1, Failed: 1})
	b.wantJobs(t, e, "q", inTx[0], many[2], one)

	// And what the open one enqueued comes out once it commits.
	open.commit(t)
	b.wantJobs(t, e, "q", open.ids...)
}

// Hazard 2: a lower position commits after a higher one was handed out, completed, and its slot left behind.
func TestLowerPositionCommitsLate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.open(t, b.pool)
	open := b.openProducer(t, "q", 2)
	between := b.enqueue(t, "q", 3)
	open.enqueue(t, b, "q", 1)
	after := b.enqueue(t, "q", 1)
	attempts := b.wantJobs(t, b.Engine, "q", append(between, after...)...)
	b.complete(t, attempts)
	for range 4 { // the hints of both processes look, and look again
		b.wantJobs(t, b.Engine, "q")
		b.wantJobs(t, other, "q")
	}
	open.commit(t)
	b.wantJobs(t, b.Engine, "q", open.ids...)
	b.wantJobs(t, other, "q")
}

// The order of a lane is the order of its positions, whichever slot they stand in: the open producer holds lower
// numbers in a newer slot, and higher ones in an older.
func TestLaneOrderAcrossSlots(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	rotate := func() {
		t.Helper()
		if out, err := b.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
			t.Fatal(out, err)
		}
	}
	first := b.enqueue(t, "q", 1)
	open := b.openProducer(t, "q", 1) // generation 0, position 2
	rotate()
	second := b.enqueue(t, "q", 1)     // generation 1, position 3
	open.enqueue(t, b, "q", 1)         // generation 1, position 4
	older := b.openProducer(t, "q", 1) // generation 1, position 5
	rotate()
	third := b.enqueue(t, "q", 1) // generation 2, position 6
	open.commit(t)
	older.commit(t)
	b.wantJobs(t, b.Engine, "q", first[0], open.ids[0], second[0], open.ids[1], older.ids[0], third[0])
}

// An open producer's slot is not pruned, whatever else in it is spent; the prune names who is in the way, and goes on
// once the producer ends, either way.
func TestOpenProducerHoldsItsSlot(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		b := setup(t)
		ctx := t.Context()
		e := b.open(t, impatient(t, 2))
		b.complete(t, b.claimNew(t, "q", 2))
		open := b.openProducer(t, "q", 1)
		if out, err := e.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
			t.Fatal(out, err)
		}
		pid := int32(open.Conn().PgConn().PID())
		for range 3 {
			out, err := e.PruneQueue(ctx, 0)
			if err != nil || out.Status != engine.PruneBlocked || out.Generation != 0 || out.Holder == nil || out.Holder.PID != pid || out.Holder.Age <= 0 {
				t.Fatalf("prune beside an open producer: %+v %+v, %v", out, out.Holder, err)
			}
		}
		if commit {
			open.commit(t)
			if out, err := e.PruneQueue(ctx, 0); err != nil || out.Status != engine.PruneSkippedActive {
				t.Fatal(out, err)
			}
			b.complete(t, b.wantJobs(t, e, "q", open.ids...))
		} else if err := open.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		if out, err := e.PruneQueue(ctx, 0); err != nil || out.Status != engine.Pruned {
			t.Fatal(out, err)
		}
	}
}

// claimNew enqueues jobs and claims them.
func (b *bundle) claimNew(t *testing.T, queue string, n int) []engine.Attempt {
	t.Helper()
	b.enqueue(t, queue, n)
	return b.claim(t, queue, n)
}

// Positions of transactions that were rolled back are holes that no claim and no prune minds.
func TestRolledBackPositionsAreNoJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	var want []int64
	for i := range 20 {
		p := b.openProducer(t, "q", 1+i%3)
		if i%3 == 0 {
			p.commit(t)
			want = append(want, p.ids...)
		} else if err := p.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
	}
	attempts := b.wantJobs(t, b.Engine, "q", want...)
	b.wantJobs(t, b.open(t, b.pool), "q")
	b.complete(t, attempts)
	b.turn(t)
	b.wantCounts(t, "q", engine.Counts{PrunedCompleted: int64(len(want))})
}

// With an open producer in it the ring runs full and rotation waits; work goes on in the current slot, and no order is
// lost when the producer commits at last.
func TestRingRunsFullBehindAnOpenProducer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	open := b.openProducer(t, "q", 1)
	rotations := 0
	for range 8 {
		b.complete(t, b.claimNew(t, "q", 5))
		out, err := b.RotateQueue(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if out.Status == engine.Rotated {
			rotations++
		} else if out.Status != engine.RotateSkippedNextNotPruned {
			t.Fatal(out)
		}
		if out, err := b.PruneQueue(ctx, 0); err != nil || out.Status != engine.PruneBlocked {
			t.Fatal(out, err)
		}
	}
	if rotations != 3 {
		t.Errorf("a ring of 4 slots, none of which can be pruned, turned %d times", rotations)
	}
	open.commit(t)
	b.complete(t, b.wantJobs(t, b.Engine, "q", open.ids...))
	for range 3 {
		if out, err := b.PruneQueue(ctx, 0); err != nil || out.Status != engine.Pruned {
			t.Fatal(out, err)
		}
	}
	b.wantCounts(t, "q", engine.Counts{Completed: 25, PrunedCompleted: 16})
}
