{{/* How old the current slot is, and about how many rows it holds: its pages times the rows of its first page. To count them
     would read the slot each time. */}}
{{define "fill"}}
/* awa:RotateDue */
SELECT extract(epoch FROM coalesce($1::timestamptz, now())
                        - (SELECT rotated_at FROM {{.S}}.{{.Ring.Name}}_ring_rotations ORDER BY generation DESC LIMIT 1))::float8,
       pg_relation_size('{{.S}}.{{.Ring.Gate}}_{{.Queue}}') / current_setting('block_size')::bigint
       * (SELECT count(*) FROM {{.S}}.{{.Ring.Gate}}_{{.Queue}} WHERE ctid < '(1,0)')
{{end}}
