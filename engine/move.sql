{{define "lock_moved"}}
/* awa:Move */
LOCK TABLE {{.S}}.ready_entries_{{.Queue}}, {{.S}}.ready_claim_attempt_batches_{{.Queue}}, {{.S}}.ready_tombstones_{{.Queue}} IN ROW EXCLUSIVE MODE
{{end}}

{{/* Positions that are still free under their lanes' locks are spent, as those of cancelled jobs are, each in its own slot; and
     their jobs get new ones, behind all that are in the lane, in the current generation: no row of a ring changes. A job that
     is in its lane already keeps its place. Nothing is written when the ring moved on: no slot that is left gets a new row. (That
     it couldn't be pruned either, before the older position is spent, is no reason to rely on it.)

     The new row has a run_lease of its own: of a job's rows the one with the highest tells where it is. No attempt is used up. */}}
{{define "move_available"}}
/* awa:Move */
WITH guard AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint AS ok
), asked AS MATERIALIZED (
    SELECT a.*, t.lane_id AS to_lane, t.seq
      FROM unnest($2::smallint[], $3::bigint[], $4::integer[], $5::bigint[], $6::bigint[]) WITH ORDINALITY
           AS a(ready_slot, ready_generation, lane_id, lane_seq, job_id, place)
      JOIN {{.S}}.lanes l USING (lane_id)
      JOIN {{.S}}.queues q ON q.queue = coalesce($7::text, l.queue)
      JOIN {{.S}}.lanes t ON t.queue = q.queue AND t.priority = coalesce($8::smallint, l.priority)
       AND t.enqueue_shard = CASE WHEN q.queue = l.queue THEN l.enqueue_shard ELSE l.enqueue_shard % q.shards END
), free AS MATERIALIZED ({{range $i, $slot := .Slots}}{{if $i}}
    UNION ALL{{end}}
    SELECT r.*, a.to_lane, a.seq, a.place
      FROM asked a
     CROSS JOIN LATERAL (SELECT * FROM {{$.S}}.ready_entries_{{$slot}} WHERE lane_id = a.lane_id AND lane_seq = a.lane_seq OFFSET 0) r
     WHERE a.ready_slot = {{$slot}} AND r.job_id = a.job_id AND r.ready_generation = a.ready_generation AND (SELECT ok FROM guard)
       AND NOT EXISTS (SELECT FROM {{$.S}}.queue_ring_prunes p WHERE p.generation = a.ready_generation)
       AND NOT EXISTS (SELECT FROM {{$.S}}.ready_claim_attempt_batches_{{$slot}} b WHERE b.lane_id = r.lane_id AND b.lane_seqs @> r.lane_seq){{end}}
), batches AS MATERIALIZED (
    SELECT nextval('{{.S}}.claim_batch_id_seq') AS batch_id, f.*
      FROM (SELECT ready_slot, ready_generation, lane_id, count(*) AS n, range_agg(int8range(lane_seq, lane_seq + 1)) AS positions
              FROM free WHERE to_lane <> lane_id GROUP BY ready_slot, ready_generation, lane_id) f
){{range .Slots}}, evidence_{{.}} AS (
    INSERT INTO {{$.S}}.ready_claim_attempt_batches_{{.}} (ready_slot, ready_generation, lane_id, batch_id, claimed_count, lane_seqs)
    SELECT ready_slot, ready_generation, lane_id, batch_id, n, positions FROM batches WHERE ready_slot = {{.}}
), tombstones_{{.}} AS (
    INSERT INTO {{$.S}}.ready_tombstones_{{.}} (ready_slot, ready_generation, lane_id, batch_id, tombstone_count, lane_seqs)
    SELECT ready_slot, ready_generation, lane_id, batch_id, n, positions FROM batches WHERE ready_slot = {{.}}
){{end}}, placed AS (
    INSERT INTO {{.S}}.ready_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, max_attempts, created_at, kind, args, errors, time_limit,
            available_at)
    SELECT {{.Queue}}, $1::bigint, o.to_lane, nextval(o.seq), o.job_id, o.run_lease + 1, o.attempt, o.max_attempts, o.created_at, o.kind, o.args, o.errors, o.time_limit,
           o.available_at
      FROM (SELECT * FROM free WHERE to_lane <> lane_id ORDER BY place) o
)
SELECT job_id FROM free
{{end}}

{{/* A promotion or a cancellation that holds one is waited for. In the order of the ids, so that two who move the same jobs
     wait in one direction (hazard 21). */}}
{{define "lock_deferred"}}
/* awa:Move */
SELECT FROM {{.S}}.deferred_jobs WHERE job_id = ANY ($1::bigint[]) ORDER BY job_id FOR UPDATE
{{end}}

{{/* A job outside of the ring has a row that may change, and that nobody mistakes for another. */}}
{{define "move_deferred"}}
/* awa:Move */
WITH there AS MATERIALIZED (
    SELECT d.job_id, d.lane_id, t.lane_id AS to_lane
      FROM {{.S}}.deferred_jobs d
      JOIN {{.S}}.lanes l USING (lane_id)
      JOIN {{.S}}.queues q ON q.queue = coalesce($2::text, l.queue)
      JOIN {{.S}}.lanes t ON t.queue = q.queue AND t.priority = coalesce($3::smallint, l.priority)
       AND t.enqueue_shard = CASE WHEN q.queue = l.queue THEN l.enqueue_shard ELSE l.enqueue_shard % q.shards END
     WHERE d.job_id = ANY ($1::bigint[])
), moved AS (
    UPDATE {{.S}}.deferred_jobs d SET lane_id = w.to_lane FROM there w WHERE d.job_id = w.job_id AND w.to_lane <> w.lane_id
)
SELECT job_id FROM there
{{end}}
