{{/* The newest ready row of the job tells where it is: every attempt but the newest was closed and routed on. A deferred
     job, one with a wide end and one in the DLQ have none, or only rows of attempts before. A row that was handed out, and
     whose attempt is neither open nor ended, is all that is left of a job whose end was removed. */}}
{{define "job"}}
/* awa:Job */
WITH newest AS MATERIALIZED (
    SELECT r.* FROM {{.S}}.ready_entries r WHERE r.job_id = $1::bigint ORDER BY r.run_lease DESC LIMIT 1
), evidence AS MATERIALIZED (
    SELECT b.batch_id
      FROM newest n JOIN {{.S}}.ready_claim_attempt_batches b
        ON b.ready_slot = n.ready_slot AND b.lane_id = n.lane_id AND b.lane_seqs @> n.lane_seq
), claim AS MATERIALIZED (
    SELECT c.claimed_at, c.deadline_at FROM {{.S}}.lease_claim_batches c
     WHERE c.batch_id = (SELECT batch_id FROM evidence)
       AND NOT EXISTS (SELECT FROM {{.S}}.lease_claim_closure_batches x
                        WHERE x.batch_id = c.batch_id AND x.receipt_ranges @> (c.batch_id * 4096 + array_position(c.job_ids, $1::bigint) - 1))
     UNION ALL
    SELECT c.claimed_at, c.deadline_at FROM {{.S}}.lease_claims c
     WHERE c.batch_id = (SELECT batch_id FROM evidence)
       AND NOT EXISTS (SELECT FROM {{.S}}.lease_claim_closures x WHERE x.receipt_id = c.batch_id * 4096)
), completion AS MATERIALIZED (
    SELECT c.completed_at
      FROM newest n JOIN {{.S}}.receipt_completion_batches c
        ON c.ready_slot = n.ready_slot AND c.lane_id = n.lane_id AND c.lane_seqs @> n.lane_seq
     WHERE NOT EXISTS (SELECT FROM {{.S}}.receipt_completion_tombstones t
                        WHERE t.ready_slot = n.ready_slot AND t.lane_id = n.lane_id AND t.lane_seq = n.lane_seq)
), done AS MATERIALIZED (
    SELECT d.state, d.finalized_at, d.errors, d.run_lease, d.attempt
      FROM newest n JOIN {{.S}}.done_entries d
        ON d.ready_slot = n.ready_slot AND d.lane_id = n.lane_id AND d.lane_seq = n.lane_seq
), wide AS MATERIALIZED (
    SELECT * FROM {{.S}}.done_entries WHERE job_id = $1::bigint AND kind IS NOT NULL
), held AS MATERIALIZED (
    SELECT * FROM {{.S}}.dlq_entries WHERE job_id = $1::bigint
), found AS (
    SELECT CASE WHEN (SELECT count(*) FROM evidence) = 0 THEN 'available'
                WHEN (SELECT count(*) FROM completion) > 0 THEN 'completed'
                ELSE coalesce((SELECT state FROM done), 'running') END AS state,
           n.lane_id, n.kind, n.args, n.max_attempts, n.created_at,
           coalesce((SELECT run_lease FROM done), n.run_lease + (SELECT count(*) FROM evidence)) AS run_lease,
           coalesce((SELECT attempt FROM done), n.attempt + (SELECT count(*) FROM evidence)) AS attempt,
           coalesce((SELECT errors FROM done), n.errors, '[]') AS errors,
           coalesce((SELECT completed_at FROM completion), (SELECT finalized_at FROM done)) AS finalized_at,
           (SELECT claimed_at FROM claim) AS claimed_at, (SELECT deadline_at FROM claim) AS deadline_at,
           NULL::timestamptz AS run_at
      FROM newest n
     WHERE NOT EXISTS (SELECT FROM {{.S}}.deferred_jobs WHERE job_id = $1::bigint) AND NOT EXISTS (SELECT FROM wide)
       AND NOT EXISTS (SELECT FROM held)
       AND (NOT EXISTS (SELECT FROM evidence) OR EXISTS (SELECT FROM claim) OR EXISTS (SELECT FROM completion) OR EXISTS (SELECT FROM done))
     UNION ALL
    SELECT w.state, w.lane_id, w.kind, w.args, w.max_attempts, w.created_at, w.run_lease, w.attempt, w.errors, w.finalized_at, NULL, NULL, w.run_at FROM wide w
     UNION ALL
    SELECT 'dlq', h.lane_id, h.kind, h.args, h.max_attempts, h.created_at, h.run_lease, h.attempt, h.errors, h.finalized_at, NULL, NULL, NULL FROM held h
     UNION ALL
    SELECT d.state, d.lane_id, d.kind, d.args, d.max_attempts, d.created_at, d.run_lease, d.attempt, coalesce(d.errors, '[]'), NULL, NULL, NULL, d.run_at
      FROM {{.S}}.deferred_jobs d WHERE d.job_id = $1::bigint
)
SELECT CASE WHEN w.job_id IS NULL THEN f.state ELSE 'waiting' END, l.queue, l.priority, l.enqueue_shard, f.kind, f.args, f.run_lease, f.attempt, f.max_attempts, f.created_at,
       CASE WHEN f.state = 'running' THEN f.claimed_at END, CASE WHEN f.state = 'running' THEN f.deadline_at END, s.heartbeat_at, s.percent, s.message, s.metadata, s.callback, w.timeout_at, f.finalized_at, f.run_at, f.errors
  FROM found f JOIN {{.S}}.lanes l USING (lane_id)
  LEFT JOIN {{.S}}.attempt_state s ON f.state = 'running' AND s.job_id = $1::bigint AND s.run_lease = f.run_lease
  LEFT JOIN {{.S}}.leases w ON f.state = 'running' AND w.job_id = $1::bigint AND w.run_lease = f.run_lease
{{end}}
