{{define "set_dlq"}}
/* awa:SetDLQ */
UPDATE {{.S}}.queues SET dlq = $2::boolean WHERE queue = $1::text AND dlq <> $2::boolean
{{end}}

{{/* The failed rows of the keys in $2 to $6 are taken out as RetryFailed does, each under its whole key; only those that were
     there are held (B98). A row that a prune has carried on, or somebody else has taken, isn't there any more. */}}
{{define "move_to_dlq"}}
/* awa:MoveToDLQ */
WITH guard AS MATERIALIZED (
    SELECT true AS ok -- nothing is written into a ring
), {{template "take_failed" .}}, moved AS (
    INSERT INTO {{.S}}.dlq_entries (job_id, run_lease, lane_id, attempt, dlq_at, finalized_at, errors, {{template "body_columns"}})
    SELECT job_id, run_lease, lane_id, attempt, coalesce($1::timestamptz, statement_timestamp()), finalized_at, errors, {{template "body_columns"}}
      FROM taken
    RETURNING job_id
)
SELECT coalesce(array_agg(job_id ORDER BY job_id), '{}') FROM moved
{{end}}

{{define "held_of_queue"}}
/* awa:RetryFromDLQ */
SELECT d.job_id, d.run_lease FROM {{.S}}.dlq_entries d
 WHERE d.lane_id IN (SELECT lane_id FROM {{.S}}.lanes WHERE queue = $1::text)
 ORDER BY d.job_id LIMIT $2::integer
{{end}}

{{define "held_of_kind"}}
/* awa:RetryFromDLQ */
SELECT d.job_id, d.run_lease FROM {{.S}}.dlq_entries d WHERE d.kind = $1::text ORDER BY d.job_id LIMIT $2::integer
{{end}}

{{define "held_of_ids"}}
/* awa:RetryFromDLQ */
SELECT d.job_id, d.run_lease FROM {{.S}}.dlq_entries d WHERE d.job_id = ANY ($1::bigint[]) ORDER BY d.job_id LIMIT $2::integer
{{end}}

{{/* Rows are locked in the order of jobs before any is deleted, and what somebody else holds is passed over: two of these, or
     one beside a purge, never wait for each other (hazard 21). The run lease tells a job that has come back since from the one
     that was found. A job whose attempts are used up gets one more: no ready row is without (P3). */}}
{{define "retry_from_dlq"}}
/* awa:RetryFromDLQ */
WITH guard AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint AS ok
), locked AS MATERIALIZED (
    SELECT d.job_id
      FROM {{.S}}.dlq_entries d
     WHERE d.job_id = ANY ($2::bigint[]) AND d.run_lease = ($3::bigint[])[array_position($2::bigint[], d.job_id)] AND (SELECT ok FROM guard)
     ORDER BY d.job_id
       FOR UPDATE OF d SKIP LOCKED
), taken AS (
    DELETE FROM {{.S}}.dlq_entries d USING locked k WHERE d.job_id = k.job_id RETURNING d.*
), placed AS (
    INSERT INTO {{.S}}.ready_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, errors, created_at, max_attempts, kind, args, time_limit,
            available_at)
    SELECT {{.Queue}}, $1::bigint, o.lane_id, nextval(o.seq), o.job_id, o.run_lease, o.attempt, o.errors,
           o.created_at, greatest(o.max_attempts, o.attempt + 1), o.kind, o.args, o.time_limit, coalesce($4::timestamptz, statement_timestamp())
      FROM (SELECT t.*, l.seq FROM taken t JOIN {{.S}}.lanes l USING (lane_id) ORDER BY t.job_id) o
    RETURNING job_id
)
SELECT (SELECT ok FROM guard), (SELECT coalesce(array_agg(job_id ORDER BY job_id), '{}') FROM placed)
{{end}}

{{/* Asked once for a whole call, however many transactions it takes (hazard 29). */}}
{{define "purge_cutoff"}}
/* awa:PurgeDLQ */
SELECT coalesce($1::timestamptz, now()) - $2::interval
{{end}}

{{/* What is purged is said in the current slot, which is truncated no sooner than that of any ready row of the job. */}}
{{define "purge_chosen"}}
), gone AS (
    DELETE FROM {{.S}}.dlq_entries d USING chosen c WHERE d.job_id = c.job_id RETURNING d.job_id, d.lane_id
), said AS (
    INSERT INTO {{.S}}.receipt_completion_tombstones_{{.Queue}} (ready_slot, ready_generation, lane_id, job_id)
    SELECT {{.Queue}}, $1::bigint, lane_id, job_id FROM gone
    RETURNING job_id
)
SELECT (SELECT ok FROM guard), (SELECT coalesce(array_agg(job_id ORDER BY job_id), '{}') FROM said)
{{end}}

{{define "purge_old"}}
/* awa:PurgeDLQ */
WITH guard AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint AS ok
), chosen AS MATERIALIZED (
    SELECT job_id FROM {{.S}}.dlq_entries WHERE dlq_at < $2::timestamptz AND (SELECT ok FROM guard)
     ORDER BY dlq_at, job_id LIMIT $3::integer FOR UPDATE SKIP LOCKED
{{template "purge_chosen" .}}
{{end}}

{{define "purge_ids"}}
/* awa:PurgeDLQ */
WITH guard AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint AS ok
), chosen AS MATERIALIZED (
    SELECT job_id FROM {{.S}}.dlq_entries WHERE job_id = ANY ($2::bigint[]) AND (SELECT ok FROM guard)
     ORDER BY job_id LIMIT $3::integer FOR UPDATE SKIP LOCKED
{{template "purge_chosen" .}}
{{end}}
