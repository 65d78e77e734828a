package engine_test

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awa-engine/awa/engine"
)

// Each new shape of one fact is a chance to forget an operation. So every operation meets a job in every state and every
// shape, and testdata/matrix.txt says what it answers and where the job is afterwards. A cell that isn't there fails, as
// does a method of the engine that is neither in the matrix nor left out by name. After each cell the counts agree with
// the job, and the job can still be brought to its end and all rings be emptied; the audit, which takes longer than the rest,
// is asked once for each thing that an operation may come to.
//
//go:embed testdata/matrix.txt
var matrixText string

// outside are the methods that have no job to meet, and why.
var outside = map[string]string{
	"Enqueue":       "makes another job; EnqueueUnique is the one that meets one",
	"EnqueueMany":   "makes other jobs",
	"EnqueueTx":     "makes other jobs",
	"RegisterQueue": "knows no jobs",
	"Queues":        "knows no jobs",
	"Settle":        "asks about a transaction",
	"Audit":         "is asked after cells",
	// Of this package's tests.
	"BatchKey": "", "CompleteSQL": "", "Finished": "", "KeyOfLane": "", "LaneKey": "", "PlanSettings": "", "Statements": "",
}

// A cell is what became of one operation on one job.
type cell struct{ answer, after string }

func (c cell) String() string { return c.answer + " -> " + c.after }

func TestMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("one operation at a time: the race detector finds nothing here that it doesn't elsewhere")
	}
	t.Parallel()
	want, err := readMatrix(matrixText)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range unlisted() {
		t.Errorf("the method %s is neither in the matrix nor left out by name", method)
	}
	for _, op := range matrixOperations {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			b := matrixBundle(t)
			got, audited := map[string]cell{}, map[cell]bool{}
			for _, p := range matrixPlaces {
				got[p.name()] = b.try(t, op, p, audited)
				switch w, known := want[op.name][p.name()]; {
				case !known:
					t.Errorf("%s of %s isn't in the matrix; it gives: %s", op.name, p.name(), got[p.name()])
				case w != got[p.name()]:
					t.Errorf("%s of %s gives: %s, want: %s", op.name, p.name(), got[p.name()], w)
				}
			}
			for name := range want[op.name] {
				if _, tried := got[name]; !tried {
					t.Errorf("the matrix has %s of %s, which doesn't exist", op.name, name)
				}
			}
			t.Log("\n" + tell(op.name, got))
		})
	}
}

// matrixBundle has a queue "limited" whose attempts may take a minute.
func matrixBundle(t *testing.T) *bundle {
	b := setup(t)
	cfg := smallRings(b.schema)
	cfg.Now = b.clock.now
	cfg.Queues = map[string]engine.QueueConfig{"limited": {DeadlineDuration: time.Minute}}
	var err error
	if b.Engine, err = engine.Open(t.Context(), b.pool, cfg); err != nil {
		t.Fatal(err)
	}
	return b
}

// unlisted are the engine's methods that the matrix doesn't know.
func unlisted() []string {
	var missing []string
	for method := range reflect.TypeFor[*engine.Engine]().Methods() {
		_, left := outside[method.Name]
		in := slices.ContainsFunc(matrixOperations, func(op matrixOperation) bool { return strings.Fields(op.name)[0] == method.Name })
		if !left && !in {
			missing = append(missing, method.Name)
		}
	}
	return missing
}

// try brings a new job to its place, tries the operation, and looks at what became of the job.
func (b *bundle) try(t *testing.T, op matrixOperation, p matrixPlace, audited map[cell]bool) cell {
	t.Helper()
	s := newSubject(t, b)
	p.bring(s)
	before := s.look()
	c := cell{answer: op.run(s)}
	after := s.look()
	c.after = after.since(before)
	s.wantCounted(op.name+" of "+p.name(), after)
	if !audited[c] {
		b.wantAudit(t)
		audited[c] = true
	}
	if !s.drain(after.state) {
		t.Fatalf("%s of %s: the job doesn't come to an end: %+v", op.name, p.name(), s.look())
	}
	return c
}

// A sight is a job as one may see it from outside.
type sight struct {
	state        string
	lease        int64
	attempt, max int
}

func (s *subject) look() sight {
	j, err := s.Job(s.t.Context(), s.id)
	if errors.Is(err, engine.ErrNotFound) {
		return sight{state: "gone"}
	}
	s.must(err)
	return sight{string(j.State), j.RunLease, j.Attempt, j.MaxAttempts}
}

// since tells what changed.
func (v sight) since(before sight) string {
	switch {
	case v == before:
		return "unchanged"
	case v.state == "gone":
		return "gone"
	}
	var changed bytes.Buffer
	changed.WriteString(v.state)
	for _, d := range []struct {
		name string
		by   int64
	}{{"run_lease", v.lease - before.lease}, {"attempt", int64(v.attempt - before.attempt)}, {"max_attempts", int64(v.max - before.max)}} {
		if d.by != 0 {
			fmt.Fprintf(&changed, " %s%+d", d.name, d.by)
		}
	}
	return changed.String()
}

// wantCounted wants the job counted once, where it is; one that is gone is in the permanent counts.
func (s *subject) wantCounted(what string, v sight) {
	s.t.Helper()
	for name, n := range s.counts() {
		want := int64(0)
		switch {
		case strings.HasPrefix(name, "pruned"):
			if v.state == "gone" {
				continue // it depends on where it was, which the place says, not the sight
			}
		case name == v.state:
			want++
		}
		if name == string(engine.JobAvailable) {
			want += int64(len(s.others))
		}
		if grew := n - s.base[name]; grew != want {
			s.t.Errorf("%s: the count of %s jobs grew by %d, want %d", what, name, grew, want)
		}
	}
}

// counts are the queue's counts by the names of the states.
func (s *subject) counts() map[string]int64 {
	c, err := s.Counts(s.t.Context(), s.queue)
	s.must(err)
	counts := map[string]int64{}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		counts[strings.ToLower(v.Type().Field(i).Name)] = v.Field(i).Int()
	}
	return counts
}

// drain brings the job and those that the operation made to their ends, and empties both rings.
func (s *subject) drain(state string) bool {
	s.t.Helper()
	ctx := s.t.Context()
	ends := append(slices.Clone(s.others), s.id)
	if state == string(engine.JobFailed) {
		ends = append(ends, s.bundle.enqueue(s.t, s.queue, 1)...) // a ring with nothing but failed rows need not turn
	}
	_, err := s.Cancel(ctx, ends)
	s.must(err)
	if state == string(engine.JobDLQ) {
		s.purges() // nothing but that ends it
	}
	for range 12 { // laps of the smallest rings
		q, err := s.RotateQueue(ctx)
		s.must(err)
		c, err := s.RotateClaims(ctx)
		s.must(err)
		_, err = s.RotateLeases(ctx)
		s.must(err)
		queue, err := s.PruneQueue(ctx, 0)
		s.must(err)
		claims, err := s.PruneClaims(ctx)
		s.must(err)
		if out, err := s.PruneLeases(ctx); err != nil || out.Status == engine.PruneSkippedActive {
			s.t.Errorf("the leases: %+v, %v", out, err)
		}
		if queue.Status == engine.PruneNothing && claims.Status == engine.PruneNothing && q.Status == engine.RotateSkippedIdle && c.Status == engine.RotateSkippedIdle {
			return s.look().state == "gone"
		}
		s.clock.advance(time.Second)
	}
	return false
}
