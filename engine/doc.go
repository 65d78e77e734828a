// Package engine stores jobs in PostgreSQL and hands them out, each attempt once, without updating or deleting a row on
// the way: enqueueing, claiming and completing only insert, and space comes back by truncating whole partitions.
//
// A [Engine] works on one schema of one database through a pgx pool. Any number of engines, in any number of processes,
// may work on the same schema; any of them may die at any statement. All methods are safe for concurrent use.
//
// # The life of a job
//
// [Engine.Enqueue] appends a row to the current slot of the queue ring. [Engine.Claim] hands it out: it writes down which
// positions of the lane were taken, and a receipt in the current slot of the claim ring. [Engine.Complete] closes the
// receipt and writes the history in one transaction; [Engine.Fail] does the same with a failed row. A worker that dies
// leaves an open attempt, which [Engine.RescueStale] closes; the job becomes available again. [Engine.RotateQueue] and
// [Engine.RotateClaims] move the rings on, [Engine.PruneQueue] and [Engine.PruneClaims] truncate the oldest slot once it
// is proven spent.
//
// # Errors
//
// Errors say which operation met which value. Ask them by behaviour: [Stale] (the attempt is over, nothing was changed),
// [Ambiguous] (the outcome of a commit is not known, see [Engine.Settle]), [SafeToRetry] (nothing was changed, the world
// was in the way).
package engine
