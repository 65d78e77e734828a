package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/awa-engine/awa/engine"
)

// A fate is what becomes of a job; it is its kind. Fates other than success have their way once, at the job's first
// attempt, so that every job ends.
type fate string

const (
	succeeds  fate = "succeeds"
	retried   fate = "retried"
	fails     fate = "fails"
	snoozed   fate = "snoozed"
	cancelled fate = "cancelled" // while it waits, or while it runs
	parked    fate = "parked"    // until a callback, or its timeout
	unique    fate = "unique"
	deferred  fate = "deferred"
	beats     fate = "beats"   // a heartbeat and a progress report
	limited   fate = "limited" // a time limit of its own: the first attempt runs out of it
	lost      fate = "lost"    // the first attempt's worker is never heard of again
)

// shares are how many of a hundred jobs have each fate, but for those that succeed.
var shares = []struct {
	fate fate
	of   int
}{
	{retried, 8}, {fails, 2}, {snoozed, 4}, {cancelled, 4}, {parked, 4}, {unique, 4}, {deferred, 6}, {beats, 2}, {limited, 2}, {lost, 1},
}

// uniqueKeys is how many keys the unique jobs share: few enough that some meet their like.
const uniqueKeys = 40

func drawFate(rng *rand.Rand) fate {
	n := rng.IntN(100)
	for _, s := range shares {
		if n -= s.of; n < 0 {
			return s.fate
		}
	}
	return succeeds
}

// drawJob draws a job of a queue.
func drawJob(rng *rand.Rand, queue string) engine.JobParams {
	f := drawFate(rng)
	j := engine.JobParams{Queue: queue, Kind: string(f), Priority: 1 + rng.IntN(4), MaxAttempts: 5, Args: json.RawMessage(`{"customer": 4711, "order": "2207-118"}`)}
	switch f {
	case unique:
		j.Args = json.RawMessage(fmt.Sprintf(`{"key": %d}`, rng.IntN(uniqueKeys)))
		j.Unique = &engine.Unique{Queue: true, Args: true}
	case deferred:
		j.RunAt = time.Now().Add(time.Duration(rng.IntN(2000)) * time.Millisecond)
	case limited:
		j.TimeLimit = 500 * time.Millisecond
	case cancelled:
		if rng.IntN(4) == 0 {
			j.RunAt = time.Now().Add(time.Hour) // cancelled outside of the ring
		}
	}
	return j
}
