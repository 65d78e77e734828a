package engine

import (
	"fmt"
	"regexp"
	"time"

	"github.com/awa-engine/awa/engine/schema"
)

// Config says where an engine works and how. The zero value is a working configuration.
type Config struct {
	// Schema is the PostgreSQL schema of the engine's tables: a letter or underscore, then letters, digits,
	// underscores or dollar signs, at most 63 bytes, not starting with "pg_"; case matters. Empty means "awa".
	Schema string
	// QueueSlots, ClaimSlots and LeaseSlots are the numbers of child partitions of the three rings, at least 4, 2 and 2, at
	// most 64. Zero means 16, 8 and 8 at install, and whatever is installed afterwards. Only Migrate reads them.
	QueueSlots, ClaimSlots, LeaseSlots int
	// Queues holds the policy of queues by name. A queue without an entry has the zero QueueConfig.
	Queues map[string]QueueConfig
	// MaintenanceLockTimeout bounds each lock wait of a prune. Zero means 50 ms; at least a millisecond, at most an hour.
	MaintenanceLockTimeout time.Duration
	// CarryLimit is how many failed rows a prune carries while it has a slot to itself; more are carried before, under a
	// lock that lets readers in. Zero means 10,000; at most a million.
	CarryLimit int
	// MaxArgsBytes bounds the arguments of one job. Zero means 1 MiB; at most 32 MiB.
	MaxArgsBytes int
	// Now, when set, replaces the server's clock in every operation that needs the time, so that tests need not wait.
	// Leave it nil in production: hosts disagree about the time, the server does not (hazard 17).
	Now func() time.Time

	_ struct{} // keep literals keyed
}

// QueueConfig is the policy of one queue.
type QueueConfig struct {
	// MaxAttempts is given to jobs that don't bring their own. Zero means 25.
	MaxAttempts int
	// DeadlineDuration is how long an attempt of the queue may take, from its claim: RescueDeadline closes what is still
	// open then, whether its worker lives or not. A job's own TimeLimit overrides it, also to longer. Zero means no
	// deadline; at most a century.
	DeadlineDuration time.Duration
	// Aging is how long a job of the queue waits for a step of priority: a Claim takes one that has waited for twice as long
	// for two priorities better than it is, never better than 1, and of those that are equal then the one that waits
	// longest. So a job of priority 4 that has waited for three times as long is passed over by none that came later, however many
	// come. The job's own priority stays what it was. Each process goes by its own configuration. Zero means that waiting gains
	// nothing; otherwise at least a millisecond, at most a century.
	Aging time.Duration

	_ struct{}
}

const (
	defaultMaxAttempts = 25
	maxSlots           = 64
	maxAttemptsLimit   = 1_000_000
	maxLockWait        = time.Hour
	maxCarryLimit      = 1_000_000
	// The server's form of JSON has at most 256 MiB and may take six times the text: [0,0,…] does.
	maxArgsLimit = 32 << 20
)

// identifier is what a schema may be called. Quoting would allow more; people would regret it in psql.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]{0,62}$`)

// withDefaults checks the configuration and fills in what was left out. It touches no database.
func (c Config) withDefaults(op string) (Config, error) {
	if c.Schema == "" {
		c.Schema = "awa"
	}
	if !identifier.MatchString(c.Schema) || len(c.Schema) >= 3 && c.Schema[:3] == "pg_" {
		return c, invalid(op, fmt.Sprintf("schema %q", c.Schema), "not an identifier")
	}
	if c.QueueSlots == 0 {
		c.QueueSlots = schema.DefaultQueueSlots
	}
	if c.ClaimSlots == 0 {
		c.ClaimSlots = schema.DefaultClaimSlots
	}
	if c.LeaseSlots == 0 {
		c.LeaseSlots = schema.DefaultLeaseSlots
	}
	// Two slots are the least that a ring can turn with. The queue ring needs four: current, sealed but still
	// claimed from, sealed and waiting for its attempts, and one that was pruned and can be entered.
	if c.QueueSlots < 4 || c.QueueSlots > maxSlots {
		return c, invalid(op, fmt.Sprintf("QueueSlots %d", c.QueueSlots), "outside 4..%d", maxSlots)
	}
	if c.ClaimSlots < 2 || c.ClaimSlots > maxSlots {
		return c, invalid(op, fmt.Sprintf("ClaimSlots %d", c.ClaimSlots), "outside 2..%d", maxSlots)
	}
	if c.LeaseSlots < 2 || c.LeaseSlots > maxSlots {
		return c, invalid(op, fmt.Sprintf("LeaseSlots %d", c.LeaseSlots), "outside 2..%d", maxSlots)
	}
	if c.MaintenanceLockTimeout == 0 {
		c.MaintenanceLockTimeout = 50 * time.Millisecond
	}
	// PostgreSQL counts lock_timeout in milliseconds and reads 0 as "wait for ever".
	if c.MaintenanceLockTimeout < time.Millisecond || c.MaintenanceLockTimeout > maxLockWait {
		return c, invalid(op, fmt.Sprintf("MaintenanceLockTimeout %s", c.MaintenanceLockTimeout), "outside 1ms..%s", maxLockWait)
	}
	if c.CarryLimit == 0 {
		c.CarryLimit = 10_000
	}
	if c.CarryLimit < 0 || c.CarryLimit > maxCarryLimit {
		return c, invalid(op, fmt.Sprintf("CarryLimit %d", c.CarryLimit), "outside 1..%d", maxCarryLimit)
	}
	if c.MaxArgsBytes == 0 {
		c.MaxArgsBytes = 1 << 20
	}
	if c.MaxArgsBytes < 0 || c.MaxArgsBytes > maxArgsLimit {
		return c, invalid(op, fmt.Sprintf("MaxArgsBytes %d", c.MaxArgsBytes), "outside 1..%d", maxArgsLimit)
	}
	for queue, q := range c.Queues {
		if err := checkName(op, "queue", queue); err != nil {
			return c, err
		}
		if q.MaxAttempts < 0 || q.MaxAttempts > maxAttemptsLimit {
			return c, invalid(op, fmt.Sprintf("queue %q MaxAttempts %d", queue, q.MaxAttempts), "outside 0..%d", maxAttemptsLimit)
		}
		if err := checkDuration(op, fmt.Sprintf("queue %q DeadlineDuration", queue), q.DeadlineDuration); err != nil {
			return c, err
		}
		if err := checkDuration(op, fmt.Sprintf("queue %q Aging", queue), q.Aging); err != nil {
			return c, err
		}
		if q.Aging != 0 && q.Aging < time.Millisecond {
			return c, invalid(op, fmt.Sprintf("queue %q Aging %s", queue, q.Aging), "shorter than a millisecond")
		}
	}
	return c, nil
}

// deadline is how long an attempt of the queue may take; nil when there is no bound.
func (c Config) deadline(queue string) *time.Duration {
	if d := c.Queues[queue].DeadlineDuration; d > 0 {
		return &d
	}
	return nil
}

// aging is how long a job of the queue waits for a step of priority; nil when it gains none.
func (c Config) aging(queue string) *time.Duration {
	if d := c.Queues[queue].Aging; d > 0 {
		return &d
	}
	return nil
}

// maxAttempts is what a job of the queue gets when it doesn't say.
func (c Config) maxAttempts(queue string) int {
	if n := c.Queues[queue].MaxAttempts; n > 0 {
		return n
	}
	return defaultMaxAttempts
}
