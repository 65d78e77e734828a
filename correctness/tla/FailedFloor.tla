----------------------------- MODULE FailedFloor -----------------------------
(***************************************************************************)
(* The floor under failed rows: how a failed row outlives the slot that it *)
(* was written into.                                                       *)
(*                                                                         *)
(* A failed row is narrow: the job's body stands in its ready row, in the  *)
(* same slot.  Truncating the slot takes both.  So PruneQueue first        *)
(* carries each failed row that is younger than the retention into the     *)
(* current slot, widened by the body, and counts the others as lost, all   *)
(* in the one transaction that truncates (P2, P8, P9).                     *)
(*                                                                         *)
(* The prune is two steps here, since others go on between them: it takes  *)
(* the ring's lock and reads the clock and the current generation, and     *)
(* later, once it owns the slot's tables, it looks at the rows, moves them *)
(* and commits.  A crash between is an abort.                              *)
(*                                                                         *)
(* Left out, since it changes nothing here:                                *)
(*   - claims.  A job that waits or runs is one that has not ended, and    *)
(*     keeps its slot; how an attempt is closed is ClaimRing's idea;       *)
(*   - every other end of a job: those rows go with their slot;            *)
(*   - lanes, and the statements of one transaction after the slot's locks *)
(*     are held: nobody can come between them.                             *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    MaxJobs,         \* how many jobs there are
    MaxFails,        \* how often each may fail in all
    Retention,       \* how long a failed row can be retried at least
    Slots,           \* how many slots the ring has
    LastGeneration,  \* how far the ring turns
    LastTime         \* how far the clock goes

ASSUME ConstantsAreSound ==
    /\ {MaxJobs, MaxFails, Retention, LastGeneration, LastTime} \subseteq Nat
    /\ Slots \in Nat \ {0, 1}

Jobs == 1..MaxJobs

VARIABLES
    now,     \* the server's clock
    gen,     \* the generation that new rows go to
    pruned,  \* the first generation that was not truncated yet
    state,   \* state[job]: "new", "live" until it has ended, "failed", or "lost" once its failed row was truncated
    body,    \* body[job]: the generation of its newest ready row
    fails,   \* fails[job]: how often it has failed
    failed,  \* the failed rows
    counted, \* pruned_failed_count: how many failed rows were truncated
    floor,   \* floor[job]: how old its failed row was when the prune that truncated it began
    prune    \* the prune under way

jobVars  == <<state, body, fails>>
ringVars == <<gen, pruned>>
lossVars == <<counted, floor>>
vars     == <<now, ringVars, jobVars, failed, lossVars, prune>>

-----------------------------------------------------------------------------

FailedRow ==
    [job  : Jobs,
     gen  : 0..LastGeneration,
     at   : 0..LastTime,  \* finalized_at: stays what it is when the row is carried
     wide : BOOLEAN]

\* A prune knows what it read under the ring's lock.
NoPrune == [holds |-> FALSE, began |-> 0, dest |-> 0]

TypeOK ==
    /\ now \in 0..LastTime
    /\ gen \in 0..LastGeneration
    /\ pruned \in 0..gen
    /\ state \in [Jobs -> {"new", "live", "failed", "lost"}]
    /\ body \in [Jobs -> 0..LastGeneration]
    /\ fails \in [Jobs -> 0..MaxFails]
    /\ failed \subseteq FailedRow
    /\ counted \in 0..MaxJobs
    /\ floor \in [Jobs -> 0..LastTime]
    /\ prune \in [holds : BOOLEAN, began : 0..LastTime, dest : 0..LastGeneration]

Init ==
    /\ now = 0
    /\ gen = 0
    /\ pruned = 0
    /\ state = [job \in Jobs |-> "new"]
    /\ body = [job \in Jobs |-> 0]
    /\ fails = [job \in Jobs |-> 0]
    /\ failed = {}
    /\ counted = 0
    /\ floor = [job \in Jobs |-> 0]
    /\ prune = NoPrune

\* The clock goes on beside everything.
Tick ==
    /\ now < LastTime
    /\ now' = now + 1
    /\ UNCHANGED <<ringVars, jobVars, failed, lossVars, prune>>

-----------------------------------------------------------------------------
(* Jobs. *)

\* Enqueue: a ready row in the current slot.
Enqueue ==
    \E job \in Jobs :
        /\ state[job] = "new"
        /\ state' = [state EXCEPT ![job] = "live"]
        /\ body' = [body EXCEPT ![job] = gen]
        /\ UNCHANGED <<now, ringVars, fails, failed, lossVars, prune>>

\* Fail: a narrow row beside the ready row, in a slot that may be sealed long since.
Fail ==
    \E job \in Jobs :
        /\ state[job] = "live"
        /\ fails[job] < MaxFails
        /\ state' = [state EXCEPT ![job] = "failed"]
        /\ fails' = [fails EXCEPT ![job] = @ + 1]
        /\ failed' = failed \cup {[job |-> job, gen |-> body[job], at |-> now, wide |-> FALSE]}
        /\ UNCHANGED <<now, ringVars, body, lossVars, prune>>

\* RetryFailed: takes the row out, wherever it stands, and the job is ready again in the current slot (P8).
RetryFailed ==
    \E row \in failed :
        /\ fails[row.job] < MaxFails
        /\ failed' = failed \ {row}
        /\ state' = [state EXCEPT ![row.job] = "live"]
        /\ body' = [body EXCEPT ![row.job] = gen]
        /\ UNCHANGED <<now, ringVars, fails, lossVars, prune>>

-----------------------------------------------------------------------------
(* Maintenance. *)

\* RotateQueue needs the ring's lock, which a prune holds from its first step to its last.
RotateQueue ==
    /\ ~prune.holds
    /\ gen < LastGeneration
    /\ gen + 1 < pruned + Slots
    /\ gen' = gen + 1
    /\ UNCHANGED <<now, pruned, jobVars, failed, lossVars, prune>>

\* PruneQueue, first half: the ring's lock, the clock once for all that follows, and where carried rows will go.
BeginPrune ==
    /\ ~prune.holds
    /\ pruned < gen
    /\ prune' = [holds |-> TRUE, began |-> now, dest |-> gen]
    /\ UNCHANGED <<now, ringVars, jobVars, failed, lossVars>>

\* Without this nothing keeps a job: whatever has not ended in the slot keeps the slot.
IsSpent(g) == \A job \in Jobs : state[job] = "live" => body[job] # g

RowsOf(g) == {row \in failed : row.gen = g}

\* A row that is exactly as old as its retention is inside the floor.
IsInside(row, time) == row.at + Retention >= time

Carried(row) == [row EXCEPT !.gen = prune.dest, !.wide = TRUE]

JobsOf(rows) == {row.job : row \in rows}

\* The rows go from the slot, these into the current one and those for ever, and are counted.
MoveAndTruncate(inside, outside) ==
    /\ failed' = (failed \ RowsOf(pruned)) \cup {Carried(row) : row \in inside}
    /\ counted' = counted + Cardinality(outside)
    /\ state' = [job \in Jobs |-> IF job \in JobsOf(outside) THEN "lost" ELSE state[job]]
    /\ floor' = [job \in Jobs |-> IF job \in JobsOf(outside)
                                  THEN prune.began - (CHOOSE row \in outside : row.job = job).at
                                  ELSE floor[job]]
    /\ pruned' = pruned + 1
    /\ prune' = NoPrune
    /\ UNCHANGED <<now, gen, body, fails>>

\* PruneQueue, second half: it owns the slot's tables, and sees what committed while it waited for them.
PruneQueue ==
    /\ prune.holds
    /\ IsSpent(pruned)
    /\ LET inside == {row \in RowsOf(pruned) : IsInside(row, prune.began)}
       IN  MoveAndTruncate(inside, RowsOf(pruned) \ inside)

\* It is blocked, finds the slot active, or dies: nothing has happened.
AbortPrune ==
    /\ prune.holds
    /\ prune' = NoPrune
    /\ UNCHANGED <<now, ringVars, jobVars, failed, lossVars>>

-----------------------------------------------------------------------------

Next ==
    \/ Tick
    \/ Enqueue
    \/ Fail
    \/ RetryFailed
    \/ RotateQueue
    \/ BeginPrune
    \/ PruneQueue
    \/ AbortPrune

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What must hold of every state. *)

\* P2: what has failed and is not lost has its row.
FailedJobHasItsRow == \A job \in Jobs : state[job] = "failed" => job \in JobsOf(failed)

\* P2: and nothing else has one: a job that was retried does not fail and wait at the same time.
OnlyFailedJobsHaveRows == \A row \in failed : state[row.job] = "failed"

\* P8: no row stands in two places.
OneRowForEachJob == \A row, other \in failed : row.job = other.job => row = other

\* P8: a failed row can be retried until its retention is over.
FloorHolds == \A job \in Jobs : state[job] = "lost" => floor[job] > Retention

\* P2: a row stands in a slot that was not truncated.
RowsStandInTheRing == \A row \in failed : pruned <= row.gen /\ row.gen <= gen

\* P8: each row can be read whole: it is wide, or its ready row stands beside it.
RowCanBeHydrated == \A row \in failed : row.wide \/ row.gen = body[row.job]

\* P9: what was lost is counted, once.
LossIsCounted == counted = Cardinality({job \in Jobs : state[job] = "lost"})

\* P2: a job that has not ended keeps its slot.
LiveJobHasItsBody == \A job \in Jobs : state[job] = "live" => pruned <= body[job]

=============================================================================
