{{/* The jobs of a page, each once, as "job" would tell of it: one statement in which every table stands by name, so that all
     that it reads is of one moment (P9). $1: ids, or null for all; $2 and $3: the ids between which it looks, both left out;
     $4: queue, $5: kind, $6: states, each null for any; $7: the lowest id first; $8: how many.

     The newest ready row of a job tells where it is, unless the job has a row of its own elsewhere. */}}
{{define "list_jobs"}}
/* awa:ListJobs */
WITH newest AS MATERIALIZED (
    SELECT DISTINCT ON (r.job_id) r.* FROM {{.S}}.ready_entries r
     WHERE r.job_id > $2::bigint AND r.job_id < $3::bigint AND ($1::bigint[] IS NULL OR r.job_id = ANY ($1::bigint[]))
     ORDER BY r.job_id, r.run_lease DESC
), elsewhere AS MATERIALIZED (
    SELECT d.job_id, d.state, d.lane_id, d.kind, d.args, d.max_attempts, d.created_at, d.run_lease, d.attempt, coalesce(d.errors, '[]') AS errors,
           NULL::timestamptz AS finalized_at, d.run_at
      FROM {{.S}}.deferred_jobs d
     UNION ALL
    SELECT w.job_id, w.state, w.lane_id, w.kind, w.args, w.max_attempts, w.created_at, w.run_lease, w.attempt, w.errors, w.finalized_at, w.run_at
      FROM {{.S}}.done_entries w WHERE w.kind IS NOT NULL
     UNION ALL
    SELECT h.job_id, 'dlq', h.lane_id, h.kind, h.args, h.max_attempts, h.created_at, h.run_lease, h.attempt, h.errors, h.finalized_at, NULL
      FROM {{.S}}.dlq_entries h
), ringed AS MATERIALIZED (
    SELECT n.job_id,
           CASE WHEN e.batch_id IS NULL THEN 'available' WHEN c.completed_at IS NOT NULL THEN 'completed' ELSE coalesce(d.state, 'running') END AS state,
           n.lane_id, n.kind, n.args, n.max_attempts, n.created_at,
           coalesce(d.run_lease, n.run_lease + (e.batch_id IS NOT NULL)::integer) AS run_lease,
           coalesce(d.attempt, n.attempt + (e.batch_id IS NOT NULL)::integer) AS attempt,
           coalesce(d.errors, n.errors, '[]') AS errors, coalesce(c.completed_at, d.finalized_at) AS finalized_at,
           k.claimed_at, k.deadline_at, e.batch_id IS NULL OR c.completed_at IS NOT NULL OR d.state IS NOT NULL OR k.claimed_at IS NOT NULL AS known
      FROM newest n
      LEFT JOIN LATERAL (
           SELECT b.batch_id FROM {{.S}}.ready_claim_attempt_batches b
            WHERE b.ready_slot = n.ready_slot AND b.lane_id = n.lane_id AND b.lane_seqs @> n.lane_seq LIMIT 1) e ON true
      LEFT JOIN LATERAL (
           SELECT o.completed_at FROM {{.S}}.receipt_completion_batches o
            WHERE o.ready_slot = n.ready_slot AND o.lane_id = n.lane_id AND o.lane_seqs @> n.lane_seq
              AND NOT EXISTS (SELECT FROM {{.S}}.receipt_completion_tombstones t
                               WHERE t.ready_slot = n.ready_slot AND t.lane_id = n.lane_id AND t.lane_seq = n.lane_seq) LIMIT 1) c ON true
      LEFT JOIN {{.S}}.done_entries d ON d.ready_slot = n.ready_slot AND d.lane_id = n.lane_id AND d.lane_seq = n.lane_seq
      LEFT JOIN LATERAL (
           SELECT a.claimed_at, a.deadline_at FROM {{.S}}.lease_claim_batches a
            WHERE a.batch_id = e.batch_id
              AND NOT EXISTS (SELECT FROM {{.S}}.lease_claim_closure_batches x
                               WHERE x.batch_id = a.batch_id AND x.receipt_ranges @> (a.batch_id * 4096 + array_position(a.job_ids, n.job_id) - 1))
            UNION ALL
           SELECT a.claimed_at, a.deadline_at FROM {{.S}}.lease_claims a
            WHERE a.batch_id = e.batch_id AND NOT EXISTS (SELECT FROM {{.S}}.lease_claim_closures x WHERE x.receipt_id = a.batch_id * 4096)
            LIMIT 1) k ON true
), found AS (
    SELECT job_id, state, lane_id, kind, args, max_attempts, created_at, run_lease, attempt, errors, finalized_at, claimed_at, deadline_at, NULL::timestamptz AS run_at
      FROM ringed WHERE known AND job_id NOT IN (SELECT job_id FROM elsewhere)
     UNION ALL
    SELECT job_id, state, lane_id, kind, args, max_attempts, created_at, run_lease, attempt, errors, finalized_at, NULL, NULL, run_at
      FROM elsewhere WHERE job_id > $2::bigint AND job_id < $3::bigint AND ($1::bigint[] IS NULL OR job_id = ANY ($1::bigint[]))
), told AS (
    SELECT f.job_id, CASE WHEN w.job_id IS NULL THEN f.state ELSE 'waiting' END AS state, l.queue, l.priority, l.enqueue_shard, f.kind, f.args,
           f.run_lease, f.attempt, f.max_attempts, f.created_at, CASE WHEN f.state = 'running' THEN f.claimed_at END AS claimed_at,
           CASE WHEN f.state = 'running' THEN f.deadline_at END AS deadline_at, s.heartbeat_at, s.percent, s.message, s.metadata, s.callback,
           w.timeout_at, f.finalized_at, f.run_at, f.errors
      FROM found f JOIN {{.S}}.lanes l USING (lane_id)
      LEFT JOIN {{.S}}.attempt_state s ON f.state = 'running' AND s.job_id = f.job_id AND s.run_lease = f.run_lease
      LEFT JOIN {{.S}}.leases w ON f.state = 'running' AND w.job_id = f.job_id AND w.run_lease = f.run_lease
)
SELECT state, queue, priority, enqueue_shard, kind, args, run_lease, attempt, max_attempts, created_at, claimed_at, deadline_at, heartbeat_at, percent, message,
       metadata, callback, timeout_at, finalized_at, run_at, errors, job_id
  FROM told
 WHERE ($4::text IS NULL OR queue = $4::text) AND ($5::text IS NULL OR kind = $5::text) AND ($6::text[] IS NULL OR state = ANY ($6::text[]))
 ORDER BY CASE WHEN $7::boolean THEN job_id ELSE -job_id END
 LIMIT $8::integer
{{end}}
