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

// What a page is for may lie behind more jobs than are looked at first, in either direction; none is passed over or told twice where
// one portion ends and the next begins.
func TestListJobsInPortions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(t, "q", 4_500)
	b.claim(t, "q", 1_500)
	later := jobs("q", 1)
	later[0].RunAt = b.clock.now().Add(time.Hour)
	deferred, err := b.EnqueueMany(t.Context(), later)
	if err != nil {
		t.Fatal(err)
	}
	want := func(state engine.JobState, page engine.JobPage, want ...int64) {
		t.Helper()
		page.Limit = 5
		found, err := b.ListJobs(t.Context(), engine.JobFilter{States: []engine.JobState{state}}, page)
		var got []int64
		for _, j := range found {
			got = append(got, j.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d, %v, want %d", state, got, err, want)
		}
	}
	want(engine.JobRunning, engine.JobPage{}, ids[1499], ids[1498], ids[1497], ids[1496], ids[1495])
	want(engine.JobRunning, engine.JobPage{After: ids[2]}, ids[1], ids[0])
	want(engine.JobScheduled, engine.JobPage{OldestFirst: true}, deferred[0])
	for _, oldestFirst := range []bool{true, false} {
		var all []int64
		for {
			page := engine.JobPage{Limit: 1_000, OldestFirst: oldestFirst}
			if len(all) > 0 {
				page.After = all[len(all)-1]
			}
			found, err := b.ListJobs(t.Context(), engine.JobFilter{Kind: "k", States: []engine.JobState{engine.JobAvailable, engine.JobScheduled, engine.JobRunning}}, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range found {
				all = append(all, j.ID)
			}
			if len(found) < page.Limit {
				break
			}
		}
		if !oldestFirst {
			slices.Reverse(all)
		}
		if !slices.Equal(all, append(slices.Clone(ids), deferred...)) {
			t.Errorf("oldest first %t: %d jobs of %d, or another order", oldestFirst, len(all), len(ids)+1)
		}
	}
	// Of the first 2,000 jobs 500 are available, and the page has room for as many from the next portion.
	found, err := b.ListJobs(t.Context(), engine.JobFilter{States: []engine.JobState{engine.JobAvailable}}, engine.JobPage{Limit: 1_000, OldestFirst: true})
	if err != nil || len(found) != 1_000 || found[0].ID != ids[1_500] || found[999].ID != ids[2_499] {
		t.Errorf("%d jobs, %v", len(found), err)
	}
}
