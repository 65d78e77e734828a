---- MODULE Counting ----
EXTENDS Naturals
CONSTANT Limit
VARIABLE count
Init == count = 0
Increase == count < Limit /\ count' = count + 1
Next == Increase
Spec == Init /\ [][Next]_count
====
