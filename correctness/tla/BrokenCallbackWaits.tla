------------------------- MODULE BrokenCallbackWaits -------------------------
(***************************************************************************)
(* CallbackWaits with one thing wrong at a time.  Each variant has to      *)
(* fail, by the property that its comment names.                           *)
(***************************************************************************)
EXTENDS CallbackWaits

\* A park does not look for an answer that came first (hazard 33). Fails NobodyWaitsForWhatCame.
ParkWithoutLooking ==
    \E job \in Jobs :
        /\ park[job].begun
        /\ park[job].gen = gen
        /\ Wait(job, park[job].token)
        /\ park' = [park EXCEPT ![job] = NoPark]
        /\ UNCHANGED <<ringVars, jobVars, sent>>

ParkForgetsEarlyNext ==
    \/ Claim
    \/ Complete
    \/ CallbackTimeout
    \/ BeginPark
    \/ ParkWithoutLooking
    \/ ParkAgain
    \/ Resume
    \/ RotateLeases
    \/ PruneLeases

ParkForgetsEarlySpec == Init /\ [][ParkForgetsEarlyNext]_vars

\* A park writes where it read that it should, without asking whether that is still so (hazard 3). Fails
\* LeasesStandInTheRing.
ParkUnchecked ==
    \E job \in Jobs :
        /\ park[job].begun
        /\ IF park[job].token \in early[job] \cup delivered[job]
           THEN Deliver(job, park[job].token)
           ELSE /\ waits' = waits \cup {[job |-> job, lease |-> lease[job], token |-> park[job].token, gen |-> park[job].gen]}
                /\ UNCHANGED <<early, delivered>>
        /\ park' = [park EXCEPT ![job] = NoPark]
        /\ UNCHANGED <<ringVars, jobVars, sent>>

ParkUncheckedNext ==
    \/ Claim
    \/ Complete
    \/ CallbackTimeout
    \/ BeginPark
    \/ ParkUnchecked
    \/ ParkAgain
    \/ Resume
    \/ RotateLeases
    \/ PruneLeases

ParkUncheckedSpec == Init /\ [][ParkUncheckedNext]_vars

\* An attempt that waits may park again. Fails OneWaitForEachAttempt.
BeginParkWhileWaiting ==
    \E job \in Jobs, token \in Tokens :
        /\ state[job] = "running"
        /\ ~park[job].begun
        /\ park' = [park EXCEPT ![job] = [begun |-> TRUE, token |-> token, gen |-> gen]]
        /\ UNCHANGED <<ringVars, jobVars, waits, answerVars>>

ParkTwiceNext ==
    \/ Claim
    \/ Complete
    \/ CallbackTimeout
    \/ BeginParkWhileWaiting
    \/ Park
    \/ ParkAgain
    \/ Resume
    \/ RotateLeases
    \/ PruneLeases

ParkTwiceSpec == Init /\ [][ParkTwiceNext]_vars

\* A completion leaves the lease behind. Fails WaitingIsOpen.
CompleteAlone ==
    \E job \in Jobs :
        /\ state[job] = "running"
        /\ state' = [state EXCEPT ![job] = "over"]
        /\ early' = [early EXCEPT ![job] = {}]
        /\ delivered' = [delivered EXCEPT ![job] = {}]
        /\ sent' = [sent EXCEPT ![job] = {}]
        /\ park' = [park EXCEPT ![job] = NoPark]
        /\ UNCHANGED <<ringVars, lease, waits>>

CompleteKeepsLeaseNext ==
    \/ Claim
    \/ CompleteAlone
    \/ CallbackTimeout
    \/ BeginPark
    \/ Park
    \/ ParkAgain
    \/ Resume
    \/ RotateLeases
    \/ PruneLeases

CompleteKeepsLeaseSpec == Init /\ [][CompleteKeepsLeaseNext]_vars

\* What was told of an attempt is left for the next one (hazard 33). Fails StateEndsWithItsAttempt.
TimeoutKeepsState ==
    \E job \in Jobs :
        /\ IsWaiting(job)
        /\ state' = [state EXCEPT ![job] = Again(job)]
        /\ waits' = waits \ LeasesOf(job)
        /\ sent' = [sent EXCEPT ![job] = {}]
        /\ park' = [park EXCEPT ![job] = NoPark]
        /\ UNCHANGED <<ringVars, lease, early, delivered>>

TokenOutlivesNext ==
    \/ Claim
    \/ Complete
    \/ TimeoutKeepsState
    \/ BeginPark
    \/ Park
    \/ ParkAgain
    \/ Resume
    \/ RotateLeases
    \/ PruneLeases

TokenOutlivesSpec == Init /\ [][TokenOutlivesNext]_vars

\* An answer that nobody waits for is dropped. Fails NoAnswerIsLost.
ResumeDropsEarly ==
    \E job \in Jobs, token \in Tokens :
        /\ state[job] = "running"
        /\ token \notin early[job] \cup delivered[job]
        /\ sent' = [sent EXCEPT ![job] = @ \cup {token}]
        /\ LET awaited == {row \in LeasesOf(job) : row.token = token}
           IN  /\ waits' = waits \ awaited
               /\ delivered' = [delivered EXCEPT ![job] = IF awaited # {} THEN @ \cup {token} ELSE @]
               /\ UNCHANGED early
        /\ UNCHANGED <<ringVars, jobVars, park>>

ResumeDropsEarlyNext ==
    \/ Claim
    \/ Complete
    \/ CallbackTimeout
    \/ BeginPark
    \/ Park
    \/ ParkAgain
    \/ ResumeDropsEarly
    \/ RotateLeases
    \/ PruneLeases

ResumeDropsEarlySpec == Init /\ [][ResumeDropsEarlyNext]_vars

\* A slot is truncated although somebody waits in it. Fails LeasesStandInTheRing.
PruneOccupied ==
    /\ pruned < gen
    /\ pruned' = pruned + 1
    /\ UNCHANGED <<gen, jobVars, waits, answerVars, park>>

PruneOccupiedNext ==
    \/ Claim
    \/ Complete
    \/ CallbackTimeout
    \/ BeginPark
    \/ Park
    \/ ParkAgain
    \/ Resume
    \/ RotateLeases
    \/ PruneOccupied

PruneOccupiedSpec == Init /\ [][PruneOccupiedNext]_vars

\* Only waits of the current slot are looked at (hazards 6 and 24). Fails EveryWaitEnds.
TimeoutInTheCurrentSlot ==
    \E job \in Jobs : (\E row \in LeasesOf(job) : row.gen = gen) /\ End(job, Again(job))

TimeoutInTheCurrentSlotNext ==
    \/ Claim
    \/ Complete
    \/ TimeoutInTheCurrentSlot
    \/ BeginPark
    \/ Park
    \/ ParkAgain
    \/ Resume
    \/ RotateLeases
    \/ PruneLeases

TimeoutInTheCurrentSlotSpec == Init /\ [][TimeoutInTheCurrentSlotNext]_vars /\ WF_vars(TimeoutInTheCurrentSlot) /\ WF_vars(PruneLeases)

=============================================================================
