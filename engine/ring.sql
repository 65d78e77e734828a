{{/* The unpruned generations of a ring, oldest first. Only the newest N can be unpruned: a rotation enters no slot whose
     last generation isn't in the prune ledger. Each ledger is read through its primary key. */}}
{{define "window"}}
(SELECT array_agg(newest.generation ORDER BY newest.generation)
   FROM (SELECT generation FROM {{.S}}.{{.Ring.Name}}_ring_rotations ORDER BY generation DESC LIMIT {{.Ring.Slots}}) newest
  WHERE NOT EXISTS (SELECT FROM {{.S}}.{{.Ring.Name}}_ring_prunes p WHERE p.generation = newest.generation))
{{end}}

{{define "read_window"}}
/* awa:Ring */
SELECT {{template "window" .}}
{{end}}

{{/* The ring's mutex. A statement of its own: the ledger is read by a later one, which sees what committed while this
     one waited. NOWAIT, since maintenance yields (P7). */}}
{{define "lock_ring"}}
/* awa:Ring */
SELECT FROM {{.S}}.{{.Ring.Name}}_ring_state FOR UPDATE NOWAIT
{{end}}

{{/* Statements over all children look expensive to the planner, which would compile them for longer than they run. */}}
{{define "no_jit"}}
/* awa:Plan */
SELECT set_config('jit', 'off', true)
{{end}}
