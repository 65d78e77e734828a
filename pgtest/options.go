package pgtest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// EnvDSN is the environment variable that names a running server; Options.DSN goes before it.
const EnvDSN = "AWA_DATABASE_URL"

// EnvMajor is the environment variable that asks for a major version; Options.Major goes before it.
const EnvMajor = "AWA_POSTGRES_MAJOR"

// EnvCache is the environment variable that names the folder of downloaded servers. Without it they are in the user's cache,
// or for root in the system's.
const EnvCache = "AWA_POSTGRES_CACHE"

// MinMajor is the oldest major version of PostgreSQL that is used.
const MinMajor = 15

// Options says which server is wanted. The zero value is good for functional tests.
type Options struct {
	// DSN names a running server (a URL or keywords, as pgx takes them), reached directly
	// and not through a pooler that shares sessions. Empty means the value of
	// AWA_DATABASE_URL, and without that one a private cluster.
	DSN string
	// Local asks for a private cluster even when there is a DSN: for tests that
	// need the server's process or its settings.
	Local bool
	// Major asks for a server of this major version, downloaded where this machine has
	// none. Zero means the value of AWA_POSTGRES_MAJOR, and without that one any.
	Major int
	// Only asks for one kind of server; empty means the first that is found.
	Only Kind
	// Image is the container image to use. Empty means the official one of Major, or of the newest version.
	Image string

	// What follows is for a private cluster, and the settings and times also for a
	// container; a running server keeps its own settings.

	// BinDir is the folder of initdb and postgres. Empty means those on PATH when
	// they are new enough, else the newest of the usual places.
	BinDir string
	// TempDir is where the cluster's folder is made. Empty means the first of these that
	// can be used (a socket's path is limited to some 100 bytes, and the server's user
	// must be able to enter each parent): TMPDIR where it is set; /dev/shm on Linux where
	// it has 6 GiB free and the cluster isn't Durable; os.TempDir(); /tmp.
	TempDir string
	// NoCache leaves the cache of initdb's result alone: each start runs initdb.
	NoCache bool

	// Durable keeps fsync, full_page_writes and synchronous_commit on: for
	// benchmarks and for suites that kill the server. Without it they are off, and
	// a killed server loses its last commits.
	Durable bool
	// SharedBuffers is in PostgreSQL's notation, "128MB" when empty.
	SharedBuffers string
	// MaxConnections is 200 when zero.
	MaxConnections int
	// Settings go to postgresql.conf last, over everything above:
	// {"autovacuum": "off", "deadlock_timeout": "10ms"}.
	Settings map[string]string

	// StartTimeout bounds each start and restart, crash recovery included; 60 s
	// when zero. A context that ends earlier wins.
	StartTimeout time.Duration
}

var (
	settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)
	memorySize  = regexp.MustCompile(`^[0-9]+ ?(kB|MB|GB)?$`)
)

// withDefaults fills what is empty and refuses what can't be.
func (o Options) withDefaults() (Options, error) {
	if text := os.Getenv(EnvMajor); o.Major == 0 && text != "" {
		major, err := strconv.Atoi(text)
		if err != nil || major < MinMajor {
			return o, &InputError{EnvMajor, text, fmt.Sprintf("isn't a major version of at least %d", MinMajor)}
		}
		o.Major = major
	}
	if o.Major != 0 && o.Major < MinMajor {
		return o, &InputError{"Options.Major", strconv.Itoa(o.Major), fmt.Sprintf("is less than %d", MinMajor)}
	}
	if o.SharedBuffers == "" {
		o.SharedBuffers = "128MB"
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = 200
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = time.Minute
	}
	if !memorySize.MatchString(o.SharedBuffers) {
		return o, &InputError{"Options.SharedBuffers", o.SharedBuffers, "isn't a size like 128MB"}
	}
	if o.MaxConnections < 0 {
		return o, &InputError{"Options.MaxConnections", strconv.Itoa(o.MaxConnections), "is negative"}
	}
	if o.StartTimeout < 0 {
		return o, &InputError{"Options.StartTimeout", o.StartTimeout.String(), "is negative"}
	}
	for name, value := range o.Settings {
		if !settingName.MatchString(name) {
			return o, &InputError{"Options.Settings", name, "isn't the name of a setting"}
		}
		if strings.ContainsAny(value, "\n\r\x00") {
			return o, &InputError{"Options.Settings", fmt.Sprintf("%s=%s", name, value), "has a line break or a zero byte"}
		}
	}
	return o, nil
}
