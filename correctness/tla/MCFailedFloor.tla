---------------------------- MODULE MCFailedFloor ----------------------------
(* FailedFloor as it is, to be checked; its constants are in the configurations, and its bounds are guards. *)
EXTENDS FailedFloor

\* Witnesses: each says that something never happens, and must be found wrong.

\* A row is carried, its next slot is pruned, too, and it is still there.
NeverCarriedTwice ==
    ~(\E row \in failed : row.wide /\ row.gen > body[row.job] + 1 /\ pruned = row.gen)

\* A row is older than its retention and goes with its slot.
NeverLost == counted = 0

=============================================================================
