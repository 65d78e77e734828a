------------------------------ MODULE ClaimRing ------------------------------
(***************************************************************************)
(* The claim ring: how a claim that nobody answers is closed before the    *)
(* slot that holds it is truncated.                                        *)
(*                                                                         *)
(* A claim is a record in the current slot of a ring of tables, and the    *)
(* only sign that a job was handed out: no lease is made.  A worker that   *)
(* lives closes its claim, by Complete or Fail.  One that dies leaves it   *)
(* open, and truncating the slot then would lose the job for ever.  So     *)
(* RescueStale closes it first and sends the job on, and PruneClaims takes *)
(* only a slot whose claims are all closed: rescue before truncate.        *)
(*                                                                         *)
(* This is the twin of a view of the reference model (view_claimring.go):  *)
(* for the same constants both have the same states and the same steps,    *)
(* under the same names.                                                   *)
(*                                                                         *)
(* Left out, since it changes nothing here:                                *)
(*   - time.  Claims stand in the order in which they were made, and a     *)
(*     cutoff is a place in that order;                                    *)
(*   - the ring of ready rows: one lane is a sequence.  Its rotation and   *)
(*     its pruning are another idea, for another module;                   *)
(*   - producers' transactions.  A job is there once it is committed;      *)
(*   - workers.  Nothing is promised about them: whoever has a claim may   *)
(*     close it at any time or never, and may come back long after others  *)
(*     closed it;                                                          *)
(*   - calls on several claims at once, but for the rescue: they are       *)
(*     several steps.                                                      *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS
    MaxJobs,        \* how many jobs are enqueued in all
    MaxAttempts,    \* how often each may be handed out
    Slots,          \* how many tables the ring has
    LastGeneration  \* how far the ring turns

ASSUME ConstantsAreSound ==
    /\ {MaxJobs, MaxAttempts, LastGeneration} \subseteq Nat
    /\ Slots \in Nat \ {0, 1}

VARIABLES
    lane,    \* the jobs that wait, in the order in which they will be handed out
    lease,   \* lease[job]: how often the job was handed out; its run_lease
    ended,   \* ended[job]: "no", or how the job ended
    claims,  \* the claims that were not truncated, in the order in which they were made
    gen,     \* the generation that new claims go to; slot = gen modulo Slots
    pruned   \* the first generation that was not truncated yet

jobVars  == <<lane, lease, ended>>
ringVars == <<gen, pruned>>
vars     == <<jobVars, claims, ringVars>>

-----------------------------------------------------------------------------

Enqueued == DOMAIN lease  \* jobs are numbered from 1, in the order of their coming

ClaimRecord ==
    [job     : Enqueued,
     lease   : 1..MaxAttempts,
     gen     : pruned..gen,
     outcome : {"open", "completed", "failed", "rescued"}]

TypeOK ==
    /\ lane \in Seq(Enqueued)
    /\ Len(lease) <= MaxJobs
    /\ lease \in Seq(0..MaxAttempts)
    /\ ended \in Seq({"no", "completed", "failed"})
    /\ Len(ended) = Len(lease)
    /\ claims \in Seq(ClaimRecord)
    /\ gen \in 0..LastGeneration
    /\ pruned \in 0..gen

Init ==
    /\ lane = <<>>
    /\ lease = <<>>
    /\ ended = <<>>
    /\ claims = <<>>
    /\ gen = 0
    /\ pruned = 0

IsOpen(claim) == claim.outcome = "open"

IsSealed(g) == pruned <= g /\ g < gen

\* Every claim of a generation is closed.
IsSpent(g) == \A i \in DOMAIN claims : claims[i].gen = g => ~IsOpen(claims[i])

-----------------------------------------------------------------------------
(* A producer. *)

\* Enqueue: a new job at the lane's end.
Enqueue ==
    /\ Len(lease) < MaxJobs
    /\ lane' = Append(lane, Len(lease) + 1)
    /\ lease' = Append(lease, 0)
    /\ ended' = Append(ended, "no")
    /\ UNCHANGED <<claims, ringVars>>

-----------------------------------------------------------------------------
(* A worker. *)

\* Claim: the lane's first job is handed out, under the next run_lease (P3, P4).
Claim ==
    /\ lane # <<>>
    /\ LET job == Head(lane)
       IN  /\ lane' = Tail(lane)
           /\ lease' = [lease EXCEPT ![job] = @ + 1]
           /\ claims' = Append(claims, [job     |-> job,
                                        lease   |-> lease[job] + 1,
                                        gen     |-> gen,
                                        outcome |-> "open"])
    /\ UNCHANGED <<ended, ringVars>>

\* One claim is closed, and its job ends: in one transaction.
EndJob(i, outcome) ==
    /\ claims' = [claims EXCEPT ![i].outcome = outcome]
    /\ ended' = [ended EXCEPT ![claims[i].job] = outcome]
    /\ UNCHANGED <<lane, lease, ringVars>>

\* Complete and Fail look whether the claim is open still.  Where it is not, nothing happens and the caller is told
\* that it is stale: not a step (P3).
Complete ==
    \E i \in DOMAIN claims :
        /\ IsOpen(claims[i])
        /\ EndJob(i, "completed")

Fail ==
    \E i \in DOMAIN claims :
        /\ IsOpen(claims[i])
        /\ EndJob(i, "failed")

-----------------------------------------------------------------------------
(* Maintenance. *)

\* What a rescue does with the claims that are older than its cutoff.
HasAttemptsLeft(claim) == claim.lease < MaxAttempts
GoesBack(claim)        == IsOpen(claim) /\ HasAttemptsLeft(claim)
IsUsedUp(claim)        == IsOpen(claim) /\ ~HasAttemptsLeft(claim)

Jobs(records) == [k \in DOMAIN records |-> records[k].job]

\* The jobs of these claims go on: back to the lane's end while attempts are left, else they have failed.
RouteOn(stale) ==
    /\ lane' = lane \o Jobs(SelectSeq(stale, LAMBDA claim : GoesBack(claim)))
    /\ ended' = [job \in Enqueued |->
                    IF \E k \in DOMAIN stale : stale[k].job = job /\ IsUsedUp(stale[k])
                    THEN "failed"
                    ELSE ended[job]]
    /\ UNCHANGED <<lease, ringVars>>

\* RescueStale: closes every open claim up to a cutoff, which lies behind one of them.  Whether its worker lives is
\* nowhere to be seen: any claim may be found stale.
RescueStale ==
    \E cutoff \in DOMAIN claims :
        /\ IsOpen(claims[cutoff])
        /\ claims' = [i \in DOMAIN claims |->
                         IF i <= cutoff /\ IsOpen(claims[i])
                         THEN [claims[i] EXCEPT !.outcome = "rescued"]
                         ELSE claims[i]]
        /\ RouteOn(SubSeq(claims, 1, cutoff))

\* RotateClaims: the next slot must be free, so the generation that last used it must be pruned; that it looks empty
\* is no proof.  A ring without claims need not turn.
RotateClaims ==
    /\ gen < LastGeneration
    /\ gen + 1 < pruned + Slots
    /\ claims # <<>>
    /\ gen' = gen + 1
    /\ UNCHANGED <<jobVars, claims, pruned>>

\* PruneClaims: truncates the oldest sealed generation, when it is spent.  It closes nothing.
PruneClaims ==
    /\ IsSealed(pruned)
    /\ IsSpent(pruned)
    /\ claims' = SelectSeq(claims, LAMBDA claim : claim.gen # pruned)
    /\ pruned' = pruned + 1
    /\ UNCHANGED <<jobVars, gen>>

-----------------------------------------------------------------------------

Next ==
    \/ Enqueue
    \/ Claim
    \/ Complete
    \/ Fail
    \/ RescueStale
    \/ RotateClaims
    \/ PruneClaims

Spec == Init /\ [][Next]_vars

\* Only maintenance is relied on.  Workers and producers may stop for ever, at any point.
Fairness ==
    /\ WF_vars(RescueStale)
    /\ WF_vars(PruneClaims)

FairSpec == Spec /\ Fairness

-----------------------------------------------------------------------------
(* What must hold of every state; each is given to the checker by itself, so that its name is the diagnosis. *)

IsWaiting(job) == \E k \in DOMAIN lane : lane[k] = job
IsRunning(job) == \E i \in DOMAIN claims : claims[i].job = job /\ IsOpen(claims[i])
HasEnded(job)  == ended[job] # "no"

\* P2: the promise that all of this is for.
NoJobIsLost ==
    \A job \in Enqueued : IsWaiting(job) \/ IsRunning(job) \/ HasEnded(job)

\* P2: a job that has ended is never handed out again.
EndedJobDoesNotWait ==
    \A job \in Enqueued : ~(HasEnded(job) /\ IsWaiting(job))

\* P2: nobody works on what has ended.
EndedJobDoesNotRun ==
    \A job \in Enqueued : ~(HasEnded(job) /\ IsRunning(job))

\* P3: a job goes back to the lane only when the attempt before is over.
WaitingJobDoesNotRun ==
    \A job \in Enqueued : ~(IsWaiting(job) /\ IsRunning(job))

\* P2: a job stands in its lane once.
NoJobWaitsTwice ==
    \A k, m \in DOMAIN lane : lane[k] = lane[m] => k = m

\* P3: one live owner.
OneOpenClaim ==
    \A i, k \in DOMAIN claims :
        (claims[i].job = claims[k].job /\ IsOpen(claims[i]) /\ IsOpen(claims[k])) => i = k

\* P3: and it is the newest.
OpenClaimIsNewest ==
    \A i \in DOMAIN claims : IsOpen(claims[i]) => claims[i].lease = lease[claims[i].job]

\* P2: the slot that is written to holds no generation that was not truncated.
RingIsNotOverrun == gen < pruned + Slots

-----------------------------------------------------------------------------
(* What must come about, if maintenance goes on. *)

IsOpenAttempt(job, number) ==
    \E i \in DOMAIN claims : claims[i].job = job /\ claims[i].lease = number /\ IsOpen(claims[i])

\* A claim whose worker is gone is closed at last.  Any worker may be gone, so this is said of every claim.
OpenClaimIsClosed ==
    \A job \in 1..MaxJobs, number \in 1..MaxAttempts :
        IsOpenAttempt(job, number) ~> ~IsOpenAttempt(job, number)

\* A sealed generation whose claims are all closed is truncated at last; it may have to wait for older ones.
SpentGenerationIsPruned ==
    \A g \in 0..LastGeneration : (IsSealed(g) /\ IsSpent(g)) ~> (pruned > g)

=============================================================================
