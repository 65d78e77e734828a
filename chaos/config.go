package chaos

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A Fault is something that is done to the system in each round.
type Fault string

// The faults that there are.
const (
	// ServerKill sends SIGKILL to every process of the server at once, and starts it again.
	ServerKill Fault = "server-kill"
	// WorkerKill sends SIGKILL to one process of the suite, and starts another in its place.
	WorkerKill Fault = "worker-kill"
)

// ParseFaults reads a list like "server-kill,worker-kill".
func ParseFaults(list string) ([]Fault, error) {
	var faults []Fault
	for name := range strings.SplitSeq(list, ",") {
		f := Fault(strings.TrimSpace(name))
		if f != ServerKill && f != WorkerKill {
			return nil, fmt.Errorf("fault %q: must be %s or %s", f, ServerKill, WorkerKill)
		}
		if !slices.Contains(faults, f) {
			faults = append(faults, f)
		}
	}
	return faults, nil
}

// A Plan is what a run does. It is kept with the evidence, since the judge needs to know what was wanted.
type Plan struct {
	Seed   uint64  `json:"seed"`
	Faults []Fault `json:"faults"` // each of them in every round; server-kill when empty
	Rounds int     `json:"rounds"` // at least so many; 2 when zero
	// Duration, when positive, lets rounds go on until the load has lasted so long.
	Duration time.Duration `json:"duration_ns"`

	Producers int `json:"producers"` // processes; 2 when zero
	Claimers  int `json:"claimers"`  // processes; 2 when zero

	Rate    int `json:"rate"`     // jobs per second that the producers offer; 2,000 when zero
	MinRate int `json:"min_rate"` // jobs that must have been enqueued in the second before each fault; 1,000 when zero

	StaleAfter    time.Duration `json:"stale_after_ns"`    // age at which an attempt is rescued; 2 s when zero
	FlowWithin    time.Duration `json:"flow_within_ns"`    // bound on reaching MinRate; 60 s when zero
	RecoverWithin time.Duration `json:"recover_within_ns"` // bound from a fault to the next claim; 30 s when zero
	DrainWithin   time.Duration `json:"drain_within_ns"`   // bound on the healing phase; 60 s when zero

	QueueSlots int `json:"queue_slots"` // 6 when zero: small, so that the rings go round
	ClaimSlots int `json:"claim_slots"` // 3 when zero
}

// maintainers is two on purpose: every maintenance operation is safe with two leaders (P10).
const maintainers = 2

// queues are what the jobs go into.
var queues = [...]string{"mail", "invoices"}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// withDefaults fills what is zero and refuses what shows nothing.
func (p Plan) withDefaults() (Plan, error) {
	if len(p.Faults) == 0 {
		p.Faults = []Fault{ServerKill}
	}
	orDefault(&p.Rounds, 2)
	orDefault(&p.Producers, 2)
	orDefault(&p.Claimers, 2)
	orDefault(&p.Rate, 2000)
	orDefault(&p.MinRate, 1000)
	orDefault(&p.StaleAfter, 2*time.Second)
	orDefault(&p.FlowWithin, time.Minute)
	orDefault(&p.RecoverWithin, 30*time.Second)
	orDefault(&p.DrainWithin, time.Minute)
	orDefault(&p.QueueSlots, 6)
	orDefault(&p.ClaimSlots, 3)
	for _, c := range []struct {
		what        string
		n, low, top int64
	}{
		{"rounds", int64(p.Rounds), 1, 10_000},
		{"producers", int64(p.Producers), 1, 32},
		{"claimers", int64(p.Claimers), 1, 32},
		{"rate", int64(p.Rate), 1, 1_000_000},
		{"least rate", int64(p.MinRate), 1, int64(p.Rate) * 4 / 5},
		{"duration in seconds", int64(p.Duration / time.Second), 0, 7 * 24 * 3600},
		{"stale after, in ms", p.StaleAfter.Milliseconds(), 100, 600_000},
	} {
		if c.n < c.low || c.n > c.top {
			return p, fmt.Errorf("chaos: %s %d: outside %d..%d", c.what, c.n, c.low, c.top)
		}
	}
	return p, nil
}

// String is the plan in a line, for reports.
func (p Plan) String() string {
	return fmt.Sprintf("%d rounds of %s, %d producers, %d claimers, %d maintainers, %d jobs/s offered (at least %d), stale after %s, rings of %d and %d slots",
		p.Rounds, p.faultNames(), p.Producers, p.Claimers, maintainers, p.Rate, p.MinRate, p.StaleAfter, p.QueueSlots, p.ClaimSlots)
}

func (p Plan) faultNames() string {
	names := make([]string, len(p.Faults))
	for i, f := range p.Faults {
		names[i] = string(f)
	}
	return strings.Join(names, ",")
}

// Config is a plan and where it is carried out.
type Config struct {
	Plan
	// Worker makes the command that runs RunWorker on the file: this program again, in its hidden role. Required.
	Worker func(file string) *exec.Cmd
	// Dir is where the evidence goes; empty means a new temporary folder, which a run without a finding removes.
	Dir string
	// Tell, when set, gets each line of the story as it happens.
	Tell func(line string)
}
