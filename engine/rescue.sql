{{define "lock_claim_slot"}}
/* awa:Rescue */
SELECT slot FROM {{.S}}.claim_ring_slots WHERE slot = $1::smallint FOR UPDATE SKIP LOCKED
{{end}}

{{define "cutoff"}}
/* awa:Rescue */
SELECT coalesce($1::timestamptz, now()) - $2::interval
{{end}}

{{/* A sweep goes by claims' age or by their deadlines, through batches or through row-local claims: four sweeps, each with
     an index and a cursor of its own. */}}
{{define "sweep_time"}}{{if .Deadline}}deadline_at{{else}}claimed_at{{end}}{{end}}
{{define "sweep_cursor"}}{{if not .Local}}batch_{{end}}{{if .Deadline}}deadline{{else}}rescue{{end}}_cursor{{end}}

{{define "read_sweep_cursor"}}
/* awa:Rescue */
SELECT {{template "sweep_cursor" .}}_{{template "sweep_time" .}}, {{template "sweep_cursor" .}}_batch_id FROM {{.S}}.claim_ring_slots WHERE slot = $1::smallint
{{end}}

{{/* What a sweep has to say of the attempts of claim b. The sweep by age passes those with a sign of life that is newer than
     the cutoff, and those that are parked, who give none. A deadline asks for neither. The sweep of waits passes all but
     those that have timed out: a callback may have come since it found them (hazard 33). */}}
{{define "alive"}}
{{- if .Timeout}}
        - (b.receipt_ranges - coalesce((SELECT range_agg(int8range(w.receipt_id, w.receipt_id + 1)) FROM {{.S}}.leases w
                                         WHERE w.receipt_id >= b.batch_id * 4096 AND w.receipt_id <= b.batch_id * 4096 + 4095
                                           AND w.timeout_at <= $7::timestamptz), '{}'))
{{- else if not .Deadline}}
        - coalesce((SELECT range_agg(int8range(s.receipt_id, s.receipt_id + 1)) FROM {{.S}}.attempt_state s
                     WHERE s.receipt_id >= b.batch_id * 4096 AND s.receipt_id <= b.batch_id * 4096 + 4095
                       AND (s.heartbeat_at >= $7::timestamptz
                            OR s.leased AND EXISTS (SELECT FROM {{.S}}.leases w WHERE w.job_id = s.job_id AND w.run_lease = s.run_lease))), '{}')
{{- end}}{{end}}

{{/* The waits of a claim slot that have timed out, by claim. */}}
{{define "timeout_candidates"}}
/* awa:CallbackTimeout */
SELECT min(w.parked_at), w.receipt_id / 4096, w.ready_generation, range_agg(int8range(w.receipt_id, w.receipt_id + 1))::text
  FROM {{.S}}.leases w
 WHERE w.timeout_at <= $3::timestamptz AND w.claim_generation = $1::bigint AND {{if not .Local}}NOT {{end}}w.local
 GROUP BY 2, 3
 ORDER BY 2
 LIMIT $2::integer
{{end}}

{{define "rescue_candidates"}}
/* awa:Rescue */
SELECT b.{{template "sweep_time" .}}, b.batch_id, b.ready_generation,
{{- if .Local}}
       (int8multirange(int8range(b.batch_id * 4096, b.batch_id * 4096 + 1))
        - coalesce((SELECT int8multirange(int8range(c.receipt_id, c.receipt_id + 1)) FROM {{.S}}.lease_claim_closures_{{.Claim}} c
                     WHERE c.receipt_id = b.batch_id * 4096), '{}'){{template "alive" .}})::text
  FROM {{.S}}.lease_claims_{{.Claim}} b
{{- else}}
       (b.receipt_ranges - coalesce((SELECT range_agg(c.receipt_ranges) FROM {{.S}}.lease_claim_closure_batches_{{.Claim}} c
                                      WHERE c.batch_id = b.batch_id), '{}'){{template "alive" .}})::text
  FROM {{.S}}.lease_claim_batches_{{.Claim}} b
{{- end}}
 WHERE b.claim_generation = $1::bigint{{if .Deadline}} AND b.deadline_at IS NOT NULL{{end}}
   AND (b.{{template "sweep_time" .}}, b.batch_id + 0) > ($2::timestamptz, $3::bigint)
   AND (b.{{template "sweep_time" .}}, b.batch_id + 0) < ($4::timestamptz, $5::bigint)
 ORDER BY b.{{template "sweep_time" .}}, b.batch_id + 0
 LIMIT $6::integer
{{end}}

{{/* Closes the attempts and routes their jobs on: back to the end of the lane in the current slot; or, when no attempt is left,
     to a failed row in the old slot, or to the DLQ if the queue says so. */}}
{{define "rescue"}}
/* awa:Rescue */
{{template "open_receipts" .}}, {{template "held_lanes" .}}, current AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $6::bigint AND $7::timestamptz IS NOT NULL AS ok
), now_closing AS MATERIALIZED (
    SELECT * FROM closing WHERE (SELECT ok FROM current)
), closures AS (
    {{template "close_as" .}}, $9::text{{template "closed_range" .}} FROM now_closing
), members AS MATERIALIZED (
    {{template "closing_members" .}}
), old AS MATERIALIZED (
    SELECT r.*, m.run_lease AS closed_lease, m.receipt_id, n.{{template "sweep_time" .}} AS swept_at,
           {{template "errors_and" "$8::text"}} AS all_errors
      FROM members m
      JOIN now_closing n USING (batch_id)
     CROSS JOIN LATERAL ({{range $i, $slot := .Slots}}{{if $i}}
           UNION ALL{{end}}
           SELECT e.* FROM {{$.S}}.ready_entries_{{$slot}} e
            WHERE m.ready_slot = {{$slot}} AND e.lane_id = m.lane_id AND e.lane_seq = m.lane_seq{{end}}
           OFFSET 0) r
), requeued AS (
    INSERT INTO {{.S}}.ready_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, max_attempts, created_at, kind, args, errors,
            time_limit, available_at)
    SELECT {{.Queue}}, $6::bigint, o.lane_id, nextval(o.seq), o.job_id, o.closed_lease, o.attempt + 1, o.max_attempts, o.created_at,
           o.kind, o.args, o.all_errors, o.time_limit, coalesce($5::timestamptz, statement_timestamp())
      FROM (SELECT old.*, l.seq FROM old JOIN {{.S}}.lanes l USING (lane_id)
             WHERE old.attempt + 1 < old.max_attempts
             ORDER BY {{if not .Timeout}}old.swept_at, {{end}}old.receipt_id) o
    RETURNING 1
){{range .Slots}}, failed_{{.}} AS (
    INSERT INTO {{$.S}}.done_entries_{{.}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors)
    SELECT ready_slot, ready_generation, lane_id, lane_seq, job_id, closed_lease, attempt + 1, 'failed',
           coalesce($5::timestamptz, statement_timestamp()), all_errors
      FROM old WHERE ready_slot = {{.}} AND attempt + 1 >= max_attempts AND NOT {{template "is_held"}}
    RETURNING 1
){{end}}, dead AS (
    {{template "hold" .}}
      FROM old r WHERE attempt + 1 >= max_attempts AND {{template "is_held"}}
    RETURNING 1
)
SELECT c.ok, coalesce(n.batch_id, 0), coalesce(n.closing, '{}')::text, (SELECT count(*) FROM requeued),
       {{range $i, $slot := .Slots}}{{if $i}} + {{end}}(SELECT count(*) FROM failed_{{$slot}}){{end}}, (SELECT count(*) FROM dead)
  FROM current c LEFT JOIN now_closing n ON true
{{end}}

{{define "save_sweep_cursor"}}
/* awa:Rescue */
UPDATE {{.S}}.claim_ring_slots
   SET {{template "sweep_cursor" .}}_{{template "sweep_time" .}} = $2::timestamptz, {{template "sweep_cursor" .}}_batch_id = $3::bigint
 WHERE slot = $1::smallint
{{end}}
