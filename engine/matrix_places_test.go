package engine_test

import (
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// A subject is the job that a cell of the matrix is about.
type subject struct {
	*bundle
	t       *testing.T
	queue   string
	id      int64
	receipt engine.Receipt   // of its newest attempt; zero when there was none
	others  []int64          // jobs that the operation made
	base    map[string]int64 // the queue's counts before there was a job
}

func newSubject(t *testing.T, b *bundle) *subject {
	return &subject{bundle: b, t: t, queue: "q"}
}

func (s *subject) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// params is a job of the matrix. Its key is held for as long as it isn't over.
func (s *subject) params() engine.JobParams {
	return engine.JobParams{Queue: s.queue, Kind: "k", MaxAttempts: 5, Unique: &engine.Unique{Queue: true}}
}

// twin is another job with the same key.
func (s *subject) twin() engine.JobParams { return s.params() }

// A matrixPlace is a state and the shape in which the tables hold it.
type matrixPlace struct {
	state, shape string
	bring        func(*subject)
}

func (p matrixPlace) name() string { return p.state + "/" + p.shape }

// matrixPlaces in the order in which they are told. "local" is a row-local claim, "narrow" a terminal row whose body stands
// in its ready row, "wide" one that has it itself, "compact" history a batch.
var matrixPlaces = []matrixPlace{
	{"available", "new", func(s *subject) { s.enqueues(nil) }},
	{"available", "new-local", func(s *subject) { s.enqueues(ownClaim) }},
	{"available", "sealed", func(s *subject) { s.enqueues(nil); s.seals() }},
	{"available", "rescued", func(s *subject) { s.runs(nil); s.rescued() }},
	{"available", "rescued-local", func(s *subject) { s.runs(ownClaim); s.rescued() }},
	{"available", "promoted", func(s *subject) { s.runs(nil); s.retried(); s.promoted() }},
	{"available", "moved", func(s *subject) { s.runs(nil); s.rescued(); s.prioritise(s.t, 3, s.id) }},
	{"available", "retried-failed", func(s *subject) { s.runs(nil); s.fails(); s.retriesFailed() }},
	{"available", "retried-dlq", func(s *subject) { s.held(nil); s.fails(); s.retriesFromDLQ() }},

	{"scheduled", "new", func(s *subject) { s.enqueues(later) }},
	{"scheduled", "new-local", func(s *subject) { s.enqueues(func(p *engine.JobParams) { later(p); ownClaim(p) }) }},
	{"scheduled", "snoozed", func(s *subject) { s.runs(nil); s.snoozed() }},
	{"scheduled", "snoozed-local", func(s *subject) { s.runs(ownClaim); s.snoozed() }},

	{"retryable", "compact", func(s *subject) { s.runs(nil); s.retried() }},
	{"retryable", "local", func(s *subject) { s.runs(ownClaim); s.retried() }},

	{"running", "compact", func(s *subject) { s.runs(nil) }},
	{"running", "local", func(s *subject) { s.runs(ownClaim) }},
	{"running", "compact-state", func(s *subject) { s.runs(nil); s.beats() }},
	{"running", "local-state", func(s *subject) { s.runs(ownClaim); s.beats() }},
	{"running", "compact-overdue", func(s *subject) { s.queue = "limited"; s.runs(nil); s.clock.advance(time.Hour) }},
	{"running", "local-overdue", func(s *subject) { s.runs(limited); s.beats(); s.clock.advance(time.Hour) }},
	{"running", "compact-sealed", func(s *subject) { s.runs(nil); s.seals() }},
	{"running", "local-sealed", func(s *subject) { s.runs(ownClaim); s.seals() }},
	{"running", "compact-last-attempt", func(s *subject) { s.runs(oneTry) }},
	{"running", "local-last-attempt", func(s *subject) { s.runs(func(p *engine.JobParams) { oneTry(p); ownClaim(p) }) }},
	{"running", "compact-held", func(s *subject) { s.held(oneTry) }},
	{"running", "local-held", func(s *subject) { s.held(ownClaim) }},

	{"running", "compact-resumed", func(s *subject) { s.runs(nil); s.parks(); s.resumes() }},
	{"running", "local-resumed", func(s *subject) { s.runs(ownClaim); s.parks(); s.resumes() }},
	{"running", "compact-early", func(s *subject) { s.runs(nil); s.callsEarly() }},

	{"waiting", "compact", func(s *subject) { s.runs(nil); s.parks() }},
	{"waiting", "local", func(s *subject) { s.runs(ownClaim); s.parks() }},
	{"waiting", "compact-timed-out", func(s *subject) { s.runs(nil); s.parks(); s.clock.advance(time.Minute) }},
	{"waiting", "local-timed-out", func(s *subject) { s.runs(ownClaim); s.parks(); s.clock.advance(time.Minute) }},
	{"waiting", "local-overdue", func(s *subject) { s.runs(limited); s.parks(); s.clock.advance(time.Hour) }},
	{"waiting", "compact-sealed", func(s *subject) { s.runs(nil); s.parks(); s.seals() }},
	{"waiting", "local-sealed", func(s *subject) { s.runs(ownClaim); s.parks(); s.seals() }},
	{"waiting", "compact-last-attempt", func(s *subject) { s.runs(oneTry); s.parks() }},

	{"completed", "narrow", func(s *subject) { s.runs(nil); s.parks(); s.completes() }},
	{"completed", "narrow-of-local", func(s *subject) { s.runs(ownClaim); s.parks(); s.resumes(); s.completes() }},
	{"completed", "compact", func(s *subject) { s.runs(nil); s.completes() }},
	{"completed", "compact-of-local", func(s *subject) { s.runs(ownClaim); s.completes() }},

	{"failed", "narrow", func(s *subject) { s.runs(nil); s.fails() }},
	{"failed", "narrow-of-local", func(s *subject) { s.runs(ownClaim); s.fails() }},
	{"failed", "narrow-last-attempt", func(s *subject) { s.runs(oneTry); s.rescued() }},
	{"failed", "wide", func(s *subject) { s.runs(nil); s.fails(); s.carried() }},

	{"cancelled", "tombstone", func(s *subject) { s.enqueues(nil); s.cancels() }},
	{"cancelled", "narrow", func(s *subject) { s.runs(nil); s.cancels() }},
	{"cancelled", "narrow-of-local", func(s *subject) { s.runs(ownClaim); s.cancels() }},
	{"cancelled", "wide", func(s *subject) { s.enqueues(later); s.cancels() }},

	{"dlq", "failed", func(s *subject) { s.held(nil); s.fails() }},
	{"dlq", "moved-wide", func(s *subject) { s.runs(nil); s.fails(); s.carried(); s.moves() }},

	{"gone", "never", func(s *subject) { s.id, s.base = 1<<40, s.counts() }},
	{"gone", "pruned", func(s *subject) { s.runs(nil); s.completes(); s.prunedAs(engine.Pruned) }},
	{"gone", "deleted-compact", func(s *subject) { s.runs(nil); s.completes(); s.deletes() }},
	{"gone", "deleted-narrow", func(s *subject) { s.runs(ownClaim); s.fails(); s.deletes() }},
	{"gone", "purged", func(s *subject) { s.held(nil); s.fails(); s.purges() }},
}

// What a job asks for.

func ownClaim(p *engine.JobParams) { p.OwnClaim = true }
func limited(p *engine.JobParams)  { p.TimeLimit = time.Minute }
func oneTry(p *engine.JobParams)   { p.MaxAttempts = 1 }
func later(p *engine.JobParams)    { p.RunAt = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// The steps that lead to a place.

func (s *subject) enqueues(change func(*engine.JobParams)) {
	s.t.Helper()
	p := s.params()
	if change != nil {
		change(&p)
	}
	if !p.RunAt.IsZero() {
		p.RunAt = s.clock.now().Add(time.Hour)
	}
	s.base = s.counts()
	id, err := s.Enqueue(s.t.Context(), p)
	s.must(err)
	s.id = id
}

// runs enqueues the job and claims it.
func (s *subject) runs(change func(*engine.JobParams)) {
	s.t.Helper()
	s.enqueues(change)
	s.receipt = s.claim(s.t, s.queue, 1)[0].Receipt
}

// held runs the job in a queue whose failures go into the DLQ.
func (s *subject) held(change func(*engine.JobParams)) {
	s.t.Helper()
	s.queue = "held"
	s.hold(s.t, s.queue, true)
	s.runs(change)
}

func (s *subject) completes() {
	s.t.Helper()
	s.wantOK(s.closes(s.Complete(s.t.Context(), []engine.Receipt{s.receipt})))
}

func (s *subject) fails() {
	s.t.Helper()
	s.wantOK(s.closes(s.Fail(s.t.Context(), []engine.Failure{{Receipt: s.receipt, Message: "m"}})))
}

func (s *subject) retried() {
	s.t.Helper()
	s.wantOK(s.closes(s.Retry(s.t.Context(), []engine.Retrial{{Receipt: s.receipt, Message: "m"}})))
}

func (s *subject) snoozed() {
	s.t.Helper()
	s.wantOK(s.closes(s.Snooze(s.t.Context(), []engine.Snoozing{{Receipt: s.receipt, For: time.Hour}})))
}

func (s *subject) beats() {
	s.t.Helper()
	s.wantOK(label(s.Progress(s.t.Context(), s.receipt, engine.ProgressReport{Percent: 10})))
}

// parks lets the attempt wait for its token 1.
func (s *subject) parks() {
	s.t.Helper()
	_, err := s.Park(s.t.Context(), s.receipt, engine.Wait{Token: s.receipt.Token([16]byte{1}), Timeout: time.Minute})
	s.must(err)
}

func (s *subject) resumes() {
	s.t.Helper()
	s.wantResume(s.t, s.receipt.Token([16]byte{1}), "1", engine.Resumed)
}

// callsEarly brings the callback of token 2 before its park.
func (s *subject) callsEarly() {
	s.t.Helper()
	s.wantResume(s.t, s.receipt.Token([16]byte{2}), "2", engine.ResumeKept)
}

func (s *subject) rescued() {
	s.t.Helper()
	s.clock.advance(time.Second)
	out, err := s.RescueStale(s.t.Context(), 0, 10)
	s.must(err)
	if out.Requeued+out.Failed+out.DLQ != 1 {
		s.t.Fatalf("rescued %+v, want one attempt", out)
	}
}

func (s *subject) promoted() {
	s.t.Helper()
	s.clock.advance(time.Hour)
	n, err := s.Promote(s.t.Context(), 10)
	s.must(err)
	if n != 1 {
		s.t.Fatalf("promoted %d jobs, want 1", n)
	}
}

func (s *subject) retriesFailed() {
	s.t.Helper()
	if got := s.retries(engine.FailedJobs{IDs: []int64{s.id}}); got != "1 of 1" {
		s.t.Fatalf("retried %s, want 1 of 1", got)
	}
}

func (s *subject) retriesFromDLQ() {
	s.t.Helper()
	if got := s.releases(engine.FailedJobs{IDs: []int64{s.id}}); got != "1 of 1" {
		s.t.Fatalf("retried %s, want 1 of 1", got)
	}
}

func (s *subject) moves() {
	s.t.Helper()
	if got := s.movesTo(engine.FailedJobs{IDs: []int64{s.id}}); got != "1 of 1" {
		s.t.Fatalf("moved %s, want 1 of 1", got)
	}
}

func (s *subject) deletes() {
	s.t.Helper()
	s.wantDeleted(s.t, []int64{s.id}, nil)
}

func (s *subject) purges() {
	s.t.Helper()
	if got := s.purged(engine.HeldJobs{IDs: []int64{s.id}}); got != "1 purged" {
		s.t.Fatal(got)
	}
}

func (s *subject) cancels() {
	s.t.Helper()
	results, err := s.Cancel(s.t.Context(), []int64{s.id})
	s.must(err)
	s.wantOK(label(results[0].Err))
}

// seals turns the rings, so that everything about the job stands in sealed slots.
func (s *subject) seals() {
	s.t.Helper()
	_, err := s.RotateQueue(s.t.Context())
	s.must(err)
	_, err = s.RotateClaims(s.t.Context())
	s.must(err)
	_, err = s.RotateLeases(s.t.Context())
	s.must(err)
}

func (s *subject) prunedAs(want engine.PruneStatus) {
	s.t.Helper()
	if got := s.prunes(0); got != string(want) {
		s.t.Fatalf("prune: %s, want %s", got, want)
	}
}

func (s *subject) carried() {
	s.t.Helper()
	if got := s.prunes(time.Hour); got != "pruned, 1 carried" {
		s.t.Fatalf("prune: %s, want one row carried", got)
	}
}

func (s *subject) wantOK(label string) {
	s.t.Helper()
	if label != "ok" {
		s.t.Fatal(label)
	}
}
