package soak

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/awa-engine/awa/engine"
)

// evidence is all that a judgement rests on.
type evidence struct {
	plan      Plan
	did       map[string]int64
	wrong     []string
	slowest   time.Duration
	samples   []sample // of the load, in order; the first at its beginning, the last at its end
	after     sample   // when all has drained and settled
	churn     map[string]int64
	deadlocks int64
	counts    map[string]engine.Counts // in the end, by queue
	drained   bool
}

// The limits.
const (
	deadMost     = 300         // dead tuples in the whole schema, once autovacuum has come by
	ratioLeast   = 0.85        // of the last third's rate to the first's, under a pinned snapshot
	buffersApart = 0.10        // between the first third and the last, for each attempt handed out
	longEnough   = time.Minute // a load in which all must have happened that may
	growthMost   = 1.5         // of a table's largest size in the last third to its largest before
	growthSlack  = 4 << 20
)

// churning are the tables that are not partitions of a ring, whose rows are updated or deleted by jobs that use them: under
// a pinned snapshot they grow, and should.
var churning = []string{"attempt_state", "deferred_jobs", "unique_claims", "dlq_entries"}

// deleted are the ring's tables whose rows an operator's calls delete, and the rest of whose rows nobody touches.
var deleted = []string{"done_entries", "leases"}

// A Report is what came of a run. Keys are stable.
type Report struct {
	Pinned     bool                     `json:"pinned"`
	Seconds    float64                  `json:"seconds"`           // of the load
	Jobs       int64                    `json:"jobs"`              // enqueued
	Rates      []float64                `json:"rates"`             // attempts closed a second, by thirds
	Ratio      float64                  `json:"ratio"`             // the last third's rate to the first's
	Buffers    []float64                `json:"buffers,omitempty"` // for each attempt handed out, by thirds
	DeadMost   int64                    `json:"dead_most"`         // tuples in the schema, at the worst moment
	DeadEnd    int64                    `json:"dead_end"`          // in the end
	Catalog    int64                    `json:"catalog_dead"`      // of the server's own tables, at the load's end
	Churn      int64                    `json:"ring_updates_deletes"`
	Audits     int64                    `json:"audits"`
	AuditMost  float64                  `json:"audit_seconds_most"`
	Deadlocks  int64                    `json:"deadlocks"`
	Did        map[string]int64         `json:"did"`
	Counts     map[string]engine.Counts `json:"counts"` // in the end, by queue
	Sizes      map[string]int64         `json:"sizes"`  // bytes in the end, by table
	Violations []string                 `json:"violations"`
	OK         bool                     `json:"ok"`
}

// judge is the pure part.
func judge(ev evidence) Report {
	first, last := ev.samples[0], ev.samples[len(ev.samples)-1]
	r := Report{
		Pinned: ev.plan.Pinned, Seconds: last.at.Seconds(), Jobs: ev.did["enqueued"], Did: ev.did, Counts: ev.counts, Sizes: ev.after.sizes,
		DeadEnd: ev.after.dead, Catalog: last.catalog, Audits: ev.did["audits"], AuditMost: ev.slowest.Seconds(), Deadlocks: ev.deadlocks,
	}
	thirds := []sample{first, at(ev.samples, last.at/3), at(ev.samples, 2*last.at/3), last}
	for i, s := range thirds[1:] {
		before := thirds[i]
		r.Rates = append(r.Rates, float64(s.closed-before.closed)/(s.at-before.at).Seconds())
		if s.buffers >= 0 {
			r.Buffers = append(r.Buffers, float64(s.buffers-before.buffers)/float64(max(1, s.handed-before.handed)))
		}
	}
	r.Ratio = r.Rates[2] / max(1, r.Rates[0])
	for _, s := range ev.samples {
		r.DeadMost = max(r.DeadMost, s.dead)
	}
	r.Violations = slices.Clone(ev.wrong)
	r.jobs(ev)
	r.tables(ev)
	if ev.plan.Pinned {
		r.pinned()
	}
	r.OK = len(r.Violations) == 0
	return r
}

// at is the first sample not before a time.
func at(samples []sample, when time.Duration) sample {
	i := slices.IndexFunc(samples, func(s sample) bool { return s.at >= when })
	return samples[i]
}

func (r *Report) wrong(format string, args ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

// jobs accounts for every job that was enqueued, and asks that everything happened, where there was time for it.
func (r *Report) jobs(ev evidence) {
	var ended int64
	for _, queue := range slices.Sorted(maps.Keys(ev.counts)) {
		c := ev.counts[queue]
		ended += c.Completed + c.Failed + c.Cancelled + c.DLQ + c.PrunedCompleted + c.PrunedFailed
	}
	if !ev.drained {
		r.wrong("the queues haven't drained within %s: %+v", drainLimit, ev.counts)
	} else if gone := ended + ev.did["removed"]; gone != r.Jobs {
		r.wrong("%d jobs were enqueued, and %d ended, of which %d were removed", r.Jobs, gone, ev.did["removed"])
	}
	if ev.plan.Duration < longEnough {
		return
	}
	for _, what := range []string{
		"PruneQueue pruned", "PruneClaims pruned", "PruneLeases pruned", "carried", "rescued", "promoted", "removed", "operator", "Park ok", "Resume ok", "Cancel ok", "Cancel too late", "Progress ok",
	} {
		if ev.did[what] == 0 {
			r.wrong("nothing was seen of: %s", what)
		}
	}
	if ev.did["audits"] == 0 && !ev.plan.AuditAtEnd {
		r.wrong("nothing was seen of: audits")
	}
}

// tables asks what the load has left.
func (r *Report) tables(ev evidence) {
	if ev.deadlocks > 0 {
		r.wrong("%d deadlocks", ev.deadlocks)
	}
	for _, name := range slices.Sorted(maps.Keys(ev.churn)) {
		n := ev.churn[name]
		r.Churn += n
		switch {
		case n == 0:
		case !slices.Contains(deleted, name):
			r.wrong("%d rows of %s were updated or deleted", n, name)
		case name == "done_entries" && n > ev.did["operator"]:
			r.wrong("%d rows of %s were updated or deleted, and operators account for %d", n, name, ev.did["operator"])
		}
	}
	if ev.plan.Settle > 0 && !ev.plan.Pinned && r.DeadEnd > deadMost {
		r.wrong("%d dead tuples are left, more than %d", r.DeadEnd, deadMost)
	}
	r.growth(ev)
}

// growth compares the largest size of each table in the last third of the load with its largest before.
func (r *Report) growth(ev evidence) {
	before, late := map[string]int64{}, map[string]int64{}
	last := ev.samples[len(ev.samples)-1].at
	for _, s := range ev.samples {
		into := before
		if s.at > 2*last/3 {
			into = late
		}
		for name, bytes := range s.sizes {
			into[name] = max(into[name], bytes)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(late)) {
		if ev.plan.Pinned && slices.Contains(churning, name) {
			continue
		}
		if float64(late[name]) > growthMost*float64(before[name])+growthSlack {
			r.wrong("%s grew from %d bytes to %d in the last third of the load", name, before[name], late[name])
		}
	}
}

// pinned asks that an old snapshot makes no difference.
func (r *Report) pinned() {
	if r.Ratio < ratioLeast {
		r.wrong("under a pinned snapshot the last third's rate is %.2f of the first's, less than %.2f", r.Ratio, ratioLeast)
	}
	if b := r.Buffers; len(b) == 3 && (b[2] > b[0]*(1+buffersApart) || b[2] < b[0]*(1-buffersApart)) {
		r.wrong("under a pinned snapshot a claim took %.2f buffers for each attempt in the first third, and %.2f in the last", b[0], b[2])
	}
}

// Summary is a line for people.
func (r Report) Summary() string {
	pinned := ""
	if r.Pinned {
		pinned = ", a snapshot pinned"
	}
	return fmt.Sprintf("%.0f s%s: %d jobs, %.0f/s, last third to first %.2f; buffers for each attempt %.1f; dead tuples %d at most, %d in the end, catalogue %d; %d rows of rings updated or deleted; %d audits, %.2f s at most; %d deadlocks",
		r.Seconds, pinned, r.Jobs, (r.Rates[0]+r.Rates[1]+r.Rates[2])/3, r.Ratio, r.Buffers, r.DeadMost, r.DeadEnd, r.Catalog, r.Churn, r.Audits, r.AuditMost, r.Deadlocks)
}
