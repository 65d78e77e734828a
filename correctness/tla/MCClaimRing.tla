----------------------------- MODULE MCClaimRing -----------------------------
(* ClaimRing as it is, to be checked; its constants are in the configurations, and its bounds are guards. *)
EXTENDS ClaimRing

\* Witnesses: each says that something never happens, and must be found wrong.  Were one right, the invariants above
\* would have shown nothing about the case that they are for.

\* A job comes back to its lane because a rescue closed its claim, and that claim's slot is truncated before the job
\* is handed out again.
NeverPrunedBehindARescue ==
    ~(\E job \in Enqueued : IsWaiting(job) /\ lease[job] > 0 /\ ~(\E i \in DOMAIN claims : claims[i].job = job))

\* A rescue finds a job whose attempts are used up, and fails it.
NeverFailedByARescue ==
    ~(\E i \in DOMAIN claims :
        claims[i].outcome = "rescued" /\ ended[claims[i].job] = "failed" /\ claims[i].lease = MaxAttempts)

\* The ring is full, and its oldest generation waits for a rescue.
NeverFullAndHeld ==
    ~(gen + 1 = pruned + Slots /\ pruned < gen /\ ~IsSpent(pruned))

=============================================================================
