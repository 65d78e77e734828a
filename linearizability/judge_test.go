package linearizability

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

// A past is a small history, made by hand. Calls follow each other at 10 and 20, 30 and 40, … ms unless they say
// otherwise; jobs are of queue mail, lane 2, and may be tried twice.
type past struct {
	h history
	t int64
}

func newPast() *past {
	plan, _ := Plan{Seed: 17}.withDefaults()
	return &past{h: history{run: runFacts{Plan: plan}}}
}

func (p *past) call(c call) *call {
	if c.Return == 0 {
		c.Call, c.Return = p.t+10*ms, p.t+20*ms
	}
	if c.Outcome == "" {
		c.Outcome = outcomeOK
	}
	p.t = max(p.t, c.Call+10*ms)
	if c.Return < never {
		p.t = max(p.t, c.Return)
	}
	p.h.calls = append(p.h.calls, &c)
	return &c
}

func mailJob(id int64) job {
	return job{ID: id, Mark: "m" + attemptID{id, 0}.String(), Queue: "mail", Priority: 2, Max: 2}
}

// enqueue also stores the job's ready row, at the place that its id says.
func (p *past) enqueue(ids ...int64) {
	var jobs []job
	for _, id := range ids {
		jobs = append(jobs, mailJob(id))
		p.row(id, 0, id)
	}
	p.call(call{Op: opEnqueueMany, Jobs: jobs})
}

func (p *past) row(id, lease, seq int64) {
	p.h.rows = append(p.h.rows, row{Job: id, Lease: lease, Queue: "mail", Priority: 2, Seq: seq, Mark: mailJob(id).Mark})
}

func given(id, lease int64) attempt {
	return attempt{Job: id, Lease: lease, Try: int(lease), Priority: 2, Mark: mailJob(id).Mark}
}

func (p *past) claim(limit int, got ...attempt) *call {
	return p.call(call{Op: opClaim, Queue: "mail", Limit: limit, Attempts: got})
}

func (p *past) complete(id, lease int64, stale bool) {
	p.call(call{Op: opComplete, Attempts: []attempt{{Job: id, Lease: lease, Stale: stale}}})
}

func (p *past) look(id int64, state string, lease int64) {
	p.call(call{Op: opJob, Seen: &seen{id, state, lease, int(lease)}})
}

// rescue comes when what was claimed so far is stale, and requeues n.
func (p *past) rescue(n int) {
	p.t += int64(p.h.run.Plan.StaleAfter)
	p.call(call{Client: 100, Op: opRescue, Requeued: n})
}

// failByRescue is a job with one attempt, forgotten by its worker; then maintenance; then nobody finds it.
func (p *past) failByRescue(maintenance string) {
	p.enqueue(1)
	p.h.calls[0].Jobs[0].Max = 1
	p.claim(1, given(1, 1))
	rescue := call{Client: 100, Op: opRescue, Outcome: outcomeNotDone} // with an error after some slots
	p.call(rescue)                                                     // too early for this job
	p.t += int64(p.h.run.Plan.StaleAfter)
	for what := range strings.FieldsSeq(maintenance) {
		if what == "prune" {
			p.call(call{Client: 100, Op: opPruneQueue, Status: "pruned"})
		} else {
			p.call(rescue)
		}
	}
	p.look(1, "not_found", 0)
}

// judge ends the history, with counts of completed and failed jobs of the queue.
func (p *past) judge(completed, failed int64) Verdict {
	p.h.end = &ending{At: p.t, Drained: true, Counts: map[string]counts{"mail": {Completed: completed, Failed: failed}, "invoices": {}}}
	return judge(p.h).v
}

// kinds lists what was found.
func kinds(v Verdict) []string {
	var all []string
	for k := range v.totals {
		all = append(all, string(k))
	}
	slices.Sort(all)
	return all
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	for name, make := range accepted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPast()
			completed, failed := make(p)
			if v := p.judge(completed, failed); len(v.Violations) > 0 {
				t.Errorf("rejected:\n%s", v.Form())
			}
		})
	}
}

func TestRejected(t *testing.T) {
	t.Parallel()
	for name, c := range rejected {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPast()
			completed, failed := c.make(p)
			if v := p.judge(completed, failed); !v.Has(c.want) {
				t.Errorf("found %v, want %s", kinds(v), c.want)
			}
		})
	}
}

func TestHistoryOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rec, err := openRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := newPast()
	p.enqueue(1)
	p.claim(1, given(1, 1))
	p.claim(1, given(1, 1))
	p.judge(1, 0)
	rec.write(line{Run: &p.h.run})
	for _, c := range p.h.calls {
		rec.write(line{Call: c})
	}
	rec.write(line{Rows: p.h.rows})
	rec.write(line{End: p.h.end})
	if err := rec.close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, historyFile)} {
		if !IsHistory(path) {
			t.Errorf("%s is no history", path)
		}
		v, err := Judge(path)
		if err != nil {
			t.Fatal(err)
		}
		if v.OK || !v.Has(KindHandedOutTwice) || !v.Has(KindLife) || v.Operations != 3 {
			t.Errorf("read back as:\n%s", v.Form())
		}
		if text, err := os.ReadFile(v.Picture); err != nil || !strings.Contains(string(text), "attempt 1/1") {
			t.Errorf("the picture doesn't show the attempt: %v", err)
		}
		if form := v.Form(); !strings.Contains(form, "awa-check replay "+dir) || !strings.Contains(form, "seed:           17") {
			t.Errorf("the form lacks the command or the seed:\n%s", form)
		}
	}
	if IsHistory(t.TempDir()) {
		t.Error("an empty folder is a history")
	}
}

// TestHistoryWithoutItsEnd: a run that broke off shows nothing, and says so.
func TestHistoryWithoutItsEnd(t *testing.T) {
	t.Parallel()
	p := newPast()
	p.enqueue(1)
	if v := judge(p.h).v; v.OK || !v.Has(KindHistory) {
		t.Errorf("found %v", kinds(v))
	}
}

// TestTooLittle: a history in which nothing is wrong and nothing happened is no pass.
func TestTooLittle(t *testing.T) {
	t.Parallel()
	p := newPast()
	p.enqueue(1)
	p.claim(1, given(1, 1))
	p.complete(1, 1, false)
	v := p.judge(1, 0)
	if v.OK || !slices.Contains(v.short, "no rescues") || !slices.Contains(v.short, "no prunes") || !slices.Contains(v.short, "no stale answers") {
		t.Errorf("short of %v", v.short)
	}
}

// TestSweep holds the tree against a search through all rows.
func TestSweep(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var rows []*place
		for i := range 1 + rng.IntN(40) {
			rows = append(rows, &place{row: row{Seq: int64(2 * i)}, visible: rng.Int64N(100), taken: rng.Int64N(100)})
		}
		s := newSweep(rows)
		for at := int64(0); at < 100; at += 1 + rng.Int64N(9) {
			s.upTo(at)
			seq, after := rng.Int64N(90), rng.Int64N(100)
			want := slices.ContainsFunc(rows, func(p *place) bool { return p.visible < at && p.Seq < seq && p.taken > after })
			got := s.before(seq, after)
			if (got != nil) != want || got != nil && (got.visible >= at || got.Seq >= seq || got.taken <= after) {
				t.Fatalf("at %d below %d after %d: %+v, want one: %t", at, seq, after, got, want)
			}
		}
	}
}
