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

// The shard of a key is a promise: these values may never change, here or elsewhere.
func TestShardOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key           string
		two, three    int
		seven, sixtyF int
	}{
		{"", 1, 0, 6, 1},
		{"a", 0, 1, 1, 0},
		{"k1", 0, 0, 5, 6},
		{"order-4711", 1, 0, 3, 21},
		{"é", 0, 2, 2, 6},
	} {
		for shards, want := range map[int]int{1: 0, 2: c.two, 3: c.three, 7: c.seven, 64: c.sixtyF} {
			if got := engine.ShardOf(c.key, shards); got != want {
				t.Errorf("%q is of shard %d of %d, want %d", c.key, got, shards, want)
			}
		}
	}
	spread := map[int]int{}
	for i := range 64_000 {
		spread[engine.ShardOf(fmt.Sprintf("customer-%d", i), 64)]++
	}
	for shard := range 64 {
		if n := spread[shard]; n < 850 || n > 1150 {
			t.Errorf("%d of 64,000 keys are of shard %d of 64", n, shard)
		}
	}
}

func (b *bundle) shards(t *testing.T, n int) {
	t.Helper()
	if err := b.SetShards(t.Context(), "q", n); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) keyed(t *testing.T, e *engine.Engine, key string) int64 {
	t.Helper()
	id, err := e.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", OrderingKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bundle) shardOf(t *testing.T, id int64) int {
	t.Helper()
	j, err := b.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j.Shard
}

// Jobs go where their key says, by each way to enqueue; those without one are dealt out; and all are handed out, once.
func TestShards(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.shards(t, 4)
	tx := begin(t, b.pool, pgx.ReadCommitted)
	ids, err := b.EnqueueTx(ctx, tx, engine.JobParams{Queue: "q", Kind: "k", OrderingKey: "k2"})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, b.keyed(t, b.Engine, "k2"))
	many := jobs("q", 12)
	for i := range many[:8] {
		many[i].OrderingKey = "k2"
	}
	more, err := b.EnqueueMany(ctx, many)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range slices.Concat(ids, more[:8]) {
		if got, want := b.shardOf(t, id), engine.ShardOf("k2", 4); got != want {
			t.Errorf("job %d came into shard %d, want %d", id, got, want)
		}
	}
	var dealt []int
	for _, id := range more[8:] {
		dealt = append(dealt, b.shardOf(t, id))
	}
	if slices.Sort(dealt); !slices.Equal(dealt, []int{0, 1, 2, 3}) {
		t.Errorf("jobs without a key came into shards %v", dealt)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 14})
	all := b.claim(t, "q", 14)
	b.complete(t, all[:7])
	b.complete(t, all[7:])
	b.wantCounts(t, "q", engine.Counts{Completed: 14})
	if states, err := b.Queues(ctx, "", 10); err != nil || len(states) != 1 || states[0].Shards != 4 {
		t.Errorf("%+v, %v", states, err)
	}
	if n := one[int](t, b, `SELECT count(*) FROM %s.lanes`); n != 16 {
		t.Errorf("%d lanes", n)
	}
	wantError(t, b.SetShards(ctx, "q", 0), engine.ErrInvalid, "shards 0")
	wantError(t, b.SetShards(ctx, "q", 65), engine.ErrInvalid, "shards 65")
	wantError(t, b.SetShards(ctx, "", 2), engine.ErrInvalid, "queue")
	_, err = b.Enqueue(ctx, engine.JobParams{Queue: "q", Kind: "k", OrderingKey: strings.Repeat("x", 1025)})
	wantError(t, err, engine.ErrInvalid, "OrderingKey")
}

// Positions of two shards are alike, and mean two jobs: the end of one hides nothing of the other (hazard 7).
func TestShardsDontHideEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.shards(t, 2)
	first, second := b.keyed(t, b.Engine, "k1"), b.keyed(t, b.Engine, "k2") // each is the first of its shard
	if b.shardOf(t, first) == b.shardOf(t, second) {
		t.Fatal("both are of one shard")
	}
	attempts := b.claim(t, "q", 1)
	if attempts[0].Receipt.JobID() != first {
		t.Fatalf("handed out job %d before %d", attempts[0].Receipt.JobID(), first)
	}
	b.complete(t, attempts)
	if j, err := b.Job(ctx, second); err != nil || j.State != engine.JobAvailable {
		t.Errorf("%+v, %v", j, err)
	}
	if out, err := b.RotateQueue(ctx); err != nil || out.Status != engine.Rotated {
		t.Fatal(out, err)
	}
	if out, err := b.PruneQueue(ctx, 0); err != nil || out.Status != engine.PruneSkippedActive {
		t.Errorf("%+v, %v", out, err)
	}
	b.wantCounts(t, "q", engine.Counts{Available: 1, Completed: 1})
	b.wantJobs(t, b.Engine, "q", second)
}

// A lowered number takes no jobs away: what is in the shards above it is handed out, and nothing more comes there.
func TestLoweredShardsDrain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.open(t, b.pool) // a process that has met the queue before
	b.enqueue(t, "q", 1)
	b.complete(t, b.claim(t, "q", 1))
	if attempts, err := other.Claim(t.Context(), "q", 1); err != nil || len(attempts) != 0 {
		t.Fatal(attempts, err)
	}
	b.shards(t, 8)
	var want []int64
	for i := range 16 {
		want = append(want, b.keyed(t, b.Engine, fmt.Sprintf("k%d", i)))
	}
	b.shards(t, 1)
	for i := range 4 {
		id := b.keyed(t, other, fmt.Sprintf("k%d", i))
		if shard := b.shardOf(t, id); shard != 0 {
			t.Errorf("a job came into shard %d of 1", shard)
		}
		want = append(want, id)
	}
	if c, err := other.Counts(t.Context(), "q"); err != nil || c.Available != 20 {
		t.Errorf("%+v, %v", c, err)
	}
	var got []int64
	for range 4 {
		attempts, err := other.Claim(t.Context(), "q", 6)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range attempts {
			got = append(got, a.Receipt.JobID())
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("handed out %v of %v", got, want)
	}
}

// A process that doesn't know of new lanes learns of them by the first thing that it does: it hands out, counts, pauses and
// enqueues as the others do.
func TestStaleShardsAreNoticed(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]func(b *bundle, e *engine.Engine) bool{
		"Claim": func(b *bundle, e *engine.Engine) bool {
			attempts, err := e.Claim(t.Context(), "q", 9)
			return err == nil && len(attempts) == 2
		},
		"Counts": func(b *bundle, e *engine.Engine) bool {
			c, err := e.Counts(t.Context(), "q")
			return err == nil && c.Available == 2
		},
		"Enqueue": func(b *bundle, e *engine.Engine) bool {
			return b.shardOf(t, b.keyed(t, e, "k2")) == 1
		},
		"EnqueueTx": func(b *bundle, e *engine.Engine) bool {
			tx := begin(t, b.pool, pgx.ReadCommitted)
			ids, err := e.EnqueueTx(t.Context(), tx, engine.JobParams{Queue: "q", Kind: "k", OrderingKey: "k2"})
			return err == nil && tx.Commit(t.Context()) == nil && b.shardOf(t, ids[0]) == 1
		},
		"PauseQueue": func(b *bundle, e *engine.Engine) bool {
			lane := one[int32](t, b, `SELECT max(lane_id) FROM %s.lanes`)
			claim := begin(t, b.pool, pgx.ReadCommitted) // one that has the lock of a new lane alone
			if _, err := claim.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, b.KeyOfLane(lane)); err != nil {
				t.Fatal(err)
			}
			paused := make(chan error, 1)
			go func() { paused <- e.PauseQueue(t.Context(), "q") }()
			b.waitFor(t, `SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
				AND ((classid::bigint << 32) | objid::bigint) = $1`, b.KeyOfLane(lane))
			return claim.Rollback(t.Context()) == nil && <-paused == nil
		},
	} {
		b := setup(t)
		e := b.open(t, b.pool)
		b.enqueue(t, "q", 1)
		if attempts, err := e.Claim(t.Context(), "q", 1); err != nil || len(attempts) != 1 {
			t.Fatal(attempts, err)
		}
		b.shards(t, 2)
		b.keyed(t, b.Engine, "k1")
		b.keyed(t, b.Engine, "k2")
		if !does(b, e) {
			t.Errorf("%s goes by the lanes that there were", name)
		}
	}
}

// Within a priority the oldest job is handed out first, in whatever shard it is, so that no shard waits for another; jobs of
// one key keep their order.
func TestShardsAreServedInTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.shards(t, 3)
	var want []int64
	for i := range 30 {
		want = append(want, b.keyed(t, b.Engine, fmt.Sprintf("k%d", i*i%11)))
		b.clock.advance(time.Second)
	}
	var got []int64
	for _, n := range []int{1, 2, 7, 20} {
		for _, a := range b.claim(t, "q", n) {
			got = append(got, a.Receipt.JobID())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("handed out %v, want %v", got, want)
	}
}

// A job that is moved keeps its shard within its queue, and goes into one that the other queue has.
func TestMoveAcrossShards(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.shards(t, 4)
	if err := b.SetShards(ctx, "other", 2); err != nil {
		t.Fatal(err)
	}
	id := b.keyed(t, b.Engine, "k2") // of shard 3
	later, err := b.Enqueue(ctx, engine.JobParams{Queue: "q", Kind: "k", OrderingKey: "k2", RunAt: b.clock.now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		move func() ([]engine.JobResult, error)
		want int
	}{
		{func() ([]engine.JobResult, error) { return b.SetPriority(ctx, []int64{id, later}, 4) }, 3},
		{func() ([]engine.JobResult, error) { return b.MoveJob(ctx, []int64{id, later}, "q") }, 3},
		{func() ([]engine.JobResult, error) { return b.MoveJob(ctx, []int64{id, later}, "other") }, 1},
	} {
		results, err := c.move()
		if err != nil || results[0].Err != nil || results[1].Err != nil {
			t.Fatal(results, err)
		}
		if got, deferred := b.shardOf(t, id), b.shardOf(t, later); got != c.want || deferred != c.want {
			t.Errorf("shards %d and %d, want %d", got, deferred, c.want)
		}
	}
	b.wantJobs(t, b.Engine, "q")
	b.wantJobs(t, b.Engine, "other", id)
}

// A caller's old snapshot may show another number of shards than there is, or than its process knows: the job comes into a lane
// that there is, and is handed out.
func TestShardsUnderOldSnapshot(t *testing.T) {
	t.Parallel()
	for _, numbers := range [][]int{{1, 4}, {4, 1}, {4, 2}} {
		b := setup(t)
		ctx := t.Context()
		b.shards(t, numbers[0])
		stale := b.open(t, b.pool)
		if _, err := stale.Counts(ctx, "q"); err != nil {
			t.Fatal(err)
		}
		tx := begin(t, b.pool, pgx.RepeatableRead)
		if _, err := tx.Exec(ctx, `SELECT 1`); err != nil { // its snapshot is taken
			t.Fatal(err)
		}
		b.shards(t, numbers[1])
		var want []int64
		for _, e := range []*engine.Engine{b.Engine, stale} {
			for _, queue := range []string{"q", "new"} { // the second one isn't in the snapshot at all
				ids, err := e.EnqueueTx(ctx, tx, engine.JobParams{Queue: queue, Kind: "k", OrderingKey: "k2"})
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, ids[0])
			}
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Promote(ctx, 10); err != nil || n != 4 {
			t.Fatal(n, err)
		}
		for i, queue := range []string{"q", "new"} { // of one moment and two shards: in either order
			attempts, err := stale.Claim(ctx, queue, 9)
			if err != nil || len(attempts) != 2 {
				t.Fatal(attempts, err)
			}
			got := []int64{attempts[0].Receipt.JobID(), attempts[1].Receipt.JobID()}
			if slices.Sort(got); !slices.Equal(got, []int64{want[i], want[i+2]}) {
				t.Errorf("claimed the jobs %v of queue %s, want %v", got, queue, want)
			}
		}
	}
}
