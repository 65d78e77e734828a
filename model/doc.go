// Package model is the reference model of the queue: one pure state machine that says what is right.
//
// It has no database, no goroutines, no clock and no randomness. A [Store] holds what the tables hold, an
// [Action] is one line of the operation format, and [Apply] is the whole meaning of an operation: the same
// state and the same action give the same state and the same [Result], always. Everything else that judges
// the engine (exploration, lockstep, histories, chaos) asks this package and nothing else.
//
// # Where to read what
//
//   - state.go: the rows, the rings and the counters, each with the rule that binds it;
//   - store.go: the few reads and writes that the rules are written over;
//   - enqueue.go, claim.go, complete.go, reschedule.go, cancel.go, lease.go, rescue.go, rotate.go, prune.go, counts.go, job.go: the rules, once;
//   - flat.go and mutable.go: the two stores, one to be encoded and copied, one to live long and to undo;
//   - invariants.go and properties.go: what must hold of every state, and of every step;
//   - canonical.go: a state as text, to be compared with a database;
//   - enabled.go: which actions a small world offers, for exhaustive exploration.
//
// # The life of a job
//
//	Enqueue, or EnqueueTx and Commit          -> ready
//	Enqueue for later, EnqueueTx by an old snapshot and Commit -> deferred, Promote -> ready
//	ready      Claim       -> running: an open claim
//	running    Complete    -> completed
//	           Fail        -> failed
//	           RescueStale -> ready again while attempts are left, else failed
//	           Retry       -> deferred while attempts are left, else failed
//	           Snooze      -> deferred, and the attempt doesn't count
//	           Park        -> waiting: the same attempt, with a lease
//	waiting    Resume      -> running: the same attempt
//	           CallbackTimeout -> as RescueStale, and all that ends a running attempt but RescueStale
//	any of these, Cancel   -> cancelled
//	completed  PruneQueue  -> a number in the rollup
//	failed     PruneQueue  -> a number in the rollup, once it is older than its retention
//
// A claim's record lives in a ring of its own, which RotateClaims and PruneClaims turn, and a lease in a third. Each arrow only adds rows,
// until a whole slot goes; but for those of waiting, which add and take a lease.
//
// # How it judges
//
// A judge runs the operations of an engine here too, in the order in which they took effect, and compares: each
// answer by its text, and the state by [Canonical]. Where an engine's outcome isn't known, both are tried, with
// [Mutable.Mark] and [Mutable.Undo].
//
// What makes the rules themselves right is not that they are few. [Invariants] and [Properties] say the promises
// in terms of rows, without asking the rules; package explore looks at every state of small worlds; and a spec in
// TLA+ with the same graph is judged by another checker altogether.
//
// # Time
//
// Time is a number in an action. It need not go forward: a rule that compares times must be right for any.
//
// # Grain
//
// Each operation is atomic here. A caller's transaction is not one operation but several: Begin, EnqueueTx,
// then Commit or Rollback, and whatever others do in between.
package model
