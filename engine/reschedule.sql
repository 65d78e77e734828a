{{/* The attempts that are being closed, each with its ready row. */}}
{{define "closing_with_body"}}
    SELECT r.*, m.batch_id, m.receipt_id, m.run_lease AS closed_lease
      FROM ({{template "closing_members" .}}) m
     CROSS JOIN LATERAL (SELECT * FROM {{.S}}.ready_entries_{{.Queue}} WHERE lane_id = m.lane_id AND lane_seq = m.lane_seq OFFSET 0) r
{{end}}

{{/* An attempt that has used up the job's last try fails it: max_attempts stands in the ready row, so that nothing that the
     caller says can pass it. The closures of a batch are then two rows, one for each outcome, of receipts that don't meet.
     $8 are delays in microseconds; 0 stands for the backoff: a second, twice as long after each try, an hour at most. The
     exponent is bounded before the power is taken (hazard 29). */}}
{{define "retry"}}
/* awa:Retry */
{{template "open_members" .}}, {{template "held_lanes" .}}, old AS MATERIALIZED (
    SELECT r.*, r.attempt + 1 >= r.max_attempts AS used_up, ($8::bigint[])[width_bucket(r.receipt_id, $6::bigint[])] AS delay,
           {{template "errors_and" "($7::text[])[width_bucket(r.receipt_id, $6::bigint[])]"}} AS all_errors
      FROM ({{template "closing_with_body" .}}) r
), sides AS MATERIALIZED (
    SELECT c.claim_slot, c.claim_generation, c.batch_id, c.ready_slot, c.ready_generation, c.lane_id, s.used_up, s.receipts AS closing
      FROM (SELECT batch_id, used_up, range_agg(int8range(receipt_id, receipt_id + 1)) AS receipts FROM old GROUP BY batch_id, used_up) s
     CROSS JOIN LATERAL (SELECT * FROM closing WHERE closing.batch_id = s.batch_id LIMIT 1) c -- a batch asked for in two rounds is closed once
), closures AS (
    {{template "close_as" .}}, CASE WHEN NOT used_up THEN 'retried' WHEN {{template "is_held"}} THEN 'dlq' ELSE 'failed' END{{template "closed_range" .}} FROM sides
), waiting AS (
    INSERT INTO {{.S}}.deferred_jobs (job_id, run_lease, run_at, lane_id, attempt, state, errors, {{template "body_columns"}})
    SELECT job_id, closed_lease,
           coalesce($5::timestamptz, statement_timestamp())
           + CASE WHEN delay > 0 THEN delay * interval '1 microsecond'
                  ELSE least((1 << least(attempt, 12)) * interval '1 second', interval '1 hour') END,
           lane_id, attempt + 1, 'retryable', all_errors, {{template "body_columns"}}
      FROM old WHERE NOT used_up
    RETURNING 1
), failed AS (
    INSERT INTO {{.S}}.done_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors)
    SELECT ready_slot, ready_generation, lane_id, lane_seq, job_id, closed_lease, attempt + 1, 'failed',
           coalesce($5::timestamptz, statement_timestamp()), all_errors
      FROM old WHERE used_up AND NOT {{template "is_held"}}
    RETURNING 1
), dead AS (
    {{template "hold" .}}
      FROM old r WHERE used_up AND {{template "is_held"}}
    RETURNING 1
)
SELECT c.place, c.closing::text, CASE WHEN h.held THEN '{}' ELSE h.used_up END::text, CASE WHEN h.held THEN h.used_up ELSE '{}' END::text,
       (SELECT count(*) FROM waiting) + (SELECT count(*) FROM failed) + (SELECT count(*) FROM dead), {{template "has_state" .}}
  FROM closing c
 CROSS JOIN LATERAL (SELECT {{template "is_held"}} AS held,
                            coalesce((SELECT s.closing FROM sides s WHERE s.batch_id = c.batch_id AND s.used_up), '{}') AS used_up) h
{{end}}

{{/* The attempt is given back: the row that waits says what the ready row said, but for run_lease, which never falls. $7 are
     delays in microseconds. */}}
{{define "snooze"}}
/* awa:Snooze */
{{template "open_members" .}}, closures AS (
    {{template "close_as" .}}, 'snoozed'{{template "closed_range" .}} FROM closing
), history AS (
    INSERT INTO {{.S}}.deferred_jobs (job_id, run_lease, run_at, lane_id, attempt, state, errors, {{template "body_columns"}})
    SELECT job_id, closed_lease,
           coalesce($5::timestamptz, statement_timestamp()) + ($7::bigint[])[width_bucket(receipt_id, $6::bigint[])] * interval '1 microsecond',
           lane_id, attempt, 'scheduled', errors, {{template "body_columns"}}
      FROM ({{template "closing_with_body" .}}) r
    RETURNING 1 AS n
)
{{template "closed" .}}
{{end}}
