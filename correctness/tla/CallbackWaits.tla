---------------------------- MODULE CallbackWaits ----------------------------
(***************************************************************************)
(* Attempts that wait for an answer from outside, and the ring that their  *)
(* leases stand in.                                                        *)
(*                                                                         *)
(* An attempt parks with a token; whoever has the token brings the answer. *)
(* The answer may come before the park, and is kept for it.  A token is of *)
(* one attempt and dies with it (P3).  A wait that takes too long ends the *)
(* attempt.  A lease stands in the generation that was current when it was *)
(* written, and a slot is truncated when nobody waits in it.               *)
(*                                                                         *)
(* A park is two steps here, since the ring turns beside it: it reads the  *)
(* cursor, and later, once it owns a lock on the slot's table, compares    *)
(* and writes, or begins again (hazard 3).  Everything else is one step:   *)
(* it is done under the key of the attempt.                                *)
(*                                                                         *)
(* Left out, since it changes nothing here:                                *)
(*   - ready rows, claims and their closures: an attempt is open or over,  *)
(*     which is ClaimRing's idea;                                          *)
(*   - clocks: a wait may always have taken too long;                      *)
(*   - what the answer says, heartbeats and progress.                      *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    MaxJobs,        \* how many jobs there are
    MaxLeases,      \* how many attempts each may have
    MaxTokens,      \* how many different tokens an attempt has
    Slots,          \* how many slots the ring has
    LastGeneration  \* how far the ring turns

ASSUME ConstantsAreSound ==
    /\ {MaxJobs, MaxLeases, MaxTokens, LastGeneration} \subseteq Nat
    /\ Slots \in Nat \ {0, 1}

Jobs   == 1..MaxJobs
Tokens == 1..MaxTokens

VARIABLES
    gen,       \* the generation that new leases go to
    pruned,    \* the first generation that was not truncated yet
    state,     \* state[job]: "ready", "running", waiting or not, or "over"
    lease,     \* lease[job]: the number of its newest attempt
    waits,     \* the leases
    early,     \* early[job]: tokens whose answer came before the running attempt waits for it
    delivered, \* delivered[job]: tokens whose answer the running attempt was given
    sent,      \* sent[job]: tokens whose answer came for the running attempt, from outside
    park       \* park[job]: the park under way of the running attempt

ringVars   == <<gen, pruned>>
jobVars    == <<state, lease>>
answerVars == <<early, delivered, sent>>
vars       == <<ringVars, jobVars, waits, answerVars, park>>

-----------------------------------------------------------------------------

Lease ==
    [job   : Jobs,
     lease : 1..MaxLeases,
     token : Tokens,
     gen   : 0..LastGeneration]

\* A park knows the token, and the generation that it has read.
NoPark == [begun |-> FALSE, token |-> 1, gen |-> 0]

TypeOK ==
    /\ gen \in 0..LastGeneration
    /\ pruned \in 0..gen
    /\ state \in [Jobs -> {"ready", "running", "over"}]
    /\ lease \in [Jobs -> 0..MaxLeases]
    /\ waits \subseteq Lease
    /\ early \in [Jobs -> SUBSET Tokens]
    /\ delivered \in [Jobs -> SUBSET Tokens]
    /\ sent \in [Jobs -> SUBSET Tokens]
    /\ park \in [Jobs -> [begun : BOOLEAN, token : Tokens, gen : 0..LastGeneration]]

Init ==
    /\ gen = 0
    /\ pruned = 0
    /\ state = [job \in Jobs |-> "ready"]
    /\ lease = [job \in Jobs |-> 0]
    /\ waits = {}
    /\ early = [job \in Jobs |-> {}]
    /\ delivered = [job \in Jobs |-> {}]
    /\ sent = [job \in Jobs |-> {}]
    /\ park = [job \in Jobs |-> NoPark]

LeasesOf(job) == {row \in waits : row.job = job}

IsWaiting(job) == \E row \in waits : row.job = job /\ row.lease = lease[job]

-----------------------------------------------------------------------------
(* Attempts. *)

Claim ==
    \E job \in Jobs :
        /\ state[job] = "ready"
        /\ lease[job] < MaxLeases
        /\ state' = [state EXCEPT ![job] = "running"]
        /\ lease' = [lease EXCEPT ![job] = @ + 1]
        /\ UNCHANGED <<ringVars, waits, answerVars, park>>

\* The attempt is over, whoever ends it: its lease goes, and all that was told of it (P3).
End(job, next) ==
    /\ state' = [state EXCEPT ![job] = next]
    /\ waits' = waits \ LeasesOf(job)
    /\ early' = [early EXCEPT ![job] = {}]
    /\ delivered' = [delivered EXCEPT ![job] = {}]
    /\ sent' = [sent EXCEPT ![job] = {}]
    /\ park' = [park EXCEPT ![job] = NoPark]
    /\ UNCHANGED <<ringVars, lease>>

\* Complete, by the attempt itself or by whoever has its receipt, also while it waits.
Complete == \E job \in Jobs : state[job] = "running" /\ End(job, "over")

Again(job) == IF lease[job] < MaxLeases THEN "ready" ELSE "over"

\* CallbackTimeout, or a deadline: the wait has taken too long.
CallbackTimeout == \E job \in Jobs : IsWaiting(job) /\ End(job, Again(job))

-----------------------------------------------------------------------------
(* Waits. *)

\* Park, first half: where would a lease go?
BeginPark ==
    \E job \in Jobs, token \in Tokens :
        /\ state[job] = "running"
        /\ ~IsWaiting(job)
        /\ ~park[job].begun
        /\ park' = [park EXCEPT ![job] = [begun |-> TRUE, token |-> token, gen |-> gen]]
        /\ UNCHANGED <<ringVars, jobVars, waits, answerVars>>

\* The answer was there first, and is given.
Deliver(job, token) ==
    /\ early' = [early EXCEPT ![job] = @ \ {token}]
    /\ delivered' = [delivered EXCEPT ![job] = @ \cup {token}]
    /\ UNCHANGED waits

Wait(job, token) ==
    /\ waits' = waits \cup {[job |-> job, lease |-> lease[job], token |-> token, gen |-> gen]}
    /\ UNCHANGED <<early, delivered>>

\* Park, second half: under the key of the attempt and with a lock on the slot that is still the current one.
Park ==
    \E job \in Jobs :
        /\ park[job].begun
        /\ park[job].gen = gen
        /\ IF park[job].token \in early[job] \cup delivered[job]
           THEN Deliver(job, park[job].token)
           ELSE Wait(job, park[job].token)
        /\ park' = [park EXCEPT ![job] = NoPark]
        /\ UNCHANGED <<ringVars, jobVars, sent>>

\* The ring has turned meanwhile: nothing was written, and the park begins again.
ParkAgain ==
    \E job \in Jobs :
        /\ park[job].begun
        /\ park[job].gen # gen
        /\ park' = [park EXCEPT ![job].gen = gen]
        /\ UNCHANGED <<ringVars, jobVars, waits, answerVars>>

\* Resume with a token of the attempt that runs.  One of an attempt that is over changes nothing, and is no step.
Resume ==
    \E job \in Jobs, token \in Tokens :
        /\ state[job] = "running"
        /\ token \notin early[job] \cup delivered[job]
        /\ sent' = [sent EXCEPT ![job] = @ \cup {token}]
        /\ LET awaited == {row \in LeasesOf(job) : row.token = token}
           IN  IF awaited # {}
               THEN /\ waits' = waits \ awaited
                    /\ delivered' = [delivered EXCEPT ![job] = @ \cup {token}]
                    /\ UNCHANGED early
               ELSE /\ early' = [early EXCEPT ![job] = @ \cup {token}]
                    /\ UNCHANGED <<waits, delivered>>
        /\ UNCHANGED <<ringVars, jobVars, park>>

-----------------------------------------------------------------------------
(* Maintenance. *)

RotateLeases ==
    /\ waits # {}
    /\ gen < LastGeneration
    /\ gen + 1 < pruned + Slots
    /\ gen' = gen + 1
    /\ UNCHANGED <<pruned, jobVars, waits, answerVars, park>>

IsEmpty(g) == \A row \in waits : row.gen # g

PruneLeases ==
    /\ pruned < gen
    /\ IsEmpty(pruned)
    /\ pruned' = pruned + 1
    /\ UNCHANGED <<gen, jobVars, waits, answerVars, park>>

-----------------------------------------------------------------------------

Next ==
    \/ Claim
    \/ Complete
    \/ CallbackTimeout
    \/ BeginPark
    \/ Park
    \/ ParkAgain
    \/ Resume
    \/ RotateLeases
    \/ PruneLeases

Spec == Init /\ [][Next]_vars

\* Maintenance comes by: waits that take too long are ended, and slots where nobody waits are truncated.
FairSpec == Spec /\ WF_vars(CallbackTimeout) /\ WF_vars(PruneLeases)

-----------------------------------------------------------------------------
(* What must hold of every state. *)

\* P3: who waits is open, and it is the job's newest attempt.
WaitingIsOpen == \A row \in waits : state[row.job] = "running" /\ row.lease = lease[row.job]

\* P3: an attempt waits for one answer at a time.
OneWaitForEachAttempt == \A row, other \in waits : row.job = other.job => row = other

\* P2: a lease stands in a slot that was not truncated.
LeasesStandInTheRing == \A row \in waits : pruned <= row.gen /\ row.gen <= gen

\* P2: an answer that came for an attempt that runs was given to it, or is kept for its park.
NoAnswerIsLost == \A job \in Jobs : sent[job] \subseteq early[job] \cup delivered[job]

\* P2: nobody waits for an answer that has come.
NobodyWaitsForWhatCame == \A row \in waits : row.token \notin sent[row.job]

\* P3: nothing is kept of an attempt that is over.
StateEndsWithItsAttempt ==
    \A job \in Jobs : state[job] # "running" => early[job] = {} /\ delivered[job] = {} /\ ~park[job].begun

\* P3: an attempt is given only what was sent to it.
TokenDiesWithItsAttempt == \A job \in Jobs : early[job] \cup delivered[job] \subseteq sent[job]

-----------------------------------------------------------------------------
(* What must come to pass. *)

\* Nobody waits for ever.
EveryWaitEnds == \A job \in Jobs : IsWaiting(job) ~> ~IsWaiting(job)

\* A slot that was left is truncated in the end.
LeftSlotIsPruned == \A g \in 0..(LastGeneration - 1) : (gen > g) ~> (pruned > g)

=============================================================================
