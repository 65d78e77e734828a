--------------------------- MODULE BrokenClaimRing ---------------------------
(***************************************************************************)
(* ClaimRing with one thing wrong at a time.  Each variant has to fail, by *)
(* the invariant or the property that its comment names: that is how we    *)
(* know that they can fail.                                                *)
(***************************************************************************)
EXTENDS ClaimRing

\* A prune that takes a slot with open claims in it.  Fails NoJobIsLost.
PruneOpenClaims ==
    /\ IsSealed(pruned)
    /\ claims' = SelectSeq(claims, LAMBDA claim : claim.gen # pruned)
    /\ pruned' = pruned + 1
    /\ UNCHANGED <<jobVars, gen>>

PruneOpenNext ==
    \/ Enqueue
    \/ Claim
    \/ Complete
    \/ Fail
    \/ RescueStale
    \/ RotateClaims
    \/ PruneOpenClaims

PruneOpenSpec == Init /\ [][PruneOpenNext]_vars

\* A rotation that doesn't ask whether the next slot was pruned.  Fails RingIsNotOverrun.
RotateOntoUnpruned ==
    /\ gen < LastGeneration
    /\ claims # <<>>
    /\ gen' = gen + 1
    /\ UNCHANGED <<jobVars, claims, pruned>>

RotateOntoNext ==
    \/ Enqueue
    \/ Claim
    \/ Complete
    \/ Fail
    \/ RescueStale
    \/ RotateOntoUnpruned
    \/ PruneClaims

RotateOntoSpec == Init /\ [][RotateOntoNext]_vars

\* A completion that doesn't look whether its claim was closed meanwhile.  Fails EndedJobDoesNotWait: a rescue had
\* sent the job back.
CompleteClosed ==
    \E i \in DOMAIN claims : EndJob(i, "completed")

CompleteClosedNext ==
    \/ Enqueue
    \/ Claim
    \/ CompleteClosed
    \/ Fail
    \/ RescueStale
    \/ RotateClaims
    \/ PruneClaims

CompleteClosedSpec == Init /\ [][CompleteClosedNext]_vars

\* A rescue that sends the job on and forgets to close the claim.  Fails WaitingJobDoesNotRun.
RescueWithoutClosing ==
    \E cutoff \in DOMAIN claims :
        /\ IsOpen(claims[cutoff])
        /\ UNCHANGED claims
        /\ RouteOn(SubSeq(claims, 1, cutoff))

RescueWithoutClosingNext ==
    \/ Enqueue
    \/ Claim
    \/ Complete
    \/ Fail
    \/ RescueWithoutClosing
    \/ RotateClaims
    \/ PruneClaims

RescueWithoutClosingSpec == Init /\ [][RescueWithoutClosingNext]_vars

\* A rescue that closes the claim and forgets the job.  Fails NoJobIsLost.
RescueWithoutRouting ==
    \E i \in DOMAIN claims :
        /\ IsOpen(claims[i])
        /\ claims' = [claims EXCEPT ![i].outcome = "rescued"]
        /\ UNCHANGED <<jobVars, ringVars>>

RescueWithoutRoutingNext ==
    \/ Enqueue
    \/ Claim
    \/ Complete
    \/ Fail
    \/ RescueWithoutRouting
    \/ RotateClaims
    \/ PruneClaims

RescueWithoutRoutingSpec == Init /\ [][RescueWithoutRoutingNext]_vars

\* A rescue that leaves alone what has no attempts left: no job is lost, and no invariant fails, but the claim stays
\* open for ever.  Fails OpenClaimIsClosed.
RescueRetriesOnly ==
    \E i \in DOMAIN claims :
        /\ GoesBack(claims[i])
        /\ claims' = [claims EXCEPT ![i].outcome = "rescued"]
        /\ lane' = Append(lane, claims[i].job)
        /\ UNCHANGED <<lease, ended, ringVars>>

RescueRetriesOnlyNext ==
    \/ Enqueue
    \/ Claim
    \/ Complete
    \/ Fail
    \/ RescueRetriesOnly
    \/ RotateClaims
    \/ PruneClaims

RescueRetriesOnlySpec ==
    /\ Init
    /\ [][RescueRetriesOnlyNext]_vars
    /\ WF_vars(RescueRetriesOnly)
    /\ WF_vars(PruneClaims)

\* A prune that waits until the ring is empty of claims.  No invariant fails, but a spent generation behind an open
\* claim that always finds a successor stays for ever: the ring runs full.  Fails SpentGenerationIsPruned.
PruneWhenIdle ==
    /\ IsSealed(pruned)
    /\ \A i \in DOMAIN claims : claims[i].gen = pruned /\ ~IsOpen(claims[i])
    /\ claims' = SelectSeq(claims, LAMBDA claim : claim.gen # pruned)
    /\ pruned' = pruned + 1
    /\ UNCHANGED <<jobVars, gen>>

PruneWhenIdleNext ==
    \/ Enqueue
    \/ Claim
    \/ Complete
    \/ Fail
    \/ RescueStale
    \/ RotateClaims
    \/ PruneWhenIdle

PruneWhenIdleSpec ==
    /\ Init
    /\ [][PruneWhenIdleNext]_vars
    /\ WF_vars(RescueStale)
    /\ WF_vars(PruneWhenIdle)

=============================================================================
