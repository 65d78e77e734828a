package fuzz

import "fmt"

// expectedOutcomes are what a run of some size must have seen: a generator that never gets there tests nothing, however long it
// runs.
var expectedOutcomes = []string{
	"Enqueue", "Enqueue existing", "Enqueue unique_busy", "Begin", "EnqueueTx", "EnqueueTx existing", "EnqueueTx unique_busy", "Commit", "Rollback", "Promote jobs", "Claim some", "Claim aged", "Claim of another shard", "Claim drained", "SetShards", "Complete ok", "Complete stale",
	"CompleteTx ok", "CompleteTx stale", "Heartbeat closing", "RescueStale busy", "RescueDeadline busy", "Fail ok", "Fail stale", "Retry ok", "Retry failed", "Retry stale", "Snooze ok", "Snooze stale",
	"Cancel ok", "Cancel wrong_state", "Cancel not_found", "Job cancelled",
	"RescueStale requeued", "RescueDeadline requeued", "RescueDeadline failed", "Claim row-local",
	"RescueStale failed", "RotateQueue rotated", "RotateQueue skipped_idle",
	"Claim row-local", "Heartbeat ok", "Heartbeat stale", "Progress ok", "Progress stale",
	"Park parked", "Park delivered", "Park waits_already", "Park stale", "Resume resumed", "Resume kept", "Resume repeated", "Resume stale",
	"CallbackTimeout requeued", "CallbackTimeout failed", "Complete leased", "Job waiting",
	"RotateLeases rotated", "RotateLeases skipped_idle", "RotateLeases skipped_next_not_pruned",
	"PruneLeases pruned", "PruneLeases skipped_active", "PruneLeases nothing",
	"RotateQueue skipped_next_not_pruned", "RotateClaims rotated", "RotateClaims skipped_idle", "RotateClaims skipped_next_not_pruned",
	"PruneQueue pruned", "PruneQueue skipped_active", "PruneQueue blocked", "PruneQueue carried", "RetryFailed jobs", "TrimLedger", "FoldCounts", "TrimKeys rows", "PauseQueue", "ResumeQueue", "Claim paused", "PruneQueue nothing", "PruneClaims pruned",
	"PruneClaims skipped_active", "PruneClaims nothing", "Counts", "Job available", "Job scheduled", "Job running", "Job completed",
	"Fail dlq", "Retry dlq", "RescueStale dlq", "RescueDeadline dlq", "SetDLQ", "MoveToDLQ jobs", "RetryFromDLQ jobs", "PurgeDLQ jobs",
	"JobAttempts attempts", "ListJobs some", "ListJobs none",
	"SetPriority ok", "SetPriority wrong_state", "SetPriority not_found", "MoveJob ok", "MoveJob wrong_state", "MoveJob not_found",
	"SetPriority available", "SetPriority deferred", "MoveJob available", "MoveJob deferred",
	"DeleteTerminal ok", "DeleteTerminal batched", "DeleteTerminal narrow", "DeleteTerminal wide", "DeleteTerminal wrong_state", "DeleteTerminal not_found", "Job dlq",
	"Job retryable", "Job failed", "Job not_found", "Reopen", "Audit",
	"Complete compact", "Complete row-local", "Commit compact", "Commit row-local", "Commit leased",
	"Fail compact", "Fail row-local", "Fail leased", "Retry compact", "Retry row-local", "Retry leased", "Snooze compact", "Snooze row-local", "Snooze leased",
	"Cancel available", "Cancel deferred", "Cancel compact", "Cancel row-local", "Cancel leased",
	"RescueStale compact", "RescueStale row-local", "RescueDeadline compact", "RescueDeadline row-local", "RescueDeadline leased",
	"CallbackTimeout dlq", "CallbackTimeout busy", "Park compact", "Park row-local", "Progress closing",
	"RetryFailed narrow", "RetryFailed wide", "MoveToDLQ narrow", "MoveToDLQ wide", "PruneQueue batched", "PruneQueue narrow", "PruneQueue wide",
}

// A run of enoughSteps must have seen every expected outcome, one of someSteps all but fewMissing: the rarest come up three or
// four times in 4,000 steps (TestGeneratorReachesEveryOutcome).
const (
	someSteps   = 4_000
	enoughSteps = 12_000
	fewMissing  = 5
)

// Vacuous says, in a sentence each, what this run was too narrow to see; nothing for a short run.
func (r *Report) Vacuous() []string {
	if r.Steps == 0 {
		return []string{"no step was made"}
	}
	if r.Steps < someSteps || r.Failure != nil {
		return nil
	}
	var missing []string
	for _, outcome := range expectedOutcomes {
		if r.Actions[outcome] == 0 {
			missing = append(missing, fmt.Sprintf("%q never happened in %d steps", outcome, r.Steps))
		}
	}
	if r.Steps < enoughSteps && len(missing) <= fewMissing {
		return nil
	}
	return missing
}
