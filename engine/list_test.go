package engine_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

func (b *bundle) list(t *testing.T, which engine.JobFilter, page engine.JobPage) (ids []int64) {
	t.Helper()
	all, err := b.ListJobs(t.Context(), which, page)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range all {
		if alone := b.job(t, j.ID); !reflect.DeepEqual(j, alone) {
			t.Errorf("the list has %+v, Job %+v", j, alone)
		}
		ids = append(ids, j.ID)
	}
	return ids
}

// Jobs are listed as Job tells of them, whatever their state, by all that they can be chosen by, page by page in both
// directions.
func TestListJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	batch := jobs("q", 5)
	batch[3].RunAt, batch[3].Kind = b.clock.now().Add(time.Hour), "later"
	ids, err := b.EnqueueMany(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	other := b.enqueue(t, "other", 1)[0]
	b.complete(t, b.claim(t, "q", 1)) // 0
	b.failAll(t, b.claim(t, "q", 1))  // 1
	b.claim(t, "q", 1)                // 2; 3 is scheduled, 4 is available
	b.prioritise(t, 1, ids[4])        // with two rows
	all := append(slices.Clone(ids), other)
	slices.Sort(all) // one that is deferred gets its id after those that aren't
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for _, c := range []struct {
		what  string
		which engine.JobFilter
		page  engine.JobPage
		want  []int64
	}{
		{"all", engine.JobFilter{}, engine.JobPage{Limit: 10}, newest},
		{"the oldest first", engine.JobFilter{}, engine.JobPage{Limit: 10, OldestFirst: true}, all},
		{"the first page", engine.JobFilter{}, engine.JobPage{Limit: 2}, newest[:2]},
		{"the second page", engine.JobFilter{}, engine.JobPage{Limit: 2, After: newest[1]}, newest[2:4]},
		{"the second page of the oldest", engine.JobFilter{}, engine.JobPage{Limit: 4, After: all[3], OldestFirst: true}, all[4:]},
		{"by queue", engine.JobFilter{Queue: "other"}, engine.JobPage{Limit: 10}, []int64{other}},
		{"by kind", engine.JobFilter{Kind: "later"}, engine.JobPage{Limit: 10}, ids[3:4]},
		{"by ids", engine.JobFilter{IDs: []int64{ids[1], ids[3], 1 << 40}}, engine.JobPage{Limit: 10}, []int64{ids[3], ids[1]}},
		{"by a state", engine.JobFilter{States: []engine.JobState{engine.JobRunning}}, engine.JobPage{Limit: 10}, ids[2:3]},
		{"by states and queue", engine.JobFilter{States: []engine.JobState{engine.JobAvailable, engine.JobFailed}, Queue: "q"}, engine.JobPage{Limit: 10}, []int64{ids[4], ids[1]}},
		{"of no queue", engine.JobFilter{Queue: "nobody's"}, engine.JobPage{Limit: 10}, nil},
	} {
		if got := b.list(t, c.which, c.page); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

func TestListJobsRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		says  string
		which engine.JobFilter
		page  engine.JobPage
	}{
		{"limit", engine.JobFilter{}, engine.JobPage{}},
		{"limit", engine.JobFilter{}, engine.JobPage{Limit: 1001}},
		{"after", engine.JobFilter{}, engine.JobPage{Limit: 1, After: -1}},
		{"state", engine.JobFilter{States: []engine.JobState{"lost"}}, engine.JobPage{Limit: 1}},
		{"queue", engine.JobFilter{Queue: "\x00"}, engine.JobPage{Limit: 1}},
		{"kind", engine.JobFilter{Kind: "\x00"}, engine.JobPage{Limit: 1}},
		{"ids", engine.JobFilter{IDs: make([]int64, 10_001)}, engine.JobPage{Limit: 1}},
	} {
		_, err := b.ListJobs(t.Context(), c.which, c.page)
		wantError(t, err, engine.ErrInvalid, c.says)
	}
}
