// Package chaos runs the engine as people run it, in whole processes under load, takes the server away from under it,
// and judges from files what was left.
//
// [Run] starts a private server, producers, claimers and two maintainers, each a process of its own with an append-only
// journal, and then, round after round, kills the server with SIGKILL at a random moment and starts it again. Then the
// producers stop, and everything must drain, the rings must turn and be pruned to empty (the healing phase).
//
// [Judge] reads nothing but the folder that a run left: the journals, the driver's story, and the final state as the
// driver wrote it down. A failure's folder is kept and can be judged again at any time.
//
// What the producers committed is known from a table of the suite's own, into which each transaction writes one row per
// job that it enqueues (P1). Each job carries a mark in its arguments that names the call that enqueued it, since an id
// proves nothing: a sequence gives a number anew when the crash took the transaction that had it.
package chaos
