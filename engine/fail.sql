{{/* The error history of the job in ready row r grows by one entry and keeps the newest twenty; . is the text as SQL. */}}
{{define "errors_and"}}
       (CASE WHEN jsonb_array_length(coalesce(r.errors, '[]')) >= 20 THEN r.errors - 0 ELSE coalesce(r.errors, '[]') END)
       || jsonb_build_array(jsonb_build_object('attempt', r.attempt + 1, 'at', coalesce($5::timestamptz, statement_timestamp()), 'error', {{.}}))
{{end}}

{{/* The lanes of what is being closed whose queues hold failed jobs in the DLQ. The policy is read by the statement that goes by it, so that no process
     can have an old one: every path to a failed row asks here (P2). All of a claim are of one lane. */}}
{{define "held_lanes"}}
{{- ""}}held AS MATERIALIZED (
    SELECT l.lane_id FROM {{.S}}.lanes l JOIN {{.S}}.queues q USING (queue) WHERE q.dlq AND l.lane_id IN (SELECT lane_id FROM closing)
)
{{- end}}
{{define "is_held"}}lane_id IN (SELECT lane_id FROM held){{end}}

{{/* The job in ready row r is held from now on, as it is after the attempt that has just failed: the errors are all_errors. */}}
{{define "hold"}}
    INSERT INTO {{.S}}.dlq_entries (job_id, run_lease, lane_id, attempt, dlq_at, finalized_at, errors, {{template "body_columns"}})
    SELECT r.job_id, r.closed_lease, r.lane_id, r.attempt + 1, coalesce($5::timestamptz, statement_timestamp()),
           coalesce($5::timestamptz, statement_timestamp()), all_errors, {{template "body_columns"}}
{{- end}}

{{/* Messages are found by binary search: $6 is sorted and $7 lies beside it. */}}
{{define "fail"}}
/* awa:Fail */
{{template "open_members" .}}, {{template "held_lanes" .}}, closures AS (
    {{template "close_as" .}}, CASE WHEN {{template "is_held"}} THEN 'dlq' ELSE 'failed' END{{template "closed_range" .}} FROM closing
), history AS (
    INSERT INTO {{.S}}.done_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors)
    SELECT m.ready_slot, m.ready_generation, m.lane_id, m.lane_seq, m.job_id, m.run_lease, r.attempt + 1, 'failed',
           coalesce($5::timestamptz, statement_timestamp()), {{template "errors_and" "($7::text[])[width_bucket(m.receipt_id, $6::bigint[])]"}}
      FROM ({{template "closing_members" .}}) m
     CROSS JOIN LATERAL (SELECT * FROM {{.S}}.ready_entries_{{.Queue}} WHERE lane_id = m.lane_id AND lane_seq = m.lane_seq OFFSET 0) r
     WHERE NOT m.{{template "is_held"}}
    RETURNING 1
), dead AS (
    {{template "hold" .}}
      FROM (SELECT r.*, {{template "errors_and" "($7::text[])[width_bucket(r.receipt_id, $6::bigint[])]"}} AS all_errors
              FROM ({{template "closing_with_body" .}}) r WHERE {{template "is_held"}}) r
    RETURNING 1
)
SELECT c.place, c.closing::text, '{}', CASE WHEN {{template "is_held"}} THEN c.closing ELSE '{}' END::text,
       (SELECT count(*) FROM history) + (SELECT count(*) FROM dead), {{template "has_state" .}}
  FROM closing c
{{end}}
