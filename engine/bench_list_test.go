package engine_test

import (
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// What a page costs beside 200,000 jobs of which every tenth has failed, every tenth still runs and the others are completed: by a
// state that is rare, the newest ones, and by ids.
func BenchmarkListJobs(b *testing.B) {
	e, _ := benchServer(b, 2)
	ctx := b.Context()
	const jobsInAll, each = 200_000, 500
	rows := jobs("q", each)
	for range jobsInAll / each {
		if _, err := e.EnqueueMany(ctx, rows); err != nil {
			b.Fatal(err)
		}
		attempts, err := e.Claim(ctx, "q", each)
		if err != nil || len(attempts) != each {
			b.Fatal(len(attempts), err)
		}
		var failures []engine.Failure
		for _, a := range attempts[:each/10] {
			failures = append(failures, engine.Failure{Receipt: a.Receipt})
		}
		if _, err := e.Fail(ctx, failures); err != nil {
			b.Fatal(err)
		}
		if _, err := e.Complete(ctx, receipts(attempts[each/5:])); err != nil {
			b.Fatal(err)
		}
	}
	for name, which := range map[string]engine.JobFilter{
		"failed": {States: []engine.JobState{engine.JobFailed}}, "waiting": {States: []engine.JobState{engine.JobWaiting}}, "newest": {}, "ids": {IDs: []int64{7, 100_000}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				began := time.Now()
				if _, err := e.ListJobs(ctx, which, engine.JobPage{Limit: 100}); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(time.Since(began).Seconds(), "s/page")
			}
		})
	}
}
