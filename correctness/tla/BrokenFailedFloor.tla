-------------------------- MODULE BrokenFailedFloor --------------------------
(***************************************************************************)
(* FailedFloor with one thing wrong at a time.  Each variant has to fail,  *)
(* by the invariant that its comment names.                                *)
(***************************************************************************)
EXTENDS FailedFloor

\* The slot is truncated with all its failed rows, as if there were no floor.  Fails FloorHolds.
PruneWithoutCarry ==
    /\ prune.holds
    /\ IsSpent(pruned)
    /\ MoveAndTruncate({}, RowsOf(pruned))

WithoutCarryNext ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ RotateQueue
    \/ BeginPrune
    \/ PruneWithoutCarry
    \/ AbortPrune

WithoutCarrySpec == Init /\ [][WithoutCarryNext]_vars

\* A row that is exactly as old as its retention is taken for an older one.  Fails FloorHolds.
PruneAtTheBoundary ==
    /\ prune.holds
    /\ IsSpent(pruned)
    /\ LET inside == {row \in RowsOf(pruned) : row.at + Retention > prune.began}
       IN  MoveAndTruncate(inside, RowsOf(pruned) \ inside)

AtTheBoundaryNext ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ RotateQueue
    \/ BeginPrune
    \/ PruneAtTheBoundary
    \/ AbortPrune

AtTheBoundarySpec == Init /\ [][AtTheBoundaryNext]_vars

\* The cutoff is asked for twice, and the clock goes on between: a row is inside for nobody (hazard 29).  Fails
\* FailedJobHasItsRow: it is neither carried nor counted.
PruneWithTwoCutoffs ==
    /\ prune.holds
    /\ IsSpent(pruned)
    /\ LET inside  == {row \in RowsOf(pruned) : IsInside(row, now)}
           outside == {row \in RowsOf(pruned) : ~IsInside(row, prune.began)}
       IN  MoveAndTruncate(inside, outside)

TwoCutoffsNext ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ RotateQueue
    \/ BeginPrune
    \/ PruneWithTwoCutoffs
    \/ AbortPrune

TwoCutoffsSpec == Init /\ [][TwoCutoffsNext]_vars

\* A carried row is left narrow: its body went with the slot.  Fails RowCanBeHydrated.
PruneCarriesNarrowRows ==
    /\ prune.holds
    /\ IsSpent(pruned)
    /\ LET inside == {row \in RowsOf(pruned) : IsInside(row, prune.began)}
       IN  /\ failed' = (failed \ RowsOf(pruned)) \cup {[row EXCEPT !.gen = prune.dest] : row \in inside}
           /\ counted' = counted + Cardinality(RowsOf(pruned) \ inside)
           /\ state' = [job \in Jobs |-> IF job \in JobsOf(RowsOf(pruned) \ inside) THEN "lost" ELSE state[job]]
           /\ floor' = [job \in Jobs |-> IF job \in JobsOf(RowsOf(pruned) \ inside) THEN LastTime ELSE floor[job]]
           /\ pruned' = pruned + 1
           /\ prune' = NoPrune
           /\ UNCHANGED <<now, gen, body, fails>>

NarrowCarryNext ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ RotateQueue
    \/ BeginPrune
    \/ PruneCarriesNarrowRows
    \/ AbortPrune

NarrowCarrySpec == Init /\ [][NarrowCarryNext]_vars

\* What is lost is counted with what is carried.  Fails LossIsCounted.
PruneCountsCarriedRows ==
    /\ prune.holds
    /\ IsSpent(pruned)
    /\ LET inside  == {row \in RowsOf(pruned) : IsInside(row, prune.began)}
           outside == RowsOf(pruned) \ inside
       IN  /\ failed' = (failed \ RowsOf(pruned)) \cup {Carried(row) : row \in inside}
           /\ counted' = counted + Cardinality(RowsOf(pruned))
           /\ state' = [job \in Jobs |-> IF job \in JobsOf(outside) THEN "lost" ELSE state[job]]
           /\ floor' = [job \in Jobs |-> IF job \in JobsOf(outside) THEN LastTime ELSE floor[job]]
           /\ pruned' = pruned + 1
           /\ prune' = NoPrune
           /\ UNCHANGED <<now, gen, body, fails>>

CountsCarriedNext ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ RotateQueue
    \/ BeginPrune
    \/ PruneCountsCarriedRows
    \/ AbortPrune

CountsCarriedSpec == Init /\ [][CountsCarriedNext]_vars

\* A transaction for the carry and one for the truncation, and a crash between.  Fails OneRowForEachJob: the rows stand
\* in both slots.
CarryAlone ==
    /\ prune.holds
    /\ IsSpent(pruned)
    /\ failed' = failed \cup {Carried(row) : row \in {r \in RowsOf(pruned) : IsInside(r, prune.began)}}
    /\ prune' = NoPrune
    /\ UNCHANGED <<now, ringVars, jobVars, lossVars>>

TwoTransactionsNext ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ RotateQueue
    \/ BeginPrune
    \/ PruneQueue
    \/ AbortPrune
    \/ CarryAlone

TwoTransactionsSpec == Init /\ [][TwoTransactionsNext]_vars

\* The proof that every job of the slot has ended is left out.  Fails LiveJobHasItsBody.
PruneLiveJobs ==
    /\ prune.holds
    /\ LET inside == {row \in RowsOf(pruned) : IsInside(row, prune.began)}
       IN  MoveAndTruncate(inside, RowsOf(pruned) \ inside)

LiveJobsNext ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ RotateQueue
    \/ BeginPrune
    \/ PruneLiveJobs
    \/ AbortPrune

LiveJobsSpec == Init /\ [][LiveJobsNext]_vars

\* The prune doesn't hold the ring's lock, and keeps to the generation that it read first: rotations and another prune
\* overtake it.  Fails RowsStandInTheRing.
RotateBesideAPrune ==
    /\ gen < LastGeneration
    /\ gen + 1 < pruned + Slots
    /\ gen' = gen + 1
    /\ UNCHANGED <<now, pruned, jobVars, failed, lossVars, prune>>

PruneOfAnyGeneration ==
    /\ pruned < gen
    /\ PruneQueue

AnotherPrune ==
    /\ pruned < gen
    /\ IsSpent(pruned)
    /\ RowsOf(pruned) = {}
    /\ pruned' = pruned + 1
    /\ UNCHANGED <<now, gen, jobVars, failed, lossVars, prune>>

WithoutTheRingNext ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ BeginPrune
    \/ AbortPrune
    \/ RotateBesideAPrune
    \/ PruneOfAnyGeneration
    \/ AnotherPrune

WithoutTheRingSpec == Init /\ [][WithoutTheRingNext]_vars

=============================================================================
