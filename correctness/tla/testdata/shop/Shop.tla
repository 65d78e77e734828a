---- MODULE Shop ----
(* A shop where customers draw numbered tickets and clerks call them in order. A toy for the tests of the runners. *)
EXTENDS Naturals, FiniteSets
CONSTANTS Clerks, Tickets, Nobody
VARIABLES drawn,   \* tickets drawn so far
          called,  \* the last ticket that was called
          desk     \* clerk -> the ticket being served, or Nobody
vars == <<drawn, called, desk>>

TypeOK == /\ drawn \in 0..Tickets
          /\ called \in 0..Tickets
          /\ desk \in [Clerks -> (1..Tickets) \cup {Nobody}]

Init == drawn = 0 /\ called = 0 /\ desk = [c \in Clerks |-> Nobody]

Draw == /\ drawn < Tickets
        /\ drawn' = drawn + 1
        /\ UNCHANGED <<called, desk>>

Call(c) == /\ desk[c] = Nobody
           /\ called < drawn
           /\ called' = called + 1
           /\ desk' = [desk EXCEPT ![c] = called + 1]
           /\ UNCHANGED drawn

Finish(c) == /\ desk[c] # Nobody
             /\ desk' = [desk EXCEPT ![c] = Nobody]
             /\ UNCHANGED <<drawn, called>>

Next == \/ Draw
        \/ \E c \in Clerks : Call(c) \/ Finish(c)

Spec == Init /\ [][Next]_vars

CallAny == \E c \in Clerks : Call(c)
FinishAny == \E c \in Clerks : Finish(c)
FairSpec == Spec /\ WF_vars(CallAny) /\ WF_vars(FinishAny)

CalledWasDrawn == called <= drawn
NobodyShares == \A c, d \in Clerks : (desk[c] = desk[d] /\ desk[c] # Nobody) => c = d

AllDrawnIsCalled == (drawn = Tickets) ~> (called = Tickets)
NumbersGrow == [][called' >= called]_vars
====
