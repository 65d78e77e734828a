package schedule

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/awa-engine/awa/model"
)

// A forger runs a real schedule and then changes what was said, or what stands in the rows: the judge must see it.
func TestJudgeRejects(t *testing.T) {
	sc := scenario(t, "complete-rescue")
	st, err := newStage(t.Context(), server, "judged", sc)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	for name, forge := range map[string]func(*Outcome) string{
		"nothing": func(*Outcome) string { return "" },
		"a completion that says it was stale": func(o *Outcome) string {
			answerOf[model.Complete](o).Closed = []model.ClosedAttempt{{Stale: true}}
			return ""
		},
		"a rescue that counts too much": func(o *Outcome) string {
			answerOf[model.RescueStale](o).Requeued = 1
			return ""
		},
		"a job that is gone": func(*Outcome) string { return "DELETE FROM {s}.ready_entries" },
		"a closure that is gone": func(*Outcome) string {
			return "DELETE FROM {s}.lease_claim_closure_batches"
		},
		"a job that nobody enqueued": func(*Outcome) string {
			return `INSERT INTO {s}.ready_entries_0 (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, max_attempts, created_at, kind, args)
			        SELECT ready_slot, ready_generation, lane_id, lane_seq + 1000, job_id + 1000, 0, 0, 1, created_at, kind, args FROM {s}.ready_entries_0`
		},
	} {
		why := forged(t, st, forge)
		if (why == nil) != (name == "nothing") {
			t.Errorf("%s: judged as %v", name, why)
		}
	}
}

// forged runs the worker before the leader, forges the outcome, and has it judged.
func forged(t *testing.T, st *stage, forge func(*Outcome) string) *Failure {
	t.Helper()
	o, err := st.perform(t.Context(), false, follow(&Seed{Scenario: st.scenario, Schedule: []Turn{{"worker", 99}}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range st.tables {
		st.touched[name] = true
	}
	if sql := forge(o); sql != "" {
		if _, err := st.control.Exec(t.Context(), strings.ReplaceAll(sql, "{s}", st.schema)); err != nil {
			t.Fatal(err)
		}
	}
	why, err := st.judgeRun(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return why
}

func answerOf[A model.Action](o *Outcome) *Answer {
	for i := range o.Done {
		if isA[A](o.Done[i]) {
			return &o.Done[i].Answer
		}
	}
	panic(fmt.Sprintf("no %T in the schedule", *new(A)))
}

// Operations that didn't overlap keep their order: what came first can't have been second.
func TestJudgeKeepsRealTime(t *testing.T) {
	t.Parallel()
	j := &judging{done: []Done{{Session: 0, Begin: 0, End: 3}, {Session: 1, Begin: 4, End: 6}, {Session: 2, Begin: 2, End: 5}}}
	if !j.precedes(0, 1) || j.precedes(1, 0) || j.overlaps(0, 1) {
		t.Error("an operation that ended before another began doesn't precede it")
	}
	if !j.overlaps(0, 2) || !j.overlaps(1, 2) {
		t.Error("operations that were under way at the same time don't overlap")
	}
}
