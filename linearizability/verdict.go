package linearizability

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrTooLittle says that a history shows too little to mean anything: no claim, no stale answer, no rescue, a ring that
// never turned. It is no finding about the engine, and it is no pass.
var ErrTooLittle = errors.New("too little happened to show anything")

// A Kind is a kind of violation.
type Kind string

// What can be wrong.
const (
	KindLife           Kind = "not_linearizable" // a job's calls fit no life under the model
	KindUndecided      Kind = "undecided"        // porcupine found no answer in time
	KindHandedOutTwice Kind = "handed_out_twice" // one attempt had two owners
	KindUnowned        Kind = "unowned"          // an attempt that no claim can have made
	KindClosedTwice    Kind = "closed_twice"     // one attempt has two closures
	KindLaneOrder      Kind = "lane_order"       // a later position was handed out before an earlier one
	KindPriority       Kind = "priority"         // a worse priority was handed out before a better one
	KindLeftOut        Kind = "left_out"         // a claim that had room left a job out
	KindPlace          Kind = "place"            // a job stands in its lane before one that was enqueued earlier
	KindHalf           Kind = "half_batch"       // a part of a transaction
	KindPhantom        Kind = "phantom"          // a job whose transaction didn't commit, or that isn't the one enqueued
	KindSettle         Kind = "settle"           // Settle told an untruth
	KindCounts         Kind = "counts"           // counts that differ from what happened
	KindAudit          Kind = "audit"            // the engine's audit found something wrong in the end
	KindError          Kind = "error"            // an error that must not occur
	KindUndrained      Kind = "not_drained"      // jobs that never came to an end
	KindHistory        Kind = "history"          // a history that isn't whole
)

// A Violation is one thing that is wrong.
type Violation struct {
	Kind Kind   `json:"kind"`
	What string `json:"what"`
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s", v.Kind, v.What) }

// A Verdict is what the judge says of a history. It is also an item of the command's JSON.
type Verdict struct {
	Workload   string  `json:"workload"`
	Operations int     `json:"operations"` // calls of clients
	Unknown    int     `json:"unknown"`    // whose answer was lost
	Partitions int     `json:"partitions"` // jobs, each judged by itself
	Seconds    float64 `json:"seconds"`    // that the history took
	OK         bool    `json:"ok"`

	Seed       uint64      `json:"seed"`
	Judging    float64     `json:"judging_seconds"`
	Did        Did         `json:"did"`
	Dir        string      `json:"dir,omitempty"`     // the history's, when it was kept
	Picture    string      `json:"picture,omitempty"` // of the first job that fits no life
	Violations []Violation `json:"violations,omitempty"`
	More       int         `json:"more_violations,omitempty"` // that aren't listed

	story  []string // of the first job that fits no life
	short  []string // what there was too little of
	totals map[Kind]int
}

// Did says how much happened and how much of it was judged.
type Did struct {
	Jobs      int `json:"jobs"` // committed
	Handed    int `json:"handed_out"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Stale     int `json:"stale"` // answers
	Reads     int `json:"reads"`
	Rescued   int `json:"rescued"`
	Promoted  int `json:"promoted"`
	Rotated   int `json:"rotated"` // both rings
	Pruned    int `json:"pruned"`
	Settled   int `json:"settled"` // unknown outcomes of which it is known what became

	Steps   int `json:"steps"`         // calls and hidden calls, over all jobs
	Ordered int `json:"lane_claims"`   // claims and lanes of which the order was judged
	Alone   int `json:"alone_claims"`  // claims that no other overlapped, whose priorities and whose leavings were judged
	Placed  int `json:"placed"`        // enqueued jobs of which the place in the lane was judged
	Rows    int `json:"rows"`          // ready rows whose place is known
	Unseen  int `json:"unseen"`        // hand-outs whose ready row was never dumped: their order isn't judged
	Lost    int `json:"lost_attempts"` // attempts that only the database knows of
}

// mostOfAKind is how many violations of one kind are listed: the tenth says no more than the first.
const mostOfAKind = 4

func (v *Verdict) wrong(k Kind, format string, args ...any) {
	if v.totals == nil {
		v.totals = map[Kind]int{}
	}
	v.totals[k]++
	if v.totals[k] > mostOfAKind {
		v.More++
		return
	}
	v.Violations = append(v.Violations, Violation{k, fmt.Sprintf(format, args...)})
}

// Has tells whether a violation of the kind was found and listed.
func (v *Verdict) Has(k Kind) bool { return v.totals[k] > 0 }

// Summary is the verdict in a few lines.
func (v *Verdict) Summary() string {
	d := v.Did
	return fmt.Sprintf(`%d operations of %s in %.1f s, %d unknown (%d settled), judged in %.1f s
  per job    %d jobs, %d steps: %d handed out, %d completed, %d failed, %d stale, %d reads, %d rescued, %d promoted
  per lane   %d lanes of claims in order, %d claims alone, %d places; %d rows, %d hand-outs without one
  meanwhile  %d rotations, %d prunes`,
		v.Operations, v.Workload, v.Seconds, v.Unknown, d.Settled, v.Judging,
		v.Partitions, d.Steps, d.Handed, d.Completed, d.Failed, d.Stale, d.Reads, d.Rescued, d.Promoted,
		d.Ordered, d.Alone, d.Placed, d.Rows, d.Unseen, d.Rotated, d.Pruned)
}

// Form is the report of a failure.
func (v *Verdict) Form() string {
	const storyLines = 16
	var b strings.Builder
	fmt.Fprintf(&b, "what failed:    %d violations\n", len(v.Violations)+v.More)
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
	fmt.Fprintf(&b, "configuration:  %s\n", v.Workload)
	if len(v.story) > 0 {
		fmt.Fprintf(&b, "last of the first job that fits no life:\n")
	}
	for _, l := range v.story[max(0, len(v.story)-storyLines):] {
		fmt.Fprintf(&b, "                %s\n", l)
	}
	if v.Picture != "" {
		fmt.Fprintf(&b, "picture:        %s\n", v.Picture)
	}
	if v.Dir != "" {
		fmt.Fprintf(&b, "history:        %s\n", v.Dir)
		fmt.Fprintf(&b, "judge it again: awa-check replay %s\n", v.Dir)
	}
	return b.String()
}
