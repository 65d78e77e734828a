package engine_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// BenchmarkFailuresOfALap is 20 failures a second at default settings: slots, policies of rotation and prune, and a floor of
// 72 hours, by a clock that jumps from rotation to rotation. The first lap fills the ring; one iteration is the second, in
// which each prune carries what its slot holds. Per row and hour is the rows carried, by the hours that those rows had stood in
// the slots that they were carried from; over 72 hours a row is carried 72 times as often.
func BenchmarkFailuresOfALap(b *testing.B) {
	const (
		slots   = 16
		turn    = 20 * time.Minute // how long a slot is current by default
		perTurn = 20 * int(turn/time.Second)
		floor   = 72 * time.Hour
	)
	_, pool := benchServer(b, 2)
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	e, err := engine.Open(b.Context(), pool, engine.Config{Now: func() time.Time { return time.Unix(0, clock.Load()) }})
	if err != nil {
		b.Fatal(err)
	}
	turns, pruned, carried := 0, 0, 0
	var stood float64 // hours, of all carried rows
	var took []time.Duration
	turnOnce := func() {
		failures(b, e, perTurn)
		clock.Add(int64(turn))
		turns++
		if out, err := e.RotateDue(b.Context(), engine.RotationPolicy{}); err != nil || out.Queue.Status != engine.Rotated {
			b.Fatal(out, err)
		}
		began := time.Now()
		out, err := e.PruneQueueDue(b.Context(), floor)
		if err != nil || out.Status != engine.Pruned && out.Status != engine.PruneNotDue {
			b.Fatal(out, err)
		}
		if out.Status == engine.Pruned {
			took = append(took, time.Since(began))
			pruned, carried = pruned+1, carried+out.CarriedFailedRows
			stood += float64(out.CarriedFailedRows) * turn.Hours() * float64(int64(turns)-out.Generation)
		}
		if _, err := e.PruneClaims(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for pruned == 0 {
		turnOnce()
	}
	for b.Loop() {
		pruned, carried, stood, took = 0, 0, 0, nil
		for pruned < slots {
			turnOnce()
		}
	}
	slices.Sort(took)
	perHour := float64(carried) / stood
	b.ReportMetric(float64(carried), "rows-carried/lap")
	b.ReportMetric(perHour, "carried/row/h")
	b.ReportMetric(perHour*floor.Hours(), "carried/row/72h")
	b.ReportMetric(took[len(took)/2].Seconds(), "s/prune")
	b.ReportMetric(0, "ns/op")
}

// failures enqueues jobs, claims them, and fails each at its only attempt.
func failures(b *testing.B, e *engine.Engine, n int) {
	b.Helper()
	for ; n > 0; n -= 1000 {
		jobs := make([]engine.JobParams, min(n, 1000))
		for i := range jobs {
			jobs[i] = engine.JobParams{Queue: "bench", Kind: "noop", Args: payload, MaxAttempts: 1}
		}
		if _, err := e.EnqueueMany(b.Context(), jobs); err != nil {
			b.Fatal(err)
		}
		attempts, err := e.Claim(b.Context(), "bench", len(jobs))
		if err != nil || len(attempts) != len(jobs) {
			b.Fatal(len(attempts), err)
		}
		bad := make([]engine.Failure, len(attempts))
		for i, a := range attempts {
			bad[i] = engine.Failure{Receipt: a.Receipt, Message: "out of reach"}
		}
		if _, err := e.Fail(b.Context(), bad); err != nil {
			b.Fatal(err)
		}
	}
}
