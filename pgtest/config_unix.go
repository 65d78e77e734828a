//go:build unix

package pgtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hostRules is pg_hba.conf: the socket stands in a folder that only the server's
// user can enter, so it needs no password; 127.0.0.1 is open to every user of the
// machine, so it does.
const hostRules = `local all         all              trust
local replication all              trust
host  all         all 127.0.0.1/32 scram-sha-256
host  replication all 127.0.0.1/32 scram-sha-256
`

// configFile is postgresql.conf. Of two lines for one setting the later one counts.
func configFile(opts Options, socketDir string, port int) string {
	var b strings.Builder
	set := func(name, value string) {
		fmt.Fprintf(&b, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	set("listen_addresses", "127.0.0.1")
	set("port", strconv.Itoa(port))
	set("unix_socket_directories", socketDir)
	set("unix_socket_permissions", "0700")
	set("shared_buffers", opts.SharedBuffers)
	set("max_connections", strconv.Itoa(opts.MaxConnections))
	set("max_prepared_transactions", "8")
	set("wal_level", "logical")
	set("track_commit_timestamp", "on")
	set("timezone", "UTC")
	set("log_timezone", "UTC")
	set("log_line_prefix", "%m [%p] %q%a ")
	// In the data folder, so that a killed server leaves nothing outside of it.
	set("dynamic_shared_memory_type", "mmap")
	if !opts.Durable {
		set("fsync", "off")
		set("full_page_writes", "off")
		set("synchronous_commit", "off")
	}
	names := make([]string, 0, len(opts.Settings))
	for name := range opts.Settings {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		set(name, opts.Settings[name])
	}
	return b.String()
}
