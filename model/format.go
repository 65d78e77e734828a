package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The operation format: one action a line, `Name key=value key=value`, values without spaces, lists comma
// separated. It is what a saved failure is made of, so it outlives any seed number.
//
//	Enqueue queue=a priority=2 count=3 attempts=2 now=5
//	Claim queue=a limit=2 now=7
//	Complete attempts=1/1,2/1 now=8
//
// Each operation lists its keys once, below; the printer and the parser both walk that list, so that they can't
// drift apart. A key that came later than saved lines is optional: left out when it is zero, and zero when it is left
// out, so that a line from before it means what it meant.

// keys walks the keys of one operation in their printed order. A printer reads the values that it is shown, a parser
// writes them; so an operation that lists a key can be printed, parsed, and refused without it.
type keys interface {
	number(key string, value *int)
	word(key string, value *string)
	optionalNumber(key string, value *int)
	optionalWord(key string, value *string)
	isolation(key string, value *Isolation)
	attempts(key string, value *[]AttemptID)
	attempt(key string, value *AttemptID)
	optionalJobs(key string, value *[]int)
}

func (a *Enqueue) keys(k keys) {
	k.word("queue", &a.Queue)
	k.number("priority", &a.Priority)
	k.number("count", &a.Count)
	k.number("attempts", &a.Attempts)
	k.optionalNumber("run_at", &a.RunAt)
	k.optionalNumber("unique", &a.Unique)
	k.optionalNumber("held", &a.Held)
	k.number("now", &a.Now)
	k.optionalNumber("limit", &a.Limit)
	k.optionalNumber("ordering", &a.Ordering)
}

func (a *Begin) keys(k keys) {
	k.number("tx", &a.Tx)
	k.isolation("isolation", &a.Isolation)
}

func (a *EnqueueTx) keys(k keys) {
	k.number("tx", &a.Tx)
	k.word("queue", &a.Queue)
	k.number("priority", &a.Priority)
	k.number("count", &a.Count)
	k.number("attempts", &a.Attempts)
	k.optionalNumber("run_at", &a.RunAt)
	k.optionalNumber("unique", &a.Unique)
	k.optionalNumber("held", &a.Held)
	k.number("now", &a.Now)
	k.optionalNumber("limit", &a.Limit)
	k.optionalNumber("ordering", &a.Ordering)
}

func (a *Commit) keys(k keys)   { k.number("tx", &a.Tx) }
func (a *Rollback) keys(k keys) { k.number("tx", &a.Tx) }

func (a *Promote) keys(k keys) {
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *Claim) keys(k keys) {
	k.word("queue", &a.Queue)
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *Complete) keys(k keys) {
	k.attempts("attempts", &a.Attempts)
	k.number("now", &a.Now)
}

func (a *CompleteTx) keys(k keys) {
	k.number("tx", &a.Tx)
	k.attempts("attempts", &a.Attempts)
	k.number("now", &a.Now)
}

func (a *Fail) keys(k keys) {
	k.attempts("attempts", &a.Attempts)
	k.number("now", &a.Now)
}

func (a *Heartbeat) keys(k keys) {
	k.attempts("attempts", &a.Attempts)
	k.number("now", &a.Now)
}

func (a *Progress) keys(k keys) {
	k.attempts("attempts", &a.Attempts)
	k.number("percent", &a.Percent)
	k.number("now", &a.Now)
}

func (a *Retry) keys(k keys) {
	k.attempts("attempts", &a.Attempts)
	k.optionalNumber("delay", &a.Delay)
	k.number("now", &a.Now)
}

func (a *Snooze) keys(k keys) {
	k.attempts("attempts", &a.Attempts)
	k.number("delay", &a.Delay)
	k.number("now", &a.Now)
}

func (a *Cancel) keys(k keys) {
	k.optionalJobs("jobs", &a.Jobs)
	k.number("now", &a.Now)
}

func (a *Park) keys(k keys) {
	k.attempt("attempt", &a.Attempt)
	k.number("token", &a.Token)
	k.optionalNumber("timeout", &a.Timeout)
	k.number("now", &a.Now)
}

func (a *Resume) keys(k keys) {
	k.attempt("attempt", &a.Attempt)
	k.number("token", &a.Token)
	k.number("now", &a.Now)
}

func (a *CallbackTimeout) keys(k keys) {
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *RescueStale) keys(k keys) {
	k.number("older", &a.Older)
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *RescueDeadline) keys(k keys) {
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *RotateQueue) keys(k keys)  { k.number("now", &a.Now) }
func (a *RotateClaims) keys(k keys) { k.number("now", &a.Now) }
func (a *RotateLeases) keys(k keys) { k.number("now", &a.Now) }

func (a *PruneQueue) keys(k keys) {
	k.number("retention", &a.Retention)
	k.number("now", &a.Now)
}

func (a *RetryFailed) keys(k keys) {
	k.optionalWord("queue", &a.Queue)
	k.optionalWord("kind", &a.Kind)
	k.optionalJobs("jobs", &a.Jobs)
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *SetShards) keys(k keys) {
	k.word("queue", &a.Queue)
	k.number("shards", &a.Shards)
}

func (a *SetDLQ) keys(k keys) {
	k.word("queue", &a.Queue)
	k.number("on", &a.On)
}

func (a *MoveToDLQ) keys(k keys) {
	k.optionalWord("queue", &a.Queue)
	k.optionalWord("kind", &a.Kind)
	k.optionalJobs("jobs", &a.Jobs)
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *RetryFromDLQ) keys(k keys) {
	k.optionalWord("queue", &a.Queue)
	k.optionalWord("kind", &a.Kind)
	k.optionalJobs("jobs", &a.Jobs)
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *PurgeDLQ) keys(k keys) {
	k.optionalJobs("jobs", &a.Jobs)
	k.optionalNumber("older", &a.Older)
	k.number("limit", &a.Limit)
	k.number("now", &a.Now)
}

func (a *SetPriority) keys(k keys) {
	k.optionalJobs("jobs", &a.Jobs)
	k.number("priority", &a.Priority)
}

func (a *MoveJob) keys(k keys) {
	k.optionalJobs("jobs", &a.Jobs)
	k.word("queue", &a.Queue)
}

func (a *DeleteTerminal) keys(k keys) { k.optionalJobs("jobs", &a.Jobs) }

func (a *PruneClaims) keys(k keys) { k.number("now", &a.Now) }
func (a *PruneLeases) keys(k keys) { k.number("now", &a.Now) }
func (a *CountsOf) keys(k keys)    { k.word("queue", &a.Queue) }
func (a *JobOf) keys(k keys)       { k.number("job", &a.Job) }
func (a *JobAttempts) keys(k keys) { k.number("job", &a.Job) }
func (*TrimLedger) keys(keys)      {}
func (*TrimKeys) keys(keys)        {}
func (*FoldCounts) keys(keys)      {}

func (a *ListJobs) keys(k keys) {
	k.optionalWord("state", &a.State)
	k.optionalWord("queue", &a.Queue)
	k.optionalJobs("jobs", &a.Jobs)
	k.optionalNumber("after", &a.After)
	k.optionalNumber("oldest_first", &a.OldestFirst)
	k.number("limit", &a.Limit)
}

func (a *PauseQueue) keys(k keys) {
	k.word("queue", &a.Queue)
	k.number("now", &a.Now)
}

func (a *ResumeQueue) keys(k keys) { k.word("queue", &a.Queue) }
func (*Reopen) keys(keys)          {}

func (Enqueue) Name() string         { return "Enqueue" }
func (Begin) Name() string           { return "Begin" }
func (EnqueueTx) Name() string       { return "EnqueueTx" }
func (Commit) Name() string          { return "Commit" }
func (Rollback) Name() string        { return "Rollback" }
func (Promote) Name() string         { return "Promote" }
func (Claim) Name() string           { return "Claim" }
func (Complete) Name() string        { return "Complete" }
func (CompleteTx) Name() string      { return "CompleteTx" }
func (Fail) Name() string            { return "Fail" }
func (Heartbeat) Name() string       { return "Heartbeat" }
func (Progress) Name() string        { return "Progress" }
func (Retry) Name() string           { return "Retry" }
func (Snooze) Name() string          { return "Snooze" }
func (Cancel) Name() string          { return "Cancel" }
func (Park) Name() string            { return "Park" }
func (Resume) Name() string          { return "Resume" }
func (CallbackTimeout) Name() string { return "CallbackTimeout" }
func (RescueStale) Name() string     { return "RescueStale" }
func (RescueDeadline) Name() string  { return "RescueDeadline" }
func (RotateQueue) Name() string     { return "RotateQueue" }
func (RotateClaims) Name() string    { return "RotateClaims" }
func (RotateLeases) Name() string    { return "RotateLeases" }
func (PruneQueue) Name() string      { return "PruneQueue" }
func (PruneClaims) Name() string     { return "PruneClaims" }
func (PruneLeases) Name() string     { return "PruneLeases" }
func (RetryFailed) Name() string     { return "RetryFailed" }
func (SetDLQ) Name() string          { return "SetDLQ" }
func (SetShards) Name() string       { return "SetShards" }
func (MoveToDLQ) Name() string       { return "MoveToDLQ" }
func (RetryFromDLQ) Name() string    { return "RetryFromDLQ" }
func (PurgeDLQ) Name() string        { return "PurgeDLQ" }
func (DeleteTerminal) Name() string  { return "DeleteTerminal" }
func (SetPriority) Name() string     { return "SetPriority" }
func (MoveJob) Name() string         { return "MoveJob" }
func (TrimLedger) Name() string      { return "TrimLedger" }
func (TrimKeys) Name() string        { return "TrimKeys" }
func (FoldCounts) Name() string      { return "FoldCounts" }
func (PauseQueue) Name() string      { return "PauseQueue" }
func (ResumeQueue) Name() string     { return "ResumeQueue" }
func (CountsOf) Name() string        { return "Counts" }
func (ListJobs) Name() string        { return "ListJobs" }
func (JobOf) Name() string           { return "Job" }
func (JobAttempts) Name() string     { return "JobAttempts" }
func (Reopen) Name() string          { return "Reopen" }

func (a Enqueue) String() string         { return line(a.Name(), a.keys) }
func (a Begin) String() string           { return line(a.Name(), a.keys) }
func (a EnqueueTx) String() string       { return line(a.Name(), a.keys) }
func (a Commit) String() string          { return line(a.Name(), a.keys) }
func (a Rollback) String() string        { return line(a.Name(), a.keys) }
func (a Promote) String() string         { return line(a.Name(), a.keys) }
func (a Claim) String() string           { return line(a.Name(), a.keys) }
func (a Complete) String() string        { return line(a.Name(), a.keys) }
func (a CompleteTx) String() string      { return line(a.Name(), a.keys) }
func (a Fail) String() string            { return line(a.Name(), a.keys) }
func (a Heartbeat) String() string       { return line(a.Name(), a.keys) }
func (a Progress) String() string        { return line(a.Name(), a.keys) }
func (a Retry) String() string           { return line(a.Name(), a.keys) }
func (a Snooze) String() string          { return line(a.Name(), a.keys) }
func (a Cancel) String() string          { return line(a.Name(), a.keys) }
func (a Park) String() string            { return line(a.Name(), a.keys) }
func (a Resume) String() string          { return line(a.Name(), a.keys) }
func (a CallbackTimeout) String() string { return line(a.Name(), a.keys) }
func (a RescueStale) String() string     { return line(a.Name(), a.keys) }
func (a RescueDeadline) String() string  { return line(a.Name(), a.keys) }
func (a RotateQueue) String() string     { return line(a.Name(), a.keys) }
func (a RotateClaims) String() string    { return line(a.Name(), a.keys) }
func (a RotateLeases) String() string    { return line(a.Name(), a.keys) }
func (a PruneQueue) String() string      { return line(a.Name(), a.keys) }
func (a PruneClaims) String() string     { return line(a.Name(), a.keys) }
func (a PruneLeases) String() string     { return line(a.Name(), a.keys) }
func (a RetryFailed) String() string     { return line(a.Name(), a.keys) }
func (a SetDLQ) String() string          { return line(a.Name(), a.keys) }
func (a SetShards) String() string       { return line(a.Name(), a.keys) }
func (a MoveToDLQ) String() string       { return line(a.Name(), a.keys) }
func (a RetryFromDLQ) String() string    { return line(a.Name(), a.keys) }
func (a PurgeDLQ) String() string        { return line(a.Name(), a.keys) }
func (a DeleteTerminal) String() string  { return line(a.Name(), a.keys) }
func (a SetPriority) String() string     { return line(a.Name(), a.keys) }
func (a MoveJob) String() string         { return line(a.Name(), a.keys) }
func (a TrimLedger) String() string      { return line(a.Name(), a.keys) }
func (a TrimKeys) String() string        { return line(a.Name(), a.keys) }
func (a FoldCounts) String() string      { return line(a.Name(), a.keys) }
func (a PauseQueue) String() string      { return line(a.Name(), a.keys) }
func (a ResumeQueue) String() string     { return line(a.Name(), a.keys) }
func (a CountsOf) String() string        { return line(a.Name(), a.keys) }
func (a ListJobs) String() string        { return line(a.Name(), a.keys) }
func (a JobOf) String() string           { return line(a.Name(), a.keys) }
func (a JobAttempts) String() string     { return line(a.Name(), a.keys) }
func (a Reopen) String() string          { return line(a.Name(), a.keys) }

// parsers has one entry for each operation: an operation without one can't be read back, and the round trip, which
// draws its names from here, would never try it. So a test counts the entries against the types.
var parsers = map[string]func(*lineReader) Action{
	"Enqueue":         parser((*Enqueue).keys),
	"Begin":           parser((*Begin).keys),
	"EnqueueTx":       parser((*EnqueueTx).keys),
	"Commit":          parser((*Commit).keys),
	"Rollback":        parser((*Rollback).keys),
	"Promote":         parser((*Promote).keys),
	"Claim":           parser((*Claim).keys),
	"Complete":        parser((*Complete).keys),
	"CompleteTx":      parser((*CompleteTx).keys),
	"Fail":            parser((*Fail).keys),
	"Heartbeat":       parser((*Heartbeat).keys),
	"Progress":        parser((*Progress).keys),
	"Retry":           parser((*Retry).keys),
	"Snooze":          parser((*Snooze).keys),
	"Cancel":          parser((*Cancel).keys),
	"Park":            parser((*Park).keys),
	"Resume":          parser((*Resume).keys),
	"CallbackTimeout": parser((*CallbackTimeout).keys),
	"RescueStale":     parser((*RescueStale).keys),
	"RescueDeadline":  parser((*RescueDeadline).keys),
	"RotateQueue":     parser((*RotateQueue).keys),
	"RotateClaims":    parser((*RotateClaims).keys),
	"RotateLeases":    parser((*RotateLeases).keys),
	"PruneQueue":      parser((*PruneQueue).keys),
	"PruneClaims":     parser((*PruneClaims).keys),
	"PruneLeases":     parser((*PruneLeases).keys),
	"RetryFailed":     parser((*RetryFailed).keys),
	"SetDLQ":          parser((*SetDLQ).keys),
	"SetShards":       parser((*SetShards).keys),
	"MoveToDLQ":       parser((*MoveToDLQ).keys),
	"RetryFromDLQ":    parser((*RetryFromDLQ).keys),
	"PurgeDLQ":        parser((*PurgeDLQ).keys),
	"DeleteTerminal":  parser((*DeleteTerminal).keys),
	"SetPriority":     parser((*SetPriority).keys),
	"MoveJob":         parser((*MoveJob).keys),
	"TrimLedger":      parser((*TrimLedger).keys),
	"TrimKeys":        parser((*TrimKeys).keys),
	"FoldCounts":      parser((*FoldCounts).keys),
	"PauseQueue":      parser((*PauseQueue).keys),
	"ResumeQueue":     parser((*ResumeQueue).keys),
	"Counts":          parser((*CountsOf).keys),
	"ListJobs":        parser((*ListJobs).keys),
	"Job":             parser((*JobOf).keys),
	"JobAttempts":     parser((*JobAttempts).keys),
	"Reopen":          parser((*Reopen).keys),
}

func parser[A Action](walk func(*A, keys)) func(*lineReader) Action {
	return func(r *lineReader) Action {
		var a A
		walk(&a, r)
		return a
	}
}

// ActionNames are the names of all operations, sorted.
func ActionNames() []string { return slices.Sorted(maps.Keys(parsers)) }

// Parse reads one line. Keys may stand in any order; each that isn't optional must be there once, and no other. What the values
// mean is not looked at here: a line may well name a job that doesn't exist.
func Parse(text string) (Action, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, errors.New("operation: empty line")
	}
	parse, ok := parsers[words[0]]
	if !ok {
		return nil, fmt.Errorf("operation %q: unknown; known are %s", words[0], strings.Join(ActionNames(), ", "))
	}
	r := lineReader{values: map[string]string{}}
	for _, word := range words[1:] {
		key, value, ok := strings.Cut(word, "=")
		if _, twice := r.values[key]; !ok || twice {
			return nil, fmt.Errorf("operation %q: %q is not one more key=value", text, word)
		}
		r.values[key] = value
	}
	a := parse(&r)
	for key := range r.values {
		r.fail("unknown key %q", key)
	}
	if r.err != nil {
		return nil, fmt.Errorf("operation %q: %w", text, r.err)
	}
	return a, nil
}

// ParseScript reads many lines; empty lines, and what follows a #, are for people.
func ParseScript(text string) ([]Action, error) {
	var actions []Action
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		a, err := Parse(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		actions = append(actions, a)
	}
	return actions, nil
}
