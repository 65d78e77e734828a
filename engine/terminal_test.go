package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// The view tells the same of a job as Job does, in each shape that its end is stored in.
func TestTerminalJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	attempts := b.claimNew(t, "q", 5)
	b.failAll(t, attempts[:2])
	b.complete(t, attempts[2:])
	b.lap(t, time.Hour) // these are wide now
	b.complete(t, b.claimNew(t, "q", 2))
	more := b.claimNew(t, "q", 2)
	b.failAll(t, more[1:])
	b.complete(t, more[:1])
	rows, err := b.pool.Query(t.Context(), b.sql(`SELECT job_id, queue, priority, state, finalized_at, run_lease, attempt, max_attempts, created_at, kind, args::text, jsonb_array_length(errors)
		FROM %s.terminal_jobs WHERE queue = 'q'`))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	shown := map[engine.JobState]int{}
	var lines []engine.Job
	for rows.Next() {
		var j engine.Job
		var args string
		var n int
		if err := rows.Scan(&j.ID, &j.Queue, &j.Priority, &j.State, &j.FinalizedAt, &j.RunLease, &j.Attempt, &j.MaxAttempts, &j.CreatedAt, &j.Kind, &args, &n); err != nil {
			t.Fatal(err)
		}
		j.Args, j.Errors = []byte(args), make([]engine.JobError, n)
		lines = append(lines, j)
		shown[j.State]++
	}
	for _, j := range lines {
		want := b.job(t, j.ID)
		want.Errors = make([]engine.JobError, len(want.Errors))
		if !sameJob(j, want) {
			t.Errorf("the view says %+v, Job says %+v", j, want)
		}
	}
	if fmt.Sprint(shown) != fmt.Sprint(map[engine.JobState]int{engine.JobCompleted: 3, engine.JobFailed: 3}) {
		t.Errorf("the view shows %v", shown)
	}
}
