---- MODULE ShopRefinement ----
(* The shop seen as a counter: only the number called last. *)
EXTENDS Shop
Abstract == INSTANCE Counting WITH count <- called, Limit <- Tickets
CountsOnly == Abstract!Spec
====
