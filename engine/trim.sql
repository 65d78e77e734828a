{{/* Rows before the newest lap: $1 is the first generation that stays. Rotation and prune ledger go together, so that what
     is unpruned reads the same as before. */}}
{{define "trim_rotations"}}
/* awa:TrimLedger */
DELETE FROM {{.S}}.{{.Ring.Name}}_ring_rotations WHERE generation < $1::bigint
{{end}}

{{define "trim_prunes"}}
/* awa:TrimLedger */
DELETE FROM {{.S}}.{{.Ring.Name}}_ring_prunes WHERE generation < $1::bigint
{{end}}
