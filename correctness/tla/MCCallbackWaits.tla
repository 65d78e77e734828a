--------------------------- MODULE MCCallbackWaits ---------------------------
(* CallbackWaits as it is, to be checked; its constants are in the configurations, and its bounds are guards. *)
EXTENDS CallbackWaits

\* The control: a prune that never comes by prunes nothing.
UnfairPruneSpec == Spec /\ WF_vars(CallbackTimeout)

\* Witnesses: each says that something never happens, and must be found wrong.

\* An attempt waits a second time, in a later slot than the first, while another one keeps that slot.
NeverWaitsElsewhere ==
    ~(\E row, other \in waits : row.job # other.job /\ delivered[row.job] # {} /\ row.gen > other.gen)

\* A park finds that the ring has turned.
NeverParksAgain == \A job \in Jobs : park[job].begun => park[job].gen = gen

\* An answer comes while the attempt waits for another one.
NeverAnsweredOutOfTurn == \A row \in waits : early[row.job] = {}

=============================================================================
