package explore

import (
	"slices"

	"github.com/awa-engine/awa/model"
)

// Configs are the worlds that are explored, small ones first.
func Configs() []Config {
	return []Config{
		claimRing("claimring-small", 2, 2),
		lanes(),
		aging(),
		enqueueShards(),
		pauses(),
		moves(),
		keys(),
		batches(),
		queueRing(),
		producers(),
		callers(),
		shapes(),
		heartbeats(),
		outcomes(),
		waits(),
		deadLetters(),
		claimRing("claimring-wide", 3, 3),
		lifecycle(),
	}
}

// unlimited is a limit that no small world reaches.
const unlimited = 100

// Reasons for what a world leaves out.
const (
	noTransactions = "no caller's transactions in this world"
	noCallers      = "no caller's transaction completes anything in this world"
	noQueueRing    = "the ring of ready rows doesn't turn in this world"
	noRing         = "no ring turns in this world"
	noRescue       = "nothing is rescued in this world"
	noFailure      = "no job fails in this world"
	noStates       = "no attempt tells of itself in this world"
	noShapes       = "no job has a time limit in this world"
	noWaits        = "nobody waits for a callback in this world"
	noDLQ          = "nothing is held for an operator or removed in this world"
	noPause        = "no queue is paused in this world"
	noMoves        = "no job is moved in this world"
	noKeys         = "no job has a unique key in this world"
	noPutOff       = "nothing is retried, snoozed or cancelled in this world"
	noAging        = "no queue ages its jobs in this world"
	noShards       = "no queue has several shards in this world"
)

// apart are the invariants and properties that only a world which has the thing can put to the test.
var apart = map[string][]string{
	noTransactions: {
		"UncommittedIsUnseen", "OldSnapshotStaysOutOfTheRing", "TransactionIsAllOrNothing", "ProducersDontInterfere", "OpenProducerKeepsItsSlot",
	},
	noCallers:   {"ClosingIsOpen", "CompletionIsItsTransactions"},
	noQueueRing: {"RetentionIsKept"},
	noRing: {
		"OnlySpentIsPruned", "RowsAreInUnprunedGenerations", "OpenClaimKeepsItsSlots", "SealedGetsNoNewRows", "RingIsNotOverrun",
	},
	noStates: {"StateEndsWithItsAttempt"},
	noWaits:  {"WaitingIsOpen", "WaitingIsNotStale", "CallbacksArrive", "TimeoutsAreKept"},
	noShapes: {"ShapeFollowsTheJob", "DeadlinesAreKept"},
	noDLQ:    {"FailuresFollowThePolicy", "HeldJobKeepsWhatItWas", "PurgeKeepsTheYoung", "OnlyEndsAreRemoved"},
	noPause:  {"PauseHandsNothingOut"},
	noMoves:  {"MovedJobKeepsWhatItWas"},
	noKeys:   {"OneJobPerKey"},
	noAging:  {"MostUrgentIsHandedOut", "AgedIsNotPassedOver"},
	noShards: {"OrderingKeepsTheLane"},
	noPutOff: {"PutOffKeepsWhatIsLeft", "CancelEndsWhatIsAlive"},
}

// leavingOut begins a world's list of what it can't put to the test.
func leavingOut(reasons ...string) map[string]string {
	untested := map[string]string{}
	for _, reason := range reasons {
		because(untested, reason, apart[reason]...)
	}
	return untested
}

// because gives one reason for several names.
func because(untested map[string]string, reason string, names ...string) {
	for _, name := range names {
		untested[name] = reason
	}
}

// claimRing must offer what the spec ClaimRing offers, for the same constants: jobs is its MaxJobs, generations its
// LastGeneration, the slots and the attempts are 2 here and there. One job is claimed at a time, since the spec's
// Claim is one job's; a rescue takes all that is older than its cutoff, as the spec's does.
//
// The ring of ready rows has more slots than it needs and is never turned: the view doesn't show it.
func claimRing(name string, jobs, generations int) Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noTransactions, noPause, noQueueRing, noMoves)
	return Config{
		Name:  name,
		About: "the twin of the spec ClaimRing: rescue before truncate, without a lease",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{"Enqueue", "Claim", "Complete", "Fail", "RescueStale", "RotateClaims", "PruneClaims"},
			Jobs:    jobs, ClaimGenerations: generations,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2},
			ClaimLimits: []int{1}, RescueLimits: []int{unlimited},
		},
		View:     model.ClaimRingView,
		Untested: untested,
	}
}

// lanes is about order and counts. Four lanes and limits of one and of all: a claim has to choose between queues,
// priorities and places in a lane, after rescues have mixed them. Queues are alike, so half of the states will do.
func lanes() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noTransactions, noPause, noQueueRing, noRing, noMoves)
	return Config{
		Name:  "lanes",
		About: "two queues and two priorities: who is handed out first, and what each queue counts",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a", "b"}},
		Bounds: model.Bounds{
			Actions: []string{"Enqueue", "Claim", "Complete", "RescueStale", "Counts"},
			Jobs:    3,
			Queues:  []string{"a", "b"}, Priorities: []int{1, 4}, MaxAttempts: []int{2},
			ClaimLimits: []int{1, unlimited}, RescueLimits: []int{unlimited},
		},
		RenameQueues: true,
		Untested:     untested,
	}
}

// aging is about what waiting is worth: jobs of two priorities that come and are claimed at all distances of time that make a
// difference, below a step, at one, and beyond the last; and are moved while they wait.
func aging() Config {
	untested := leavingOut(noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noTransactions, noPause, noQueueRing, noRing)
	because(untested, noRescue, "RescueGivesWhatIsLeft", "RescueTakesTheOldest")
	return Config{
		Name:  "aging",
		About: "jobs that gain priority by waiting, and who is handed out before whom",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a"}, Agings: []int{2}},
		Bounds: model.Bounds{
			Actions: []string{"Enqueue", "Claim", "Complete", "SetPriority", "Counts"},
			Jobs:    3, Moves: 1, Ages: []int{0, 1, 4},
			Queues: []string{"a"}, Priorities: []int{1, 3}, MaxAttempts: []int{1},
			ClaimLimits: []int{1, 2},
		},
		Untested: untested,
	}
}

// enqueueShards is about a queue whose number of shards is raised and lowered while jobs with ordering keys come, wait and are handed
// out: positions of two shards are alike, and mean two jobs (hazard 7). The ring turns under them.
func enqueueShards() Config {
	untested := leavingOut(noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noTransactions, noPause, noMoves, noQueueRing)
	because(untested, noRescue, "RescueGivesWhatIsLeft", "RescueTakesTheOldest", "NoJobIsTwice", "OneRowPerLease", "OneOpenClaim", "OpenClaimIsNewest", "LeaseNeverFalls")
	because(untested, "there is one priority in this world", "AgedIsNotPassedOver")
	return Config{
		Name:  "shards",
		About: "a queue of one shard or two: where jobs with ordering keys go, and that none is left behind",
		Model: model.Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a"}, Shards: 2},
		Bounds: model.Bounds{
			Actions: []string{"Enqueue", "Claim", "Complete", "SetShards", "RotateQueue", "PruneQueue", "Counts"},
			Jobs:    3, QueueGenerations: 1, Ages: []int{0, 1}, Orderings: []int{1, 2}, ShardCounts: []int{1, 2},
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{1},
			ClaimLimits: []int{1, 2}, Retentions: []int{0},
		},
		Untested: untested,
	}
}

// pauses is about queues that an operator pauses, each by itself, while the other goes on.
func pauses() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noTransactions, noQueueRing, noRing, noMoves)
	return Config{
		Name:  "pauses",
		About: "two queues that are paused and resumed: what is handed out meanwhile",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a", "b"}},
		Bounds: model.Bounds{
			Actions: []string{"Enqueue", "Claim", "Complete", "RescueStale", "PauseQueue", "ResumeQueue", "Counts"},
			Jobs:    2,
			Queues:  []string{"a", "b"}, Priorities: []int{1}, MaxAttempts: []int{2},
			ClaimLimits: []int{1, unlimited}, RescueLimits: []int{1, unlimited},
		},
		Untested: untested,
	}
}

// moves is about jobs that an operator puts into another lane while they wait, in the ring or outside of it, and while the
// ring turns under them.
func moves() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noTransactions, noPause, noQueueRing)
	because(untested, noRescue, "RescueGivesWhatIsLeft", "RescueTakesTheOldest")
	return Config{
		Name:  "moves",
		About: "jobs that are moved between queues and priorities while they wait, are claimed, and the ring turns",
		Model: model.Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a", "b"}},
		Bounds: model.Bounds{
			Actions: []string{
				"Enqueue", "Promote", "Claim", "Complete", "SetPriority", "MoveJob", "RotateQueue", "PruneQueue", "Counts", "Job", "ListJobs",
			},
			Jobs: 2, QueueGenerations: 1, Moves: 1,
			Queues: []string{"a", "b"}, Priorities: []int{1, 2}, MaxAttempts: []int{1}, RunAts: []int{0, model.Infinite},
			ClaimLimits: []int{1}, PromoteLimits: []int{unlimited}, Retentions: []int{0},
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// keys is about jobs that share one unique key: who holds it while producers commit and roll back, jobs end in states that
// keep it and in others, failed ones are retried, and the ring forgets them.
func keys() Config {
	untested := leavingOut(noAging, noShards, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noPause, noMoves, noQueueRing)
	because(untested, "an old snapshot can't see who holds a key", "OldSnapshotStaysOutOfTheRing")
	because(untested, "of jobs with one key one waits at a time", "LowestIsHandedOut")
	because(untested, noRescue, "RescueGivesWhatIsLeft", "RescueTakesTheOldest")
	return Config{
		Name:  "keys",
		About: "jobs with one unique key: who holds it, and who gets it when",
		Model: model.Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{
				"Enqueue", "Begin", "EnqueueTx", "Commit", "Rollback", "Claim", "Complete", "Fail", "RetryFailed", "RotateQueue", "PruneQueue", "TrimKeys", "Counts", "Job",
			},
			Jobs: 3, QueueGenerations: 1, RetryBelow: 2, KeyHeld: []int{0, model.HeldCompleted | model.HeldFailed},
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{1},
			ClaimLimits: []int{1}, Retentions: []int{0},
			Transactions: []model.Isolation{model.ReadCommitted}, OpenTransactions: 1,
		},
		Untested: untested,
	}
}

// batches is about calls on several attempts: answers are paired with requests, limits cut a rescue in the middle,
// and one call names open, closed and repeated attempts together (hazard 28). Its reads must change nothing.
func batches() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noTransactions, noPause, noQueueRing, noMoves)
	return Config{
		Name:  "batches",
		About: "claims, closes and rescues of several jobs at once, with one mentioned twice, and limits in between",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{
				"Enqueue", "Claim", "Complete", "Fail", "RescueStale", "RotateClaims", "PruneClaims", "Job", "Reopen",
			},
			Jobs: 3, ClaimGenerations: 1,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2},
			ClaimLimits: []int{1, 3}, RescueLimits: []int{1, 2}, Batches: true,
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// queueRing turns the ring of ready rows past its own length, so that slots are used again: what a prune must wait for,
// what it carries on for its retention, what it counts, and what an operator retries meanwhile. Jobs come back into younger generations by rescue.
func queueRing() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noTransactions, noPause, noMoves)
	return Config{
		Name:  "queue-ring",
		About: "the ring of ready rows: prune proves that a slot is spent, keeps what retention asks for, counts the rest",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{"Enqueue", "Claim", "Complete", "Fail", "RescueStale", "RotateQueue", "PruneQueue", "RetryFailed"},
			Jobs:    2, QueueGenerations: 5, RetryBelow: 2,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2},
			ClaimLimits: []int{1}, RescueLimits: []int{unlimited}, Retentions: []int{0, model.Infinite},
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// producers keeps transactions open while others enqueue, claim and turn the ring: P1 and P5. Two are open at once;
// SERIALIZABLE behaves as REPEATABLE READ does, so one of them stands for both. Nothing is rescued, to keep it small.
func producers() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noPutOff, noShapes, noStates, noPause, noMoves)
	because(untested, noRescue, "NoJobIsTwice", "OneRowPerLease", "OneOpenClaim", "OpenClaimIsNewest", "LeaseNeverFalls",
		"RescueGivesWhatIsLeft", "RescueTakesTheOldest")
	because(untested, noFailure, "RetentionIsKept")
	return Config{
		Name:  "producers",
		About: "callers' transactions of every isolation level stay open while the ring turns",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{
				"Begin", "EnqueueTx", "Commit", "Rollback", "Promote", "Enqueue", "Claim", "Complete", "RotateQueue", "PruneQueue",
			},
			Jobs: 3, QueueGenerations: 3,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{1},
			ClaimLimits: []int{2}, PromoteLimits: []int{1, unlimited}, Retentions: []int{0},
			Transactions: []model.Isolation{model.ReadCommitted, model.RepeatableRead}, OpenTransactions: 2,
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// callers complete in their transactions, which stay open beside sweeps, heartbeats, other closers and the turn of the claim
// ring: of claims that have neighbours, and of claims that have none. Two are open at once.
func callers() Config {
	untested := leavingOut(noAging, noShards, noKeys, noWaits, noDLQ, noPutOff, noPause, noQueueRing, noMoves)
	because(untested, "no caller enqueues in this world", "UncommittedIsUnseen", "OldSnapshotStaysOutOfTheRing", "OpenProducerKeepsItsSlot")
	because(untested, "no deadline in this world", "DeadlinesAreKept")
	because(untested, "a claim takes all that wait in this world", "LowestIsHandedOut")
	return Config{
		Name:  "callers",
		About: "completions in callers' transactions, and those who meet them",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{
				"Enqueue", "Begin", "CompleteTx", "Commit", "Rollback", "Claim", "Complete", "Heartbeat", "RescueStale", "RotateClaims", "PruneClaims", "Counts",
			},
			Jobs: 2, ClaimGenerations: 1,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2}, TimeLimits: []int{0, model.OwnClaim},
			ClaimLimits: []int{2}, RescueLimits: []int{1, unlimited},
			Transactions: []model.Isolation{model.ReadCommitted}, OpenTransactions: 2,
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// shapes is about the two shapes of a claim and about deadlines: jobs with a time limit of their own and jobs with
// their queue's meet in one claim, are closed on each path, and the claim ring turns under them.
func shapes() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noTransactions, noPutOff, noStates, noPause, noMoves)
	because(untested, "nothing is kept for its retention in this world", "RetentionIsKept")
	because(untested, "a claim takes all that wait in this world", "LowestIsHandedOut")
	return Config{
		Name:  "shapes",
		About: "row-local claims beside compact ones, and the deadlines of both",
		Model: model.Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a"}, Deadlines: []int{1}},
		Bounds: model.Bounds{
			Actions: []string{
				"Enqueue", "Claim", "Complete", "Fail", "RescueStale", "RescueDeadline", "RotateClaims", "PruneClaims", "Counts",
			},
			Jobs: 2, ClaimGenerations: 2,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2}, TimeLimits: []int{0, 1},
			ClaimLimits: []int{2}, RescueLimits: []int{1, unlimited},
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// heartbeats is about what running attempts tell of themselves: who tells is alive for the stale sweep, and whatever ends
// the attempt ends that, too.
func heartbeats() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noTransactions, noPutOff, noPause, noQueueRing, noMoves)
	because(untested, "a claim takes all that wait in this world", "LowestIsHandedOut")
	return Config{
		Name:  "heartbeats",
		About: "attempts that tell of themselves, beside the sweep that looks for dead ones",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{"Enqueue", "Claim", "Complete", "Fail", "Heartbeat", "Progress", "RescueStale", "RotateClaims", "PruneClaims"},
			Jobs:    2, ClaimGenerations: 1,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2},
			ClaimLimits: []int{2}, RescueLimits: []int{1, unlimited},
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// outcomes is about how an attempt ends beside done and failed for good: its job waits outside of the ring, and comes back
// to it behind others. The ring of ready rows turns meanwhile, so that an attempt's rows go before its job comes back.
func outcomes() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noTransactions, noShapes, noStates, noPause, noMoves)
	because(untested, "no retention in this world", "RetentionIsKept")
	return Config{
		Name:  "outcomes",
		About: "jobs for later, retries, snoozes, cancellations: what waits outside of the ring, and comes back or doesn't",
		Model: model.Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{
				"Enqueue", "Promote", "Claim", "Complete", "Retry", "Snooze", "Cancel", "RescueStale", "RotateQueue", "PruneQueue", "Counts", "Job",
			},
			Jobs: 2, QueueGenerations: 1,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2}, RunAts: []int{0, model.Infinite},
			ClaimLimits: []int{1}, RescueLimits: []int{unlimited}, PromoteLimits: []int{1, unlimited}, Retentions: []int{0}, PutOffs: 2,
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// waits is about attempts that wait for an answer from outside: it comes, comes too early, comes twice, comes for an attempt
// that is over, or doesn't come; and the ring of leases turns under them.
func waits() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noDLQ, noShapes, noTransactions, noPause, noQueueRing, noMoves)
	because(untested, "nothing is retried or snoozed in this world", "PutOffKeepsWhatIsLeft")
	because(untested, "a claim takes all that wait in this world", "LowestIsHandedOut")
	return Config{
		Name:  "waits",
		About: "parked attempts, their callbacks and timeouts, and the ring of leases",
		Model: model.Config{QueueSlots: 4, ClaimSlots: 2, LeaseSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{
				"Enqueue", "Claim", "Complete", "Park", "Resume", "CallbackTimeout", "Cancel", "RescueStale", "RotateLeases", "PruneLeases",
				"RotateClaims", "PruneClaims", "Counts", "Job",
			},
			Jobs: 2, ClaimGenerations: 1, LeaseGenerations: 2, Tokens: 1, Timeout: 1,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2},
			ClaimLimits: []int{2}, RescueLimits: []int{1, unlimited},
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// deadLetters is about what is held for an operator, and about ends that are taken away: failures of each kind go where the
// policy of the moment says, come back, are removed, while the ring of ready rows turns under them.
func deadLetters() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noTransactions, noShapes, noStates, noPutOff, noPause, noMoves)
	because(untested, "a claim takes all that wait in this world", "LowestIsHandedOut")
	return Config{
		Name:  "dead-letters",
		About: "failed jobs in the DLQ and out of it, by policy and by hand, and ends that are removed",
		Model: model.Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: []string{
				"Enqueue", "Claim", "Complete", "Fail", "RescueStale", "RotateQueue", "PruneQueue", "SetDLQ", "MoveToDLQ", "RetryFromDLQ",
				"RetryFailed", "PurgeDLQ", "DeleteTerminal", "Counts",
			},
			Jobs: 2, QueueGenerations: 1, RetryBelow: 2,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{1},
			ClaimLimits: []int{2}, RescueLimits: []int{unlimited}, Retentions: []int{model.Infinite},
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// lifecycle offers all that there is but what has a world of its own, both rings turning: every action fires and every
// other invariant and property is put to the test in one world. Its two jobs and one transaction meet in every order, in one
// lane: worlds of two are moves, whose ring turns too, and lanes.
func lifecycle() Config {
	untested := leavingOut(noAging, noShards, noKeys, noCallers, noWaits, noDLQ, noShapes, noStates, noPutOff, noPause, noMoves)
	return Config{
		Name:  "lifecycle",
		About: "everything at once",
		Model: model.Config{QueueSlots: 2, ClaimSlots: 2, Queues: []string{"a"}},
		Bounds: model.Bounds{
			Actions: without(model.ActionNames(), "CompleteTx", "RescueDeadline", "Heartbeat", "Progress", "RetryFailed", "Retry", "Snooze", "Cancel",
				"Park", "Resume", "CallbackTimeout", "RotateLeases", "PruneLeases",
				"SetDLQ", "MoveToDLQ", "RetryFromDLQ", "PurgeDLQ", "DeleteTerminal",
				"SetShards", "PauseQueue", "ResumeQueue", "SetPriority", "MoveJob", "ListJobs", "TrimKeys"),
			Jobs: 2, QueueGenerations: 2, ClaimGenerations: 2,
			Queues: []string{"a"}, Priorities: []int{1}, MaxAttempts: []int{2},
			ClaimLimits: []int{1, 2}, RescueLimits: []int{1, unlimited}, PromoteLimits: []int{unlimited},
			Retentions:   []int{0, model.Infinite},
			Transactions: []model.Isolation{model.ReadCommitted, model.RepeatableRead}, OpenTransactions: 1,
		},
		RenameJobs: true,
		Untested:   untested,
	}
}

// without leaves names out.
func without(names []string, out ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(out, name) })
}
