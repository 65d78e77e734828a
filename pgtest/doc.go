// Package pgtest gives tests and tools a real PostgreSQL.
//
// [Start] takes the first server that it finds: the one that a DSN names
// (Options.DSN, or the environment variable AWA_DATABASE_URL), or the binaries
// on this machine, from which it makes a private cluster in a temporary folder,
// or a container where a Docker daemon answers, or binaries that npm downloads
// once, of a version pinned by checksum. [Server.Describe] says which one it was.
// Options.Major, or AWA_POSTGRES_MAJOR, asks for one major version.
//
// A private cluster listens on a unix socket inside its folder and on
// 127.0.0.1, never on another address. It may be stopped, killed, paused and
// restarted, and keeps its port and its socket through all of that, so that a
// DSN stays valid. When the owning process ends in any way, SIGKILL included,
// a watchdog ends the server and removes the folder. A server that is reached
// by DSN has no process here: its faults are answered with [ErrNoProcess].
//
// In a package of tests there is one server, made by [Main] or [Runner]:
//
//	var server *pgtest.Server
//
//	func TestMain(m *testing.M) {
//		goleak.VerifyTestMain(pgtest.Runner(m, pgtest.Options{}, func(s *pgtest.Server) error {
//			server = s
//			return nil
//		}))
//	}
//
// and each test takes a schema that was prepared ahead, from [Schemas].
//
// The package needs only initdb and postgres of an installation, no client
// program, and it doesn't import package testing, so that commands can use it.
package pgtest
