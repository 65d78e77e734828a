package model_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awa-engine/awa/model"
	"pgregory.net/rapid"
)

// anyAction draws an action of any kind with any arguments that a line can hold.
func anyAction(t *rapid.T) model.Action {
	number := func(label string) int { return rapid.IntRange(-5, 1000).Draw(t, label) }
	queue := func() string { return rapid.StringMatching(`[a-z][a-z0-9_.:-]{0,8}`).Draw(t, "queue") }
	switch name := rapid.SampledFrom(model.ActionNames()).Draw(t, "name"); name {
	case "Enqueue":
		return model.Enqueue{Queue: queue(), Priority: number("p"), Count: number("n"), Attempts: number("a"), RunAt: number("at"), Now: number("now"), Limit: number("limit")}
	case "Begin":
		levels := []model.Isolation{model.ReadCommitted, model.RepeatableRead, model.Serializable}
		return model.Begin{Tx: number("tx"), Isolation: rapid.SampledFrom(levels).Draw(t, "isolation")}
	case "EnqueueTx":
		return model.EnqueueTx{
			Tx: number("tx"), Queue: queue(), Priority: number("p"), Count: number("n"), Attempts: number("a"),
			RunAt: number("at"), Now: number("now"), Limit: number("limit"),
		}
	case "Commit":
		return model.Commit{Tx: number("tx")}
	case "Rollback":
		return model.Rollback{Tx: number("tx")}
	case "Promote":
		return model.Promote{Limit: number("limit"), Now: number("now")}
	case "Claim":
		return model.Claim{Queue: queue(), Limit: number("limit"), Now: number("now")}
	case "RescueStale":
		return model.RescueStale{Older: number("older"), Limit: number("limit"), Now: number("now")}
	case "RescueDeadline":
		return model.RescueDeadline{Limit: number("limit"), Now: number("now")}
	case "RotateQueue":
		return model.RotateQueue{Now: number("now")}
	case "RotateClaims":
		return model.RotateClaims{Now: number("now")}
	case "PruneQueue":
		return model.PruneQueue{Retention: number("retention"), Now: number("now")}
	case "PruneClaims":
		return model.PruneClaims{Now: number("now")}
	case "RetryFailed":
		return anyChoice(t)
	case "SetShards":
		return model.SetShards{Queue: queue(), Shards: number("shards")}
	case "SetDLQ":
		return model.SetDLQ{Queue: queue(), On: number("on")}
	case "MoveToDLQ":
		return model.MoveToDLQ(anyChoice(t))
	case "RetryFromDLQ":
		return model.RetryFromDLQ(anyChoice(t))
	case "PurgeDLQ":
		return model.PurgeDLQ{Jobs: anyChoice(t).Jobs, Older: number("older"), Limit: number("limit"), Now: number("now")}
	case "Counts":
		return model.CountsOf{Queue: queue()}
	case "Job":
		return model.JobOf{Job: number("job")}
	case "JobAttempts":
		return model.JobAttempts{Job: number("job")}
	case "PauseQueue":
		return model.PauseQueue{Queue: queue(), Now: number("now")}
	case "ResumeQueue":
		return model.ResumeQueue{Queue: queue()}
	case "ListJobs":
		return model.ListJobs{State: queue(), Queue: queue(), Jobs: []int{number("job")}, After: number("after"), OldestFirst: number("oldest"), Limit: number("limit")}
	case "SetPriority":
		return model.SetPriority{Jobs: []int{number("job"), number("job")}, Priority: number("priority")}
	case "MoveJob":
		return model.MoveJob{Jobs: []int{number("job"), number("job")}, Queue: queue()}
	case "FoldCounts", "TrimLedger", "TrimKeys", "Reopen":
		return map[string]model.Action{"FoldCounts": model.FoldCounts{}, "TrimLedger": model.TrimLedger{}, "TrimKeys": model.TrimKeys{}, "Reopen": model.Reopen{}}[name]
	default:
		return anyEnd(t, name)
	}
}

// anyChoice draws one of the ways to choose jobs that have failed.
func anyChoice(t *rapid.T) model.RetryFailed {
	number := func(label string) int { return rapid.IntRange(-5, 1000).Draw(t, label) }
	a := model.RetryFailed{Limit: number("limit"), Now: number("now")}
	switch rapid.IntRange(0, 2).Draw(t, "by") {
	case 0:
		a.Queue = "q"
	case 1:
		a.Kind = "k"
	default:
		a.Jobs = []int{number("job"), number("job")}
	}
	return a
}

// anyEnd draws an action that ends attempts or jobs.
func anyEnd(t *rapid.T, name string) model.Action {
	number := func(label string) int { return rapid.IntRange(-5, 1000).Draw(t, label) }
	attempts := func() []model.AttemptID {
		var ids []model.AttemptID
		for range rapid.IntRange(0, 3).Draw(t, "attempts") {
			ids = append(ids, model.AttemptID{Job: number("job"), Lease: number("lease")})
		}
		return ids
	}
	attempt := func() model.AttemptID { return model.AttemptID{Job: number("job"), Lease: number("lease")} }
	switch name {
	case "Heartbeat":
		return model.Heartbeat{Attempts: attempts(), Now: number("now")}
	case "Progress":
		return model.Progress{Attempts: attempts(), Percent: number("percent"), Now: number("now")}
	case "Complete":
		return model.Complete{Attempts: attempts(), Now: number("now")}
	case "CompleteTx":
		return model.CompleteTx{Tx: number("tx"), Attempts: attempts(), Now: number("now")}
	case "Fail":
		return model.Fail{Attempts: attempts(), Now: number("now")}
	case "Park":
		return model.Park{Attempt: attempt(), Token: number("token"), Timeout: number("timeout"), Now: number("now")}
	case "Resume":
		return model.Resume{Attempt: attempt(), Token: number("token"), Now: number("now")}
	case "CallbackTimeout":
		return model.CallbackTimeout{Limit: number("limit"), Now: number("now")}
	case "RotateLeases":
		return model.RotateLeases{Now: number("now")}
	case "PruneLeases":
		return model.PruneLeases{Now: number("now")}
	case "Retry":
		return model.Retry{Attempts: attempts(), Delay: number("delay"), Now: number("now")}
	case "Snooze":
		return model.Snooze{Attempts: attempts(), Delay: number("delay"), Now: number("now")}
	case "Cancel":
		return model.Cancel{Jobs: []int{number("job"), number("job")}, Now: number("now")}
	case "DeleteTerminal":
		return model.DeleteTerminal{Jobs: []int{number("job"), number("job")}}
	default:
		t.Fatalf("no generator for %s", name)
		return nil
	}
}

// A printed action reads back as itself, in whatever order its keys stand.
func TestParseReadsWhatStringPrints(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyAction(t)
		words := strings.Fields(want.String())
		shuffled := rapid.Permutation(words[1:]).Draw(t, "order")
		got, err := model.Parse(strings.Join(append(words[:1], shuffled...), " "))
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("printed %q, read back %q", want, got)
		}
	})
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, says string }{
		{"", "empty line"},
		{"Enqeue queue=a", `"Enqeue": unknown`},
		{"Claim queue=a limit=2", `key "now" is missing`},
		{"Claim queue=a limit=2 now=x", `"x" is not a number`},
		{"Claim queue=a limit=2 now=1 now=2", `"now=2" is not one more key=value`},
		{"Claim queue=a limit=2 now", `"now" is not one more key=value`},
		{"Claim queue= limit=2 now=1", `key "queue" has no value`},
		{"Commit tx=1 now=1", `unknown key "now"`},
		{"Begin tx=1 isolation=ru", `"ru" is not one of rc, rr, ser`},
		{"Complete attempts=1 now=1", `"1" is not job/run_lease`},
		{"Complete attempts=1/x now=1", `"x" is not a number`},
	} {
		if _, err := model.Parse(c.line); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Parse(%q) says %v, want %q in it", c.line, err, c.says)
		}
	}
}

func TestParseScriptSkipsWhatIsForPeople(t *testing.T) {
	t.Parallel()
	actions, err := model.ParseScript("# a comment\n\nReopen   # a hint is lost\n  Commit tx=1\n")
	if err != nil || len(actions) != 2 {
		t.Fatalf("got %v, %v", actions, err)
	}
	if _, err := model.ParseScript("Reopen\nCommit\n"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Fatalf("the error doesn't name the line: %v", err)
	}
}

// Every type with a rule has a name that Parse knows; the round trip draws from these names.
func TestEveryOperationIsParsed(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, name := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "apply" {
				rules++
			}
		}
	}
	if names := model.ActionNames(); rules != len(names) {
		t.Errorf("%d operations have a rule, %d have a name: %v", rules, len(names), names)
	}
}
