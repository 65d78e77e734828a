{{define "open_producer"}}
/* awa:Enqueue */
SELECT current_setting('transaction_isolation'), coalesce($1::timestamptz, now()),
       (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1),
       (SELECT version FROM {{.S}}.lanes_version)
{{end}}

{{define "lock_ready"}}
/* awa:Enqueue */
LOCK TABLE {{.S}}.ready_entries_{{.Queue}} IN ROW EXCLUSIVE MODE
{{end}}

{{/* Nothing is written, and no sequence touched, when the generation isn't current any more. */}}
{{define "insert_ready"}}
/* awa:Enqueue */
INSERT INTO {{.S}}.ready_entries_{{.Queue}}
       (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, max_attempts, created_at, kind, args, time_limit)
SELECT {{.Queue}}, $1::bigint, j.lane_id, nextval(j.seq::regclass),
       coalesce(nullif(j.job_id, 0), nextval('{{.S}}.job_id_seq')), 0, 0, j.max_attempts,
       coalesce($2::timestamptz, now()), j.kind, j.args::jsonb, j.time_limit
  FROM unnest($3::integer[], $4::oid[], $5::text[], $6::text[], $7::integer[], $8::interval[], $9::bigint[]) WITH ORDINALITY
       AS j(lane_id, seq, kind, args, max_attempts, time_limit, job_id, place)
 WHERE (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint
RETURNING job_id
{{end}}

{{/* Job ids and lane positions for a COPY, in the order of the jobs; none when the generation isn't current any more. */}}
{{define "take_positions"}}
/* awa:EnqueueMany */
SELECT coalesce($2::timestamptz, now()), coalesce(array_agg(taken.job_id), '{}'), coalesce(array_agg(taken.lane_seq), '{}')
  FROM (SELECT nextval('{{.S}}.job_id_seq') AS job_id, nextval(j.seq::regclass) AS lane_seq
          FROM unnest($3::oid[]) AS j(seq)
         WHERE (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint) taken
{{end}}

{{/* No ring is asked: a deferred job is in none. */}}
{{define "insert_deferred"}}
/* awa:Enqueue */
INSERT INTO {{.S}}.deferred_jobs (job_id, run_lease, run_at, created_at, lane_id, attempt, max_attempts, state, kind, args, time_limit)
SELECT coalesce(nullif(j.job_id, 0), nextval('{{.S}}.job_id_seq')), 0, j.run_at, $1::timestamptz, j.lane_id, 0, j.max_attempts, 'scheduled', j.kind, j.args::jsonb, j.time_limit
  FROM unnest($2::integer[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::interval[], $8::bigint[])
       AS j(lane_id, kind, args, max_attempts, run_at, time_limit, job_id)
RETURNING job_id
{{end}}
