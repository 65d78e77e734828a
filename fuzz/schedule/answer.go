package schedule

import (
	"fmt"
	"strings"

	"github.com/awa-engine/awa/engine"
	"github.com/awa-engine/awa/fuzz"
	"github.com/awa-engine/awa/model"
)

// An Operation is a line of a session: an action of the model, or one of the two things that the model has no word for,
// since they change nothing that it knows.
type Operation struct {
	Action model.Action // nil: Migrate, or an operator's ALTER SEQUENCE
	// Sequence is what an operator's transaction alters, and so holds until it commits: who needs a number of it waits
	// in the midst of a statement, with a snapshot taken.
	Sequence string
}

// The lines of an installation and of an operator's transaction.
const (
	migrateName = "Migrate"
	alterName   = "AlterSequence"
)

// String is the line.
func (o Operation) String() string {
	switch {
	case o.Action != nil:
		return o.Action.String()
	case o.Sequence != "":
		return alterName + " sequence=" + o.Sequence
	}
	return migrateName
}

func (o Operation) name() string {
	name, _, _ := strings.Cut(o.String(), " ")
	return name
}

// ParseOperation reads a line.
func ParseOperation(line string) (Operation, error) {
	if line == migrateName {
		return Operation{}, nil
	}
	if name, ok := strings.CutPrefix(line, alterName+" sequence="); ok {
		return Operation{Sequence: name}, nil
	}
	a, err := model.Parse(line)
	return Operation{Action: a}, err
}

// An Answer is what the engine said to an operation, with the database's numbers of jobs.
type Answer struct {
	Jobs         []int64               // Enqueue, EnqueueTx
	Existing     bool                  // they are the job that held their key already
	Handouts     []Handout             // Claim
	Closed       []model.ClosedAttempt // what closes attempts: in the order of the request, without their names
	Closing      []bool                // Heartbeat: somebody was closing the attempt
	Status       model.Status          // rotations and prunes
	Wait         model.WaitAnswer      // Park and Resume
	Carried      int                   // PruneQueue
	Promoted     int
	Trimmed      int
	Retried      []int64 // RetryFailed, as Matched and PrunedFailed; RetryFromDLQ; MoveToDLQ's are moved
	Matched      int
	PrunedFailed int
	Cancelled    []engine.JobResult // Cancel, DeleteTerminal, SetPriority, MoveJob
	Purged       []int64
	Requeued     int // rescues, as Failed and Busy
	Failed       int
	Held         int // RescueStale: in the DLQ
	Busy         int
	Counts       model.Counts
}

// A Handout is a job of a claim's answer.
type Handout struct {
	Job            int64
	Lease, Attempt int
}

// tell is the answer as people read it, in the model's words; names are the jobs' numbers in the story.
func (a Answer) tell(op Operation, names map[int64]int) string {
	var parts []string
	if attempts, closes := model.Closes(op.Action); closes {
		return a.tellClosed(attempts)
	}
	switch op := op.Action.(type) {
	case model.Enqueue, model.EnqueueTx:
		if a.Existing {
			return "existing=" + jobName(names, a.Jobs[0])
		}
		return fmt.Sprintf("jobs=%d", len(a.Jobs))
	case model.Claim:
		for _, h := range a.Handouts {
			parts = append(parts, fmt.Sprintf("%s/%d/%d", jobName(names, h.Job), h.Lease, h.Attempt))
		}
		return "claimed=" + listOr(parts)
	case model.Heartbeat:
		return a.tellClosed(op.Attempts)
	case model.Promote:
		return fmt.Sprintf("promoted=%d", a.Promoted)
	case model.TrimKeys:
		return model.Trimmed{Rows: a.Trimmed}.String()
	case model.Park, model.Resume:
		return a.Wait.String()
	case model.RescueStale, model.RescueDeadline, model.CallbackTimeout:
		text := model.RescuedCount{Requeued: a.Requeued, Failed: a.Failed, DLQ: a.Held}.String()
		if a.Busy > 0 {
			text += fmt.Sprintf(" busy=%d", a.Busy)
		}
		return text
	case model.PruneQueue:
		return model.QueuePrune{Status: a.Status, Carried: a.Carried}.String()
	case model.Cancel:
		return fuzz.Cancellation(op.Jobs, a.Cancelled).String()
	case model.RetryFailed, model.RetryFromDLQ:
		return model.Retried{Jobs: namesOf(a.Retried, names), Matched: a.Matched, PrunedFailed: a.PrunedFailed}.String()
	case model.MoveToDLQ:
		return model.Moved{Jobs: namesOf(a.Retried, names), Matched: a.Matched}.String()
	case model.PurgeDLQ:
		return model.Purged{Jobs: namesOf(a.Purged, names)}.String()
	case model.SetPriority:
		return model.Relocation(fuzz.Cancellation(op.Jobs, a.Cancelled)).String()
	case model.MoveJob:
		return model.Relocation(fuzz.Cancellation(op.Jobs, a.Cancelled)).String()
	case model.DeleteTerminal:
		return model.Deletion(fuzz.Cancellation(op.Jobs, a.Cancelled)).String()
	case model.RotateQueue, model.RotateClaims, model.RotateLeases, model.PruneClaims, model.PruneLeases, model.FoldCounts:
		return string(a.Status)
	case model.CountsOf:
		return a.Counts.String()
	}
	return "ok"
}

func namesOf(ids []int64, names map[int64]int) (jobs []int) {
	for _, id := range ids {
		jobs = append(jobs, names[id])
	}
	return jobs
}

// jobName is the model's number of a job of the setup; jobs of the sessions have none that is the same in every order.
func jobName(names map[int64]int, id int64) string {
	if n, ok := names[id]; ok {
		return fmt.Sprint(n)
	}
	return "new"
}

func (a Answer) tellClosed(attempts []model.AttemptID) string {
	var parts []string
	for i, id := range attempts {
		if i < len(a.Closing) && a.Closing[i] {
			parts = append(parts, id.String()+":closing")
			continue
		}
		if i < len(a.Closed) {
			c := a.Closed[i]
			c.ID = id
			parts = append(parts, c.String())
		}
	}
	return "closed=" + listOr(parts)
}

func listOr(parts []string) string {
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ",")
}
