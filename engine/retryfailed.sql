{{/* What a choice of failed jobs finds, before anything is locked: the full keys of their rows, lowest job first. */}}
{{define "failed_keys"}}d.ready_slot, d.ready_generation, d.lane_id, d.lane_seq, d.job_id{{end}}

{{define "failed_of_queue"}}
/* awa:RetryFailed */
SELECT {{template "failed_keys"}} FROM {{.S}}.done_entries d
 WHERE d.state = 'failed' AND d.lane_id IN (SELECT lane_id FROM {{.S}}.lanes WHERE queue = $1::text)
 ORDER BY d.job_id LIMIT $2::integer
{{end}}

{{define "failed_of_kind"}}
/* awa:RetryFailed */
SELECT {{template "failed_keys"}} FROM {{.S}}.done_entries d
  LEFT JOIN {{.S}}.ready_entries r ON d.kind IS NULL AND r.ready_slot = d.ready_slot AND r.lane_id = d.lane_id AND r.lane_seq = d.lane_seq
 WHERE d.state = 'failed' AND coalesce(d.kind, r.kind) = $1::text
 ORDER BY d.job_id LIMIT $2::integer
{{end}}

{{define "failed_of_ids"}}
/* awa:RetryFailed */
SELECT {{template "failed_keys"}} FROM {{.S}}.done_entries d
 WHERE d.state = 'failed' AND d.job_id = ANY ($1::bigint[])
 ORDER BY d.job_id LIMIT $2::integer
{{end}}

{{/* The rows of the keys in $2 to $6 are taken out, each under its whole key: one that was retried, carried or pruned since
     it was found isn't there any more, and nothing is done for it (hazard 11). Their bodies come from the same slots. */}}
{{define "take_failed"}}
asked AS MATERIALIZED (
    SELECT * FROM unnest($2::smallint[], $3::bigint[], $4::integer[], $5::bigint[], $6::bigint[])
               AS a(ready_slot, ready_generation, lane_id, lane_seq, job_id)
){{range .Slots}}, taken_{{.}} AS (
    DELETE FROM {{$.S}}.done_entries_{{.}} d USING asked a
     WHERE a.ready_slot = {{.}} AND d.lane_id = a.lane_id AND d.lane_seq = a.lane_seq
       AND d.ready_generation = a.ready_generation AND d.job_id = a.job_id AND d.state = 'failed' AND (SELECT ok FROM guard)
    RETURNING d.*
){{end}}, taken AS MATERIALIZED ({{range $i, $slot := .Slots}}{{if $i}}
    UNION ALL{{end}}
    SELECT d.lane_id, d.job_id, d.run_lease, d.attempt, d.finalized_at, d.errors, d.run_at, d.body_created_at AS created_at,
           d.body_max_attempts AS max_attempts, d.body_kind AS kind, d.body_args AS args, d.body_time_limit AS time_limit
      FROM (SELECT d.*, b.*
              FROM taken_{{$slot}} d
              LEFT JOIN LATERAL (SELECT * FROM {{$.S}}.ready_entries_{{$slot}} WHERE lane_id = d.lane_id AND lane_seq = d.lane_seq AND d.kind IS NULL OFFSET 0) r ON true
             CROSS JOIN LATERAL (SELECT {{template "hydrated_body"}}) AS b(body_created_at, body_max_attempts, body_kind, body_args, body_time_limit)) d{{end}}
)
{{end}}

{{/* A job whose attempts are used up gets one more: no ready row is without (P3). */}}
{{define "retry_failed"}}
/* awa:RetryFailed */
WITH guard AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint AS ok
), {{template "take_failed" .}}, placed AS (
    INSERT INTO {{.S}}.ready_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, errors, created_at, max_attempts, kind, args, time_limit,
            available_at)
    SELECT {{.Queue}}, $1::bigint, o.lane_id, nextval(o.seq), o.job_id, o.run_lease, o.attempt, o.errors,
           o.created_at, greatest(o.max_attempts, o.attempt + 1), o.kind, o.args, o.time_limit, coalesce($7::timestamptz, statement_timestamp())
      FROM (SELECT t.*, l.seq FROM taken t JOIN {{.S}}.lanes l USING (lane_id) ORDER BY t.job_id) o
    RETURNING job_id
)
SELECT (SELECT ok FROM guard), (SELECT coalesce(array_agg(job_id ORDER BY job_id), '{}') FROM placed)
{{end}}

{{define "pruned_failed"}}
/* awa:RetryFailed */
SELECT coalesce((SELECT pruned_failed_count FROM {{.S}}.queue_terminal_rollups WHERE queue = $1::text), 0)
{{end}}
