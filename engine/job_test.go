package engine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awa-engine/awa/engine"
)

// One job in each of its states, read from outside.
func TestJobInEachState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	created := b.clock.now()
	args := json.RawMessage(`{"n": 1.50, "to": "a@example.org"}`)
	params := engine.JobParams{Queue: "mail", Kind: "send", Args: args, Priority: 3, MaxAttempts: 3}
	tx := begin(t, b.pool, pgx.RepeatableRead)
	ids, err := b.EnqueueTx(ctx, tx, params)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	look := func(state engine.JobState, lease int64, attempt, failures int) engine.Job {
		t.Helper()
		j, err := b.Job(ctx, ids[0])
		if err != nil {
			t.Fatal(err)
		}
		if j.ID != ids[0] || j.Queue != "mail" || j.Kind != "send" || j.Priority != 3 || j.MaxAttempts != 3 || !j.CreatedAt.Equal(created) || string(j.Args) != string(args) {
			t.Errorf("the body of the job became %+v", j)
		}
		if j.State != state || j.RunLease != lease || j.Attempt != attempt || len(j.Errors) != failures {
			t.Fatalf("got %+v, want %s, run lease %d, attempt %d, %d errors", j, state, lease, attempt, failures)
		}
		if (j.ClaimedAt != nil) != (state == engine.JobRunning) || (j.FinalizedAt != nil) != (state == engine.JobCompleted || state == engine.JobFailed) {
			t.Errorf("%s with claimed at %v, finalized at %v", state, j.ClaimedAt, j.FinalizedAt)
		}
		return j
	}
	look(engine.JobScheduled, 0, 0, 0)
	b.clock.advance(time.Second)
	if n, err := b.Promote(ctx, 1); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	look(engine.JobAvailable, 0, 0, 0)
	b.claim(t, "mail", 1)
	if j := look(engine.JobRunning, 1, 1, 0); !j.ClaimedAt.Equal(b.clock.now()) {
		t.Errorf("claimed at %s, want %s", j.ClaimedAt, b.clock.now())
	}
	b.clock.advance(time.Minute)
	b.wantRescue(t, time.Second, 1, engine.RescueOutcome{Requeued: 1})
	look(engine.JobAvailable, 1, 1, 1)
	// The old row goes, the job stays.
	b.wantRotate(t, rings[0], engine.Rotated, 1)
	b.wantPrune(t, rings[0], engine.PruneSkippedActive, 0)
	attempts := b.claim(t, "mail", 1)
	look(engine.JobRunning, 2, 2, 1)
	b.complete(t, attempts)
	if j := look(engine.JobCompleted, 2, 2, 1); !j.FinalizedAt.Equal(b.clock.now()) {
		t.Errorf("finalized at %s, want %s", j.FinalizedAt, b.clock.now())
	}
	b.wantPrune(t, rings[0], engine.Pruned, 0)
	if _, err := b.Job(ctx, ids[0]); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("after the prune: %v", err)
	}
}

// The newest attempt speaks for a job whose older rows are still there, in other slots or the same.
func TestJobOfManyAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.enqueue(t, "q", 1)
	for n := range 3 {
		b.claim(t, "q", 1)
		b.clock.advance(time.Second)
		b.wantRescue(t, 0, 1, engine.RescueOutcome{Requeued: 1})
		if n == 1 {
			b.wantRotate(t, rings[0], engine.Rotated, 1)
			b.wantRotate(t, rings[1], engine.Rotated, 1)
		}
	}
	last := b.claim(t, "q", 1)
	if _, err := b.Fail(t.Context(), []engine.Failure{{Receipt: last[0].Receipt, Message: "enough"}}); err != nil {
		t.Fatal(err)
	}
	j, err := b.Job(t.Context(), ids[0])
	if err != nil || j.State != engine.JobFailed || j.RunLease != 4 || j.Attempt != 4 || len(j.Errors) != 4 || j.Errors[3].Error != "enough" {
		t.Errorf("%+v, %v", j, err)
	}
}

// What a claim and Job give back is the same JSON, if not the same text: it is stored by meaning.
func TestArgsComeBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, args := range []string{`null`, `0`, `-1.5e3`, `"\u00e9\ud83d\ude00\n"`, `[]`, `{"a": {"b": [1, null, true]}, "": ""}`, ` {"x" : 1} `} {
		id, err := b.Enqueue(t.Context(), engine.JobParams{Queue: "q", Kind: "k", Args: json.RawMessage(args)})
		if err != nil {
			t.Fatal(err)
		}
		a := b.claim(t, "q", 1)[0]
		j, err := b.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []json.RawMessage{a.Args, j.Args} {
			if !sameJSON(t, got, args) {
				t.Errorf("%s came back as %s", args, got)
			}
		}
	}
}

func sameJSON(t *testing.T, a json.RawMessage, b string) bool {
	t.Helper()
	var values [2]any
	for i, text := range []string{string(a), b} {
		if err := json.Unmarshal([]byte(text), &values[i]); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	texts := [2][]byte{}
	for i := range values {
		texts[i], _ = json.Marshal(values[i]) // what was unmarshalled can be marshalled
	}
	return string(texts[0]) == string(texts[1])
}
