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
//   - enqueue.go, claim.go, complete.go, rescue.go, rotate.go, prune.go, counts.go, job.go: the rules, once;
//   - flat.go and mutable.go: the two stores, one to be encoded and copied, one to live long and to undo;
//   - invariants.go and properties.go: what must hold of every state, and of every step;
//   - canonical.go: a state as text, to be compared with a database;
//   - enabled.go: which actions a small world offers, for exhaustive exploration.
//
// # Grain
//
// Each operation is atomic here. A caller's transaction is not one operation but several: Begin, EnqueueTx,
// then Commit or Rollback, and whatever others do in between.
package model
