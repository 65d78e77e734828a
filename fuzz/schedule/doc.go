// Package schedule runs every interleaving of a few real operations on a real PostgreSQL (layer L4).
//
// A scenario is two to four sessions, each a process of its own with a list of operations. Their connections are
// wrapped: every statement is held back on the wire until the scheduler lets it go, and the one before it was answered,
// also inside a pipeline. The engine knows nothing of this; its real statements are scheduled. One statement is in
// flight at a time, unless the server says that it waits for a lock.
//
// [Explore] runs the schedules of a scenario one after the other, each from the same rows: all of them, all of them up
// to the order of statements that don't touch each other, those with few preemptions, or a sample. In the end the
// answers of the operations and the rows must fit one order of the model's actions, no two sessions may ever have waited
// for each other, and no statement may have ended in a deadlock.
//
// A failure is a [Seed]: a scenario and a schedule as text, which [Replay] runs again and [Shrink] makes smaller.
package schedule
