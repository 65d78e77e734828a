package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Kind is a kind of violation.
type Kind string

// What can be wrong.
const (
	KindLost           Kind = "lost"             // a committed job never came to an end, or an acknowledged one isn't there
	KindTwice          Kind = "finalised_twice"  // an attempt, or a job, was reported ended twice
	KindRevived        Kind = "revived"          // a job was handed out after its end
	KindHandedOutTwice Kind = "handed_out_twice" // one attempt was given to two, or twice
	KindPhantom        Kind = "phantom"          // a job of a transaction that didn't commit, or of none
	KindUnowned        Kind = "unowned"          // an attempt ended, or passed, that nobody was given
	KindOrder          Kind = "lease_order"      // attempts of a job in the wrong order
	KindHalf           Kind = "half_batch"       // a part of a transaction
	KindSettle         Kind = "settle"           // Settle told an untruth
	KindCounts         Kind = "counts"           // counts that differ from what happened
	KindJobState       Kind = "job_state"        // Job told an untruth
	KindAudit          Kind = "audit"            // the engine's audit found something wrong in the end
	KindError          Kind = "error"            // an error that must not occur
	KindDied           Kind = "worker_died"      // a worker ended by itself
	KindRecovery       Kind = "recovery"         // no claim, or no end of the backlog, within the bound
	KindRings          Kind = "rings"            // a ring that doesn't turn, or keeps rows
	KindJournal        Kind = "journal"          // evidence that isn't whole
)

// A Violation is one thing that is wrong.
type Violation struct {
	Kind Kind   `json:"kind"`
	What string `json:"what"`
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s", v.Kind, v.What) }

// A Verdict is what the judge says of a run. It is also an item of the command's JSON.
type Verdict struct {
	Fault           string  `json:"fault"` // joined by commas when each round had several
	Injected        int     `json:"injected"`
	Jobs            int     `json:"jobs"`    // committed
	Repeats         int     `json:"repeats"` // hand-outs beyond the first of a job
	Lost            int     `json:"lost"`
	FinalisedTwice  int     `json:"finalised_twice"`
	RecoverySeconds float64 `json:"recovery_seconds"` // the longest, from a fault to the next claim that handed something out
	Seconds         float64 `json:"seconds"`
	OK              bool    `json:"ok"`

	Seed          uint64      `json:"seed"`
	JobsPerSecond int         `json:"jobs_per_second"` // enqueued in the second before a fault: the least
	Did           Did         `json:"did"`
	Dir           string      `json:"dir,omitempty"` // the evidence, when it was kept
	Violations    []Violation `json:"violations,omitempty"`
	More          int         `json:"more_violations,omitempty"` // that aren't listed

	plan   Plan
	story  []string
	short  []string // what there was too little of
	totals map[Kind]int
}

// Did says how much happened.
type Did struct {
	Calls     int `json:"calls"`
	Handed    int `json:"handed_out"`
	Completed int `json:"completed"` // at least; as acknowledged or found out
	Failed    int `json:"failed"`    // at least
	Rescued   int `json:"rescued"`
	Stale     int `json:"stale"`     // answers
	Ambiguous int `json:"ambiguous"` // commits whose answer was lost
	Settled   int `json:"settled"`   // of those, by Settle
	Rotated   int `json:"rotated"`
	Pruned    int `json:"pruned"`
}

// mostOfAKind is how many violations of one kind are listed: the tenth says no more than the first.
const mostOfAKind = 4

func (v *Verdict) wrong(k Kind, format string, args ...any) {
	if v.totals == nil {
		v.totals = map[Kind]int{}
	}
	v.totals[k]++
	v.Lost, v.FinalisedTwice = v.totals[KindLost], v.totals[KindTwice]
	if v.totals[k] > mostOfAKind {
		v.More++
		return
	}
	v.Violations = append(v.Violations, Violation{k, fmt.Sprintf(format, args...)})
}

// Has tells whether a violation of the kind was found and listed.
func (v *Verdict) Has(k Kind) bool {
	return slices.ContainsFunc(v.Violations, func(one Violation) bool { return one.Kind == k })
}

// Summary is the verdict in a line.
func (v *Verdict) Summary() string {
	return fmt.Sprintf("%d %s under %d jobs/s or more: %d jobs, %d lost, %d finalised twice, %d handed out again, recovery within %.2f s",
		v.Injected, v.Fault, v.JobsPerSecond, v.Jobs, v.Lost, v.FinalisedTwice, v.Repeats, v.RecoverySeconds)
}

// Form is the report of a failure.
func (v *Verdict) Form() string {
	const storyLines = 14
	var b strings.Builder
	fmt.Fprintf(&b, "what failed:    %d violations under %s\n", len(v.Violations)+v.More, v.Fault)
	for _, k := range slices.Sorted(maps.Keys(v.totals)) {
		for _, one := range v.Violations {
			if one.Kind == k {
				fmt.Fprintf(&b, "                %s\n", one)
			}
		}
		if more := v.totals[k] - mostOfAKind; more > 0 {
			fmt.Fprintf(&b, "                %s: and %d more\n", k, more)
		}
	}
	fmt.Fprintf(&b, "seed:           %d\n", v.Seed)
	fmt.Fprintf(&b, "configuration:  %s\n", v.plan)
	fmt.Fprintf(&b, "last of the story:\n")
	for _, l := range v.story[max(0, len(v.story)-storyLines):] {
		fmt.Fprintf(&b, "                %s\n", l)
	}
	if v.Dir == "" {
		return b.String()
	}
	fmt.Fprintf(&b, "evidence:       %s\n", v.Dir)
	fmt.Fprintf(&b, "judge it again: awa-check replay %s\n", v.Dir)
	return b.String()
}
