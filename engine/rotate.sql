{{/* Looking at the current slot alone would stop the ring while sealed slots still hold rows (hazard 27). Every other
     child of a slot holds rows only where a root does, but for wide ends: a cancelled one waits for the prune like any
     history, a failed one stays where it is rather than be carried on for nothing. */}}
{{define "holds_anything"}}
/* awa:Rotate */
SELECT {{range $i, $slot := .Slots}}{{range $k, $root := $.Ring.Roots}}{{if or $i $k}} OR {{end}}EXISTS (SELECT FROM {{$.S}}.{{$root}}_{{$slot}}){{end}}{{if eq $.Ring.Name "queue"}} OR EXISTS (SELECT FROM {{$.S}}.done_entries_{{$slot}} WHERE state <> 'failed'){{end}}{{end}}
{{end}}

{{define "append_rotation"}}
/* awa:Rotate */
INSERT INTO {{.S}}.{{.Ring.Name}}_ring_rotations (generation, slot, rotated_at)
VALUES ($1::bigint, $2::smallint, coalesce($3::timestamptz, now()))
{{end}}
