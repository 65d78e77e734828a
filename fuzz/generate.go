package fuzz

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/awa-engine/awa/model"
)

// generator draws operations that mean something in the state at hand; it knows which attempts were ever handed out,
// so that late closes of superseded attempts are drawn, too.
type generator struct {
	world    World
	now      int
	attempts []model.AttemptID // handed out, in order
}

// weights say how often each operation is drawn while it is possible.
var weights = map[string]int{
	"Enqueue": 5, "Begin": 2, "EnqueueTx": 4, "Commit": 2, "Rollback": 1, "Promote": 2, "Claim": 8, "Complete": 6, "Fail": 3,
	"RescueStale": 4, "RotateQueue": 5, "RotateClaims": 5, "PruneQueue": 6, "PruneClaims": 6, "Counts": 2, "Job": 2, "Reopen": 1,
}

// maxOpen bounds the callers' transactions that are open at once.
const maxOpen = 2

// possible lists the operation names, each as often as it weighs.
func (g *generator) possible(s model.Store) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		switch name {
		case "Begin":
			if len(s.Txs()) >= maxOpen {
				continue
			}
		case "EnqueueTx", "Commit", "Rollback":
			if len(s.Txs()) == 0 {
				continue
			}
		case "Complete", "Fail":
			if len(g.attempts) == 0 {
				continue
			}
		case "Job":
			if s.Vars().NextJob == 1 {
				continue
			}
		}
		names = append(names, slices.Repeat([]string{name}, weights[name])...)
	}
	return names
}

// draw draws the next operation. Time stands still or moves on, never back.
func (g *generator) draw(t *rapid.T, s model.Store) model.Action {
	g.now += rapid.IntRange(0, 2).Draw(t, "pass")
	queue := func() string { return rapid.SampledFrom(g.world.Queues).Draw(t, "queue") }
	small := func(what string, most int) int { return rapid.IntRange(1, most).Draw(t, what) }
	tx := func() int {
		return rapid.SampledFrom(s.Txs()).Draw(t, "tx").ID
	}
	// Two priorities meet often enough to compete.
	priority := func() int { return rapid.SampledFrom([]int{2, 2, 2, 1, 3, 4}).Draw(t, "priority") }
	switch rapid.SampledFrom(g.possible(s)).Draw(t, "operation") {
	case "Enqueue":
		return model.Enqueue{Queue: queue(), Priority: priority(), Count: small("count", 4), Attempts: small("attempts", 3), Now: g.now}
	case "Begin":
		isolation := rapid.SampledFrom([]model.Isolation{model.ReadCommitted, model.ReadCommitted, model.RepeatableRead, model.Serializable})
		return model.Begin{Tx: freeTx(s), Isolation: isolation.Draw(t, "isolation")}
	case "EnqueueTx":
		return model.EnqueueTx{Tx: tx(), Queue: queue(), Priority: priority(), Count: small("count", 2), Attempts: small("attempts", 3), Now: g.now}
	case "Commit":
		return model.Commit{Tx: tx()}
	case "Rollback":
		return model.Rollback{Tx: tx()}
	case "Promote":
		return model.Promote{Limit: small("limit", 3), Now: g.now}
	case "Claim":
		return model.Claim{Queue: queue(), Limit: small("limit", 5), Now: g.now}
	case "Complete":
		return model.Complete{Attempts: g.drawAttempts(t, s), Now: g.now}
	case "Fail":
		return model.Fail{Attempts: g.drawAttempts(t, s), Now: g.now}
	case "RescueStale":
		return model.RescueStale{Older: rapid.IntRange(0, 4).Draw(t, "older"), Limit: small("limit", 4), Now: g.now}
	case "RotateQueue":
		return model.RotateQueue{Now: g.now}
	case "RotateClaims":
		return model.RotateClaims{Now: g.now}
	case "PruneQueue":
		return model.PruneQueue{Retention: rapid.SampledFrom([]int{0, 0, 0, 0, 3}).Draw(t, "retention"), Now: g.now}
	case "PruneClaims":
		return model.PruneClaims{Now: g.now}
	case "Counts":
		return model.CountsOf{Queue: queue()}
	case "Job":
		return model.JobOf{Job: rapid.IntRange(1, s.Vars().NextJob-1).Draw(t, "job")}
	default:
		return model.Reopen{}
	}
}

// drawAttempts draws one to four attempts, open ones by preference, with repetitions and dead ones among them.
func (g *generator) drawAttempts(t *rapid.T, s model.Store) []model.AttemptID {
	var open []model.AttemptID
	for c := range s.OpenClaims() {
		open = append(open, c.ID())
	}
	n := rapid.IntRange(1, 4).Draw(t, "how many")
	var picked []model.AttemptID
	for range n {
		from := open
		if len(open) == 0 || rapid.IntRange(0, 5).Draw(t, "any") == 0 {
			from = g.attempts
		}
		picked = append(picked, rapid.SampledFrom(from).Draw(t, "attempt"))
	}
	return picked
}

// freeTx is the lowest number that no open transaction has.
func freeTx(s model.Store) int {
	id := 1
	for _, tx := range s.Txs() {
		if tx.ID == id {
			id++
		}
	}
	return id
}
