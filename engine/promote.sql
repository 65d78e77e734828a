{{/* The due rows are chosen and locked once: a LIMIT inside an inlined sub-select may be run again by a nested loop and
     take more rows than it says. */}}
{{define "promote"}}
/* awa:Promote */
WITH guard AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint AS ok
), due AS MATERIALIZED (
    SELECT d.job_id
      FROM {{.S}}.deferred_jobs d
     WHERE (SELECT ok FROM guard) AND d.run_at <= coalesce($2::timestamptz, now())
     ORDER BY d.run_at, d.job_id
     LIMIT $3::integer
       FOR UPDATE SKIP LOCKED
), taken AS (
    DELETE FROM {{.S}}.deferred_jobs d USING due WHERE d.job_id = due.job_id RETURNING d.*
), placed AS (
    INSERT INTO {{.S}}.ready_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, max_attempts, created_at, kind, args, errors, time_limit, available_at)
    SELECT {{.Queue}}, $1::bigint, o.lane_id, nextval(o.seq), o.job_id, o.run_lease, o.attempt, o.max_attempts, o.created_at, o.kind, o.args, o.errors, o.time_limit,
           coalesce($2::timestamptz, now())
      FROM (SELECT t.*, l.seq FROM taken t JOIN {{.S}}.lanes l USING (lane_id) ORDER BY t.run_at, t.job_id) o
    RETURNING 1
)
SELECT (SELECT ok FROM guard), (SELECT count(*) FROM placed)
{{end}}
