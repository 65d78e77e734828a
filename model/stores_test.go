package model

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawAction draws an action that may make sense in the state: mostly of things that are there.
func drawAction(t *rapid.T, s Store) Action {
	small := func(label string, from, to int) int { return rapid.IntRange(from, to).Draw(t, label) }
	queue := rapid.SampledFrom(append(slices.Clone(s.Config().Queues), "?")).Draw
	now := small("now", 0, 20)
	attempts := func() []AttemptID { return drawAttempts(t, s) }
	often := []string{"Enqueue", "EnqueueTx", "Claim", "Claim", "Complete", "Complete", "Fail", "RotateQueue", "PruneQueue"}
	name := rapid.SampledFrom(append(ActionNames(), often...)).Draw(t, "name")
	switch name {
	case "Enqueue":
		return Enqueue{
			Queue: queue(t, "queue"), Priority: small("priority", 1, 4), Count: small("count", 0, 3),
			Attempts: small("attempts", 1, 2), RunAt: small("run_at", 0, 20), Now: now, Limit: small("limit", -2, 2), Unique: small("unique", 0, 2), Held: small("held", 0, 15), Ordering: small("ordering", 0, 3),
		}
	case "Begin":
		return Begin{small("tx", 0, 3), rapid.SampledFrom(isolations).Draw(t, "isolation")}
	case "EnqueueTx":
		return EnqueueTx{
			Tx: small("tx", 1, 3), Queue: queue(t, "queue"), Priority: small("priority", 1, 4), Count: small("count", 1, 2),
			Attempts: 1, RunAt: small("run_at", 0, 20), Now: now, Limit: small("limit", -2, 2), Unique: small("unique", 0, 2), Held: small("held", 0, 15), Ordering: small("ordering", 0, 3),
		}
	case "Commit":
		return Commit{small("tx", 1, 3)}
	case "Rollback":
		return Rollback{small("tx", 1, 3)}
	case "Promote":
		return Promote{small("limit", 0, 3), now}
	case "Complete":
		return Complete{attempts(), now}
	case "Fail":
		return Fail{attempts(), now}
	case "Heartbeat":
		return Heartbeat{attempts(), now}
	case "Progress":
		return Progress{attempts(), small("percent", 0, 3), now}
	case "Retry":
		return Retry{attempts(), small("delay", 0, 5), now}
	case "Snooze":
		return Snooze{attempts(), small("delay", 0, 5), now}
	case "Cancel":
		return Cancel{[]int{small("job", 0, 6), small("job", 0, 6)}, now}
	case "RescueStale":
		return RescueStale{small("older", 0, 9), small("limit", 0, 3), now}
	case "RescueDeadline":
		return RescueDeadline{small("limit", 0, 3), now}
	case "RotateQueue":
		return RotateQueue{now}
	case "RotateClaims":
		return RotateClaims{now}
	case "PruneQueue":
		return PruneQueue{small("retention", 0, 9), now}
	case "PruneClaims":
		return PruneClaims{now}
	case "RetryFailed":
		return drawRetry(t, queue(t, "queue"), now)
	case "SetDLQ", "SetShards", "MoveToDLQ", "RetryFromDLQ", "PurgeDLQ", "DeleteTerminal":
		return drawOperator(t, name, queue(t, "queue"), now)
	case "Counts":
		return CountsOf{queue(t, "queue")}
	case "Job":
		return JobOf{small("job", 0, 9)}
	case "JobAttempts":
		return JobAttempts{small("job", 0, 9)}
	case "TrimLedger", "TrimKeys", "FoldCounts", "Reopen":
		return map[string]Action{"TrimLedger": TrimLedger{}, "TrimKeys": TrimKeys{}, "FoldCounts": FoldCounts{}, "Reopen": Reopen{}}[name]
	case "Claim":
		return Claim{queue(t, "queue"), small("limit", 0, 4), now}
	}
	return drawRest(t, name, attempts, queue(t, "queue"), now)
}

// drawRest draws what is about waits, pauses, moves and completions of callers.
func drawRest(t *rapid.T, name string, attempts func() []AttemptID, queue string, now int) Action {
	small := func(label string, from, to int) int { return rapid.IntRange(from, to).Draw(t, label) }
	switch name {
	case "PauseQueue":
		return PauseQueue{queue, now}
	case "ResumeQueue":
		return ResumeQueue{queue}
	case "ListJobs":
		return ListJobs{Queue: queue, After: small("after", 0, 4), OldestFirst: small("oldest", 0, 1), Limit: small("limit", 0, 4)}
	case "SetPriority":
		return SetPriority{[]int{small("job", 0, 6), small("job", 0, 6)}, small("priority", 0, 5)}
	case "MoveJob":
		return MoveJob{[]int{small("job", 0, 6), small("job", 0, 6)}, queue}
	case "Park":
		return Park{lastOf(attempts()), small("token", 0, 3), small("timeout", -1, 3), now}
	case "Resume":
		return Resume{lastOf(attempts()), small("token", 0, 3), now}
	case "CallbackTimeout":
		return CallbackTimeout{small("limit", 0, 3), now}
	case "RotateLeases":
		return RotateLeases{now}
	case "PruneLeases":
		return PruneLeases{now}
	case "CompleteTx":
		return CompleteTx{small("tx", 1, 3), attempts(), now}
	}
	panic("no generator for " + name)
}

// drawOperator draws what is done to jobs that have ended.
func drawOperator(t *rapid.T, name, queue string, now int) Action {
	small := func(label string, from, to int) int { return rapid.IntRange(from, to).Draw(t, label) }
	switch name {
	case "SetDLQ":
		return SetDLQ{queue, small("on", 0, 2)}
	case "SetShards":
		return SetShards{queue, small("shards", 0, 3)}
	case "MoveToDLQ":
		return MoveToDLQ(drawRetry(t, queue, now))
	case "RetryFromDLQ":
		return RetryFromDLQ(drawRetry(t, queue, now))
	case "PurgeDLQ":
		if small("by age", 0, 1) == 1 {
			return PurgeDLQ{nil, small("older", 0, 9), small("limit", 0, 3), now}
		}
		return PurgeDLQ{[]int{small("job", 0, 4)}, 0, small("limit", 0, 3), now}
	default:
		return DeleteTerminal{[]int{small("job", 0, 6), small("job", 0, 6)}}
	}
}

func drawRetry(t *rapid.T, queue string, now int) RetryFailed {
	small := func(label string, from, to int) int { return rapid.IntRange(from, to).Draw(t, label) }
	a := RetryFailed{Limit: small("limit", 0, 3), Now: now}
	switch small("by", 0, 3) {
	case 0:
		a.Queue = queue
	case 1:
		a.Kind = TheKind
	default:
		a.Jobs = []int{small("job", 0, 3), small("job", 0, 5)}
	}
	return a
}

// drawAttempts draws one that may never have been, and known ones.
func drawAttempts(t *rapid.T, s Store) []AttemptID {
	ids := []AttemptID{{Job: rapid.IntRange(0, 3).Draw(t, "job"), Lease: 1}}
	if claims := s.Claims(); len(claims) > 0 {
		for range rapid.IntRange(0, 3).Draw(t, "known") {
			ids = append(ids, rapid.SampledFrom(claims).Draw(t, "claim").ID())
		}
	}
	return ids
}

// lastOf is a known one, where there is one.
func lastOf(ids []AttemptID) AttemptID { return ids[len(ids)-1] }

func drawConfig(t *rapid.T) *Config {
	return &Config{
		QueueSlots: rapid.IntRange(2, 4).Draw(t, "queue slots"),
		ClaimSlots: rapid.IntRange(2, 4).Draw(t, "claim slots"),
		Queues:     []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(t, "queues")],
		Shards:     rapid.IntRange(1, 3).Draw(t, "shards"),
		Deadlines:  rapid.SampledFrom([][]int{nil, {0, 3}, {2}}).Draw(t, "deadlines"),
	}
}

// The two stores answer every question alike after every action, and an undo brings back exactly what was.
func TestStoresInStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config := drawConfig(t)
		flat, mutable := NewFlat(config), NewMutable(config)
		type moment struct {
			mark Mark
			flat *Flat
		}
		var moments []moment
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				for range rapid.IntRange(1, 12).Draw(t, "times") {
					applyBoth(t, flat, mutable, drawAction(t, flat))
				}
			},
			"mark": func(*rapid.T) {
				moments = append(moments, moment{mutable.Mark(), Snapshot(flat)})
			},
			"undo": func(t *rapid.T) {
				if len(moments) == 0 {
					t.Skip("nothing is marked")
				}
				at := rapid.IntRange(0, len(moments)-1).Draw(t, "to")
				mutable.Undo(moments[at].mark)
				flat.CopyFrom(moments[at].flat)
				moments = moments[:at]
			},
			"keep": func(*rapid.T) {
				mutable.Keep()
				moments = nil
			},
			"": func(t *rapid.T) { requireSame(t, flat, mutable) },
		})
	})
}

func applyBoth(t *rapid.T, flat *Flat, mutable *Mutable, a Action) {
	before := Snapshot(flat)
	want, wantErr := Apply(flat, a)
	got, gotErr := Apply(mutable, a)
	if wantErr != nil || gotErr != nil {
		if !errors.Is(wantErr, ErrDisabled) || gotErr == nil || wantErr.Error() != gotErr.Error() {
			t.Fatalf("%s: flat says %v, mutable %v", a, wantErr, gotErr)
		}
		if !slices.Equal(before.Encode(nil), flat.Encode(nil)) {
			t.Fatalf("%s: disabled, but the state changed", a)
		}
		return
	}
	if want.String() != got.String() {
		t.Fatalf("%s: flat says %s, mutable %s", a, want, got)
	}
}

// requireSame compares the tables and every other answer of the two stores.
func requireSame(t *rapid.T, flat *Flat, mutable *Mutable) {
	if want, got := Canonical(flat), Canonical(mutable); want != got {
		t.Fatalf("flat:\n%s\nmutable:\n%s", want, got)
	}
	if !slices.Equal(flat.Encode(nil), Snapshot(mutable).Encode(nil)) {
		t.Fatal("the tables differ where the canonical text doesn't look")
	}
	same(t, "open claims", slices.Collect(flat.OpenClaims()), slices.Collect(mutable.OpenClaims()))
	same(t, "attempt states", flat.AttemptStates(), mutable.AttemptStates())
	same(t, "leases", flat.Leases(), mutable.Leases())
	for gen := range flat.Vars().Leases.Generation + 1 {
		same(t, "lease slot", []LeaseSlot{flat.LeaseSlot(gen)}, []LeaseSlot{mutable.LeaseSlot(gen)})
	}
	same(t, "expiring", slices.Collect(flat.Expiring()), slices.Collect(mutable.Expiring()))
	same(t, "due", slices.Collect(flat.Due(10)), slices.Collect(mutable.Due(10)))
	for lane := range flat.Config().Lanes() {
		same(t, "waiting", slices.Collect(flat.Waiting(lane)), slices.Collect(mutable.Waiting(lane)))
	}
	for queue := range flat.Config().Queues {
		same(t, "tally", []Tally{flat.Tally(queue)}, []Tally{mutable.Tally(queue)})
	}
	for gen := range flat.Vars().Queue.Generation + 1 {
		same(t, "queue slot", []QueueSlot{flat.QueueSlot(gen)}, []QueueSlot{mutable.QueueSlot(gen)})
		terminals := func(s Store) []TerminalRow { return slices.SortedFunc(s.TerminalsIn(gen), byEnd) }
		same(t, "terminals", terminals(flat), terminals(mutable))
	}
	for gen := range flat.Vars().Claims.Generation + 1 {
		same(t, "claim slot", []ClaimSlot{flat.ClaimSlot(gen)}, []ClaimSlot{mutable.ClaimSlot(gen)})
	}
	for job := range flat.Vars().NextJob {
		wantEntry, _ := flat.NewestEntry(job)
		gotEntry, _ := mutable.NewestEntry(job)
		same(t, "newest entry", []EntryRow{wantEntry}, []EntryRow{gotEntry})
		wantEnd, _ := flat.Terminal(job)
		gotEnd, _ := mutable.Terminal(job)
		same(t, "terminal", []TerminalRow{wantEnd}, []TerminalRow{gotEnd})
		wantLater, _ := flat.Deferred(job)
		gotLater, _ := mutable.Deferred(job)
		same(t, "deferred", []DeferredRow{wantLater}, []DeferredRow{gotLater})
		wantHeld, _ := flat.DLQ(job)
		gotHeld, _ := mutable.DLQ(job)
		same(t, "held", []DLQRow{wantHeld}, []DLQRow{gotHeld})
	}
	for _, c := range flat.Claims() {
		got, _ := mutable.Claim(c.ID())
		same(t, "claim", []ClaimRow{c}, []ClaimRow{got})
	}
	for _, tx := range flat.Txs() {
		same(t, "entries of tx", flat.EntriesOfTx(tx.ID), mutable.EntriesOfTx(tx.ID))
		same(t, "deferred of tx", flat.DeferredOfTx(tx.ID), mutable.DeferredOfTx(tx.ID))
	}
}

func same[T comparable](t *rapid.T, what string, flat, mutable []T) {
	t.Helper()
	if !slices.Equal(flat, mutable) {
		t.Fatalf("%s: flat says %+v, mutable %+v", what, flat, mutable)
	}
}

// A state decodes to itself, into a store that held something else.
func TestEncodingRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config := drawConfig(t)
		f, other := NewFlat(config), NewFlat(config)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			_, _ = Apply(f, drawAction(t, f))
			other.Decode(f.Encode(nil))
			if !slices.Equal(f.Encode(nil), other.Encode(nil)) || Canonical(f) != Canonical(other) {
				t.Fatalf("decoded to another state:\n%s\nof:\n%s", Canonical(other), Canonical(f))
			}
		}
	})
}
