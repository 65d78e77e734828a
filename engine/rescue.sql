{{define "lock_claim_slot"}}
/* awa:RescueStale */
SELECT slot FROM {{.S}}.claim_ring_slots WHERE slot = $1::smallint FOR UPDATE SKIP LOCKED
{{end}}

{{define "cutoff"}}
/* awa:RescueStale */
SELECT coalesce($1::timestamptz, now()) - $2::interval
{{end}}

{{define "read_rescue_cursor"}}
/* awa:RescueStale */
SELECT rescue_cursor_claimed_at, rescue_cursor_batch_id FROM {{.S}}.claim_ring_slots WHERE slot = $1::smallint
{{end}}

{{define "rescue_candidates"}}
/* awa:RescueStale */
SELECT b.claimed_at, b.batch_id, b.ready_generation,
       (b.receipt_ranges - coalesce((SELECT range_agg(c.receipt_ranges) FROM {{.S}}.lease_claim_closure_batches_{{.Claim}} c
                                      WHERE c.batch_id = b.batch_id), '{}'))::text
  FROM {{.S}}.lease_claim_batches_{{.Claim}} b
 WHERE b.claim_generation = $1::bigint
   AND (b.claimed_at, b.batch_id + 0) > ($2::timestamptz, $3::bigint)
   AND (b.claimed_at, b.batch_id + 0) < ($4::timestamptz, $5::bigint)
 ORDER BY b.claimed_at, b.batch_id + 0
 LIMIT $6::integer
{{end}}

{{/* Closes the attempts and routes their jobs on: back to the end of the lane in the current slot, or to a failed row in
     the old slot when no attempt is left. */}}
{{define "rescue"}}
/* awa:RescueStale */
{{template "open_members" .}}, current AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $6::bigint AS ok
), now_closing AS MATERIALIZED (
    SELECT * FROM closing WHERE (SELECT ok FROM current)
), closures AS (
    {{template "close_as" .}}, 'rescued', closing FROM now_closing
), members AS MATERIALIZED (
    {{template "closing_members" .}}
), old AS MATERIALIZED (
    SELECT r.*, m.run_lease AS closed_lease, m.receipt_id, n.claimed_at,
           {{template "errors_and" "$7::text"}} AS all_errors
      FROM members m
      JOIN now_closing n USING (batch_id)
     CROSS JOIN LATERAL ({{range $i, $slot := .Slots}}{{if $i}}
           UNION ALL{{end}}
           SELECT e.* FROM {{$.S}}.ready_entries_{{$slot}} e
            WHERE m.ready_slot = {{$slot}} AND e.lane_id = m.lane_id AND e.lane_seq = m.lane_seq{{end}}
           OFFSET 0) r
), requeued AS (
    INSERT INTO {{.S}}.ready_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, max_attempts, created_at, kind, args, errors)
    SELECT {{.Queue}}, $6::bigint, o.lane_id, nextval(o.seq), o.job_id, o.closed_lease, o.attempt + 1, o.max_attempts, o.created_at,
           o.kind, o.args, o.all_errors
      FROM (SELECT old.*, l.seq FROM old JOIN {{.S}}.lanes l USING (lane_id)
             WHERE old.attempt + 1 < old.max_attempts
             ORDER BY old.claimed_at, old.receipt_id) o
    RETURNING 1
){{range .Slots}}, failed_{{.}} AS (
    INSERT INTO {{$.S}}.done_entries_{{.}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors)
    SELECT ready_slot, ready_generation, lane_id, lane_seq, job_id, closed_lease, attempt + 1, 'failed',
           coalesce($5::timestamptz, statement_timestamp()), all_errors
      FROM old WHERE ready_slot = {{.}} AND attempt + 1 >= max_attempts
    RETURNING 1
){{end}}
SELECT c.ok, coalesce(n.batch_id, 0), coalesce(n.closing, '{}')::text, (SELECT count(*) FROM requeued),
       {{range $i, $slot := .Slots}}{{if $i}} + {{end}}(SELECT count(*) FROM failed_{{$slot}}){{end}}
  FROM current c LEFT JOIN now_closing n ON true
{{end}}

{{define "save_rescue_cursor"}}
/* awa:RescueStale */
UPDATE {{.S}}.claim_ring_slots SET rescue_cursor_claimed_at = $2::timestamptz, rescue_cursor_batch_id = $3::bigint WHERE slot = $1::smallint
{{end}}
