---- MODULE MCShop ----
(* Variants of the shop, most of them wrong on purpose. *)
EXTENDS Shop, TLC

(* A clerk takes the ticket of a colleague. *)
Grab(c) == /\ desk[c] = Nobody
           /\ called > 0
           /\ desk' = [desk EXCEPT ![c] = called]
           /\ UNCHANGED <<drawn, called>>
GrabNext == Next \/ \E c \in Clerks : Grab(c)
GrabSpec == Init /\ [][GrabNext]_vars

(* The last ticket is never called, so that the shop stops with a customer in it. *)
LazyCall(c) == /\ called + 1 < Tickets
               /\ Call(c)
LazyNext == \/ Draw
            \/ \E c \in Clerks : LazyCall(c)
            \/ \E c \in Clerks : Finish(c)
LazyCallAny == \E c \in Clerks : LazyCall(c)
LazySpec == Init /\ [][LazyNext]_vars /\ WF_vars(LazyCallAny) /\ WF_vars(FinishAny)

(* Numbers start again before the shop is empty. *)
Restart == /\ called = Tickets
           /\ called' = 0
           /\ UNCHANGED <<drawn, desk>>
RestartNext == Next \/ Restart
RestartSpec == Init /\ [][RestartNext]_vars

(* An action that nothing enables. *)
Close == /\ drawn > Tickets
         /\ drawn' = 0
         /\ UNCHANGED <<called, desk>>
IdleNext == Next \/ Close
IdleSpec == Init /\ [][IdleNext]_vars

(* Clerks that do nothing are no deadlock. *)
Rest == /\ called = Tickets
        /\ UNCHANGED vars
RestNext == Next \/ Rest
RestSpec == Init /\ [][RestNext]_vars

ASSUME Tickets > 0
====
