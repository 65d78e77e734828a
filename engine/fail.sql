{{/* The error history of the job in ready row r grows by one entry and keeps the newest twenty; . is the text as SQL. */}}
{{define "errors_and"}}
       (CASE WHEN jsonb_array_length(coalesce(r.errors, '[]')) >= 20 THEN r.errors - 0 ELSE coalesce(r.errors, '[]') END)
       || jsonb_build_array(jsonb_build_object('attempt', r.attempt + 1, 'at', coalesce($5::timestamptz, statement_timestamp()), 'error', {{.}}))
{{end}}

{{/* Messages are found by binary search: $6 is sorted and $7 lies beside it. */}}
{{define "fail"}}
/* awa:Fail */
{{template "open_members" .}}, closures AS (
    {{template "close_as" .}}, 'failed'{{template "closed_range" .}} FROM closing
), history AS (
    INSERT INTO {{.S}}.done_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors)
    SELECT m.ready_slot, m.ready_generation, m.lane_id, m.lane_seq, m.job_id, m.run_lease, r.attempt + 1, 'failed',
           coalesce($5::timestamptz, statement_timestamp()), {{template "errors_and" "($7::text[])[width_bucket(m.receipt_id, $6::bigint[])]"}}
      FROM ({{template "closing_members" .}}) m
     CROSS JOIN LATERAL (SELECT * FROM {{.S}}.ready_entries_{{.Queue}} WHERE lane_id = m.lane_id AND lane_seq = m.lane_seq OFFSET 0) r
    RETURNING 1 AS n
)
{{template "closed" .}}
{{end}}
