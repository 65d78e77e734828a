{{/* How far the next $4 jobs reach between the ids $1 and $2, both left out; $3: the lowest id first. Null when there are
     none. */}}
{{define "list_window"}}
/* awa:ListJobs */
SELECT CASE WHEN $3::boolean THEN max(w.job_id) ELSE min(w.job_id) END, count(*)
  FROM (SELECT DISTINCT i.job_id, CASE WHEN $3::boolean THEN i.job_id ELSE -i.job_id END AS place
          FROM (SELECT job_id FROM {{.S}}.ready_entries UNION ALL SELECT job_id FROM {{.S}}.deferred_jobs
                UNION ALL SELECT job_id FROM {{.S}}.done_entries UNION ALL SELECT job_id FROM {{.S}}.dlq_entries) i
         WHERE i.job_id > $1::bigint AND i.job_id < $2::bigint
         ORDER BY place LIMIT $4::bigint) w
{{end}}

{{/* The jobs of a page, each once, as "job" would tell of it: one statement in which every table stands by name, so that all
     that it reads is of one moment (P9). $1: ids, or null for all; $2 and $3: the ids between which it looks, both left out;
     $4: queue, $5: kind, $6: states, each null for any; $7: the lowest id first; $8: how many.

     The newest ready row of a job tells where it is, unless the job has a row of its own elsewhere. What batches hold is spread into
     a row for each position and put beside the ready rows by sorting: to look every job up in them would take its square.
     Bodies are read for the page alone. */}}
{{define "list_jobs"}}
/* awa:ListJobs */
WITH newest AS MATERIALIZED (
    SELECT DISTINCT ON (r.job_id) r.job_id, r.run_lease, r.attempt, r.kind, r.ready_slot, r.lane_id, r.lane_seq
      FROM {{.S}}.ready_entries r
     WHERE r.job_id > $2::bigint AND r.job_id < $3::bigint AND ($1::bigint[] IS NULL OR r.job_id = ANY ($1::bigint[]))
     ORDER BY r.job_id, r.run_lease DESC
), spans AS MATERIALIZED (
    SELECT ready_slot, lane_id, int8multirange(int8range(min(lane_seq), max(lane_seq), '[]')) AS seqs FROM newest GROUP BY ready_slot, lane_id
), handed AS MATERIALIZED (
    SELECT b.ready_slot, b.lane_id, p.lane_seq, b.batch_id
      FROM {{.S}}.ready_claim_attempt_batches b JOIN spans ON spans.ready_slot = b.ready_slot AND spans.lane_id = b.lane_id AND spans.seqs && b.lane_seqs
     CROSS JOIN LATERAL unnest(b.lane_seqs) AS s CROSS JOIN LATERAL generate_series(lower(s), upper(s) - 1) AS p(lane_seq)
), succeeded AS MATERIALIZED (
    SELECT o.ready_slot, o.lane_id, p.lane_seq, o.completed_at
      FROM {{.S}}.receipt_completion_batches o JOIN spans ON spans.ready_slot = o.ready_slot AND spans.lane_id = o.lane_id AND spans.seqs && o.lane_seqs
     CROSS JOIN LATERAL unnest(o.lane_seqs) AS s CROSS JOIN LATERAL generate_series(lower(s), upper(s) - 1) AS p(lane_seq)
), elsewhere AS MATERIALIZED (
    SELECT e.* FROM (
        SELECT d.job_id, d.state, d.lane_id, d.kind, d.args, d.max_attempts, d.created_at, d.run_lease, d.attempt, coalesce(d.errors, '[]') AS errors,
               NULL::timestamptz AS finalized_at, d.run_at
          FROM {{.S}}.deferred_jobs d
         UNION ALL
        SELECT w.job_id, w.state, w.lane_id, w.kind, w.args, w.max_attempts, w.created_at, w.run_lease, w.attempt, w.errors, w.finalized_at, w.run_at
          FROM {{.S}}.done_entries w WHERE w.kind IS NOT NULL
         UNION ALL
        SELECT h.job_id, 'dlq', h.lane_id, h.kind, h.args, h.max_attempts, h.created_at, h.run_lease, h.attempt, h.errors, h.finalized_at, NULL
          FROM {{.S}}.dlq_entries h) e
     WHERE e.job_id > $2::bigint AND e.job_id < $3::bigint AND ($1::bigint[] IS NULL OR e.job_id = ANY ($1::bigint[]))
), ringed AS MATERIALIZED (
    SELECT n.job_id, n.ready_slot, n.lane_id, n.lane_seq, n.kind, e.batch_id,
           CASE WHEN e.batch_id IS NULL THEN 'available' WHEN c.completed_at IS NOT NULL AND t.job_id IS NULL THEN 'completed' ELSE coalesce(d.state, 'running') END AS state,
           coalesce(d.run_lease, n.run_lease + (e.batch_id IS NOT NULL)::integer) AS run_lease,
           coalesce(d.attempt, n.attempt + (e.batch_id IS NOT NULL)::integer) AS attempt, d.errors,
           coalesce(c.completed_at, d.finalized_at) AS finalized_at
      FROM newest n
      LEFT JOIN handed e ON e.ready_slot = n.ready_slot AND e.lane_id = n.lane_id AND e.lane_seq = n.lane_seq
      LEFT JOIN succeeded c ON c.ready_slot = n.ready_slot AND c.lane_id = n.lane_id AND c.lane_seq = n.lane_seq
      LEFT JOIN {{.S}}.receipt_completion_tombstones t ON t.ready_slot = n.ready_slot AND t.lane_id = n.lane_id AND t.lane_seq = n.lane_seq
      LEFT JOIN {{.S}}.done_entries d ON d.ready_slot = n.ready_slot AND d.lane_id = n.lane_id AND d.lane_seq = n.lane_seq
), found AS (
    SELECT r.job_id, r.state, r.lane_id, r.kind, NULL::jsonb AS args, NULL::integer AS max_attempts, NULL::timestamptz AS created_at, r.run_lease, r.attempt,
           r.errors, r.finalized_at, k.claimed_at, k.deadline_at, NULL::timestamptz AS run_at, r.ready_slot, r.lane_seq
      FROM ringed r
      LEFT JOIN LATERAL (
           SELECT a.claimed_at, a.deadline_at FROM {{.S}}.lease_claim_batches a
            WHERE r.state = 'running' AND a.batch_id = r.batch_id
              AND NOT EXISTS (SELECT FROM {{.S}}.lease_claim_closure_batches x
                               WHERE x.batch_id = a.batch_id AND x.receipt_ranges @> (a.batch_id * 4096 + array_position(a.job_ids, r.job_id) - 1))
            UNION ALL
           SELECT a.claimed_at, a.deadline_at FROM {{.S}}.lease_claims a
            WHERE r.state = 'running' AND a.batch_id = r.batch_id AND NOT EXISTS (SELECT FROM {{.S}}.lease_claim_closures x WHERE x.receipt_id = a.batch_id * 4096)
            LIMIT 1) k ON true
     WHERE (r.state <> 'running' OR k.claimed_at IS NOT NULL) AND NOT EXISTS (SELECT FROM elsewhere e WHERE e.job_id = r.job_id)
     UNION ALL
    SELECT job_id, state, lane_id, kind, args, max_attempts, created_at, run_lease, attempt, errors, finalized_at, NULL, NULL, run_at, NULL, NULL FROM elsewhere
), page AS MATERIALIZED (
    SELECT f.*, l.queue, l.priority, l.enqueue_shard, w.timeout_at, CASE WHEN w.job_id IS NULL THEN f.state ELSE 'waiting' END AS told
      FROM found f JOIN {{.S}}.lanes l USING (lane_id)
      LEFT JOIN {{.S}}.leases w ON f.state = 'running' AND w.job_id = f.job_id AND w.run_lease = f.run_lease
     WHERE ($4::text IS NULL OR l.queue = $4::text) AND ($5::text IS NULL OR f.kind = $5::text)
       AND ($6::text[] IS NULL OR CASE WHEN w.job_id IS NULL THEN f.state ELSE 'waiting' END = ANY ($6::text[]))
     ORDER BY CASE WHEN $7::boolean THEN f.job_id ELSE -f.job_id END
     LIMIT $8::integer
)
SELECT p.told, p.queue, p.priority, p.enqueue_shard, p.kind, coalesce(p.args, r.args), p.run_lease, p.attempt, coalesce(p.max_attempts, r.max_attempts), coalesce(p.created_at, r.created_at),
       CASE WHEN p.state = 'running' THEN p.claimed_at END, CASE WHEN p.state = 'running' THEN p.deadline_at END, s.heartbeat_at, s.percent, s.message, s.metadata,
       s.callback, p.timeout_at, p.finalized_at, p.run_at, coalesce(p.errors, r.errors, '[]'), p.job_id
  FROM page p
  LEFT JOIN LATERAL (SELECT * FROM {{.S}}.ready_entries WHERE ready_slot = p.ready_slot AND lane_id = p.lane_id AND lane_seq = p.lane_seq) r ON true
  LEFT JOIN {{.S}}.attempt_state s ON p.state = 'running' AND s.job_id = p.job_id AND s.run_lease = p.run_lease
 ORDER BY CASE WHEN $7::boolean THEN p.job_id ELSE -p.job_id END
{{end}}
