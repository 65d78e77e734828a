{{/* Where the jobs $1 are, at one moment, for Cancel and DeleteTerminal: what became of the newest ready row, as in "job",
     unless the job has a row of its own elsewhere. The place is that of the end where there is one. It is looked at by parents, before
     anything is locked; what it says is proven again under the locks. */}}
{{define "locate_jobs"}}
/* awa:Locate */
WITH newest AS MATERIALIZED (
    SELECT DISTINCT ON (job_id) job_id, run_lease, lane_id, lane_seq, ready_slot, ready_generation
      FROM {{.S}}.ready_entries WHERE job_id = ANY ($1::bigint[])
     ORDER BY job_id, run_lease DESC
)
SELECT a.place,
       CASE WHEN d.job_id IS NOT NULL THEN 'deferred'
            WHEN q.job_id IS NOT NULL THEN 'held'
            WHEN x.job_id IS NOT NULL THEN 'done'
            WHEN n.job_id IS NULL THEN 'nowhere'
            WHEN e.batch_id IS NULL THEN 'available'
            WHEN EXISTS (SELECT FROM {{.S}}.receipt_completion_batches o
                          WHERE o.ready_slot = n.ready_slot AND o.lane_id = n.lane_id AND o.lane_seqs @> n.lane_seq)
            THEN CASE WHEN EXISTS (SELECT FROM {{.S}}.receipt_completion_tombstones t
                                    WHERE t.ready_slot = n.ready_slot AND t.lane_id = n.lane_id AND t.lane_seq = n.lane_seq) THEN 'nowhere' ELSE 'completed' END
            WHEN c.batch_id IS NOT NULL AND NOT EXISTS (SELECT FROM {{.S}}.lease_claim_closure_batches o
                          WHERE o.batch_id = c.batch_id AND o.receipt_ranges @> (c.batch_id * 4096 + array_position(c.job_ids, a.job_id) - 1)) THEN 'running'
            WHEN l.batch_id IS NOT NULL AND NOT EXISTS (SELECT FROM {{.S}}.lease_claim_closures o WHERE o.receipt_id = l.batch_id * 4096) THEN 'running'
            ELSE 'nowhere' END,
       coalesce(x.lane_id, n.lane_id, 0), coalesce(x.lane_seq, n.lane_seq, 0), coalesce(x.ready_generation, n.ready_generation, 0),
       coalesce(n.run_lease, 0) + 1,
       coalesce(e.batch_id, 0), coalesce(c.claim_generation, l.claim_generation, 0), coalesce(array_position(c.job_ids, a.job_id), 1) - 1,
       l.batch_id IS NOT NULL
  FROM unnest($1::bigint[]) WITH ORDINALITY AS a(job_id, place)
  LEFT JOIN {{.S}}.deferred_jobs d USING (job_id)
  LEFT JOIN {{.S}}.dlq_entries q USING (job_id)
  LEFT JOIN newest n USING (job_id)
  LEFT JOIN LATERAL (SELECT o.job_id, o.lane_id, o.lane_seq, o.ready_generation FROM {{.S}}.done_entries o WHERE o.job_id = a.job_id LIMIT 1) x ON true
  LEFT JOIN LATERAL (SELECT b.batch_id FROM {{.S}}.ready_claim_attempt_batches b
                      WHERE b.ready_slot = n.ready_slot AND b.lane_id = n.lane_id AND b.lane_seqs @> n.lane_seq LIMIT 1) e ON true
  LEFT JOIN LATERAL (SELECT b.claim_generation, b.batch_id, b.job_ids FROM {{.S}}.lease_claim_batches b WHERE b.batch_id = e.batch_id LIMIT 1) c ON true
  LEFT JOIN LATERAL (SELECT o.claim_generation, o.batch_id FROM {{.S}}.lease_claims o WHERE o.batch_id = e.batch_id LIMIT 1) l ON true
 ORDER BY a.place
{{end}}

{{/* A running job: its attempt is closed, and its end stands beside its ready row. */}}
{{define "cancel_running"}}
/* awa:Cancel */
{{template "open_members" .}}, closures AS (
    {{template "close_as" .}}, 'cancelled'{{template "closed_range" .}} FROM closing
), history AS (
    INSERT INTO {{.S}}.done_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors)
    SELECT ready_slot, ready_generation, lane_id, lane_seq, job_id, closed_lease, attempt + 1, 'cancelled',
           coalesce($5::timestamptz, statement_timestamp()), coalesce(errors, '[]')
      FROM ({{template "closing_with_body" .}}) r
    RETURNING 1 AS n
)
{{template "closed" .}}
{{end}}

{{/* Jobs outside of the ring: their ends are wide, in the current generation, at positions that no ready row ever has.
     Nothing is taken out when the ring moved on. */}}
{{define "cancel_deferred"}}
/* awa:Cancel */
WITH guard AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint AS ok
), taken AS (
    DELETE FROM {{.S}}.deferred_jobs d WHERE d.job_id = ANY ($2::bigint[]) AND (SELECT ok FROM guard) RETURNING d.*
)
INSERT INTO {{.S}}.done_entries_{{.Queue}}
       (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors, run_at, {{template "body_columns"}})
SELECT {{.Queue}}, $1::bigint, o.lane_id, nextval(o.seq), o.job_id, o.run_lease, o.attempt, 'cancelled',
       coalesce($3::timestamptz, statement_timestamp()), coalesce(o.errors, '[]'), o.run_at, {{template "body_columns"}}
  FROM (SELECT t.*, l.seq FROM taken t JOIN {{.S}}.lanes l USING (lane_id) ORDER BY array_position($2::bigint[], t.job_id)) o
RETURNING job_id
{{end}}

{{define "lock_available"}}
/* awa:Cancel */
LOCK TABLE {{.S}}.ready_entries_{{.Queue}}, {{.S}}.ready_claim_attempt_batches_{{.Queue}}, {{.S}}.ready_tombstones_{{.Queue}},
           {{.S}}.done_entries_{{.Queue}} IN ROW EXCLUSIVE MODE
{{end}}

{{/* Positions that are still free under their lanes' locks are spent. The evidence is what claims, hints, counts and prunes
     know already; under the lane's lock its number is newer than all that a hint has seen. */}}
{{define "cancel_available"}}
/* awa:Cancel */
WITH free AS MATERIALIZED (
    SELECT r.*
      FROM unnest($2::integer[], $3::bigint[], $4::bigint[]) AS a(lane_id, lane_seq, job_id)
     CROSS JOIN LATERAL (SELECT * FROM {{.S}}.ready_entries_{{.Queue}} WHERE lane_id = a.lane_id AND lane_seq = a.lane_seq OFFSET 0) r
     WHERE r.job_id = a.job_id AND r.ready_generation = $1::bigint
       AND NOT EXISTS (SELECT FROM {{.S}}.queue_ring_prunes WHERE generation = $1::bigint)
       AND NOT EXISTS (SELECT FROM {{.S}}.ready_claim_attempt_batches_{{.Queue}} b WHERE b.lane_id = r.lane_id AND b.lane_seqs @> r.lane_seq)
), batches AS MATERIALIZED (
    SELECT nextval('{{.S}}.claim_batch_id_seq') AS batch_id, f.*
      FROM (SELECT lane_id, count(*) AS n, range_agg(int8range(lane_seq, lane_seq + 1)) AS positions FROM free GROUP BY lane_id) f
), evidence AS (
    INSERT INTO {{.S}}.ready_claim_attempt_batches_{{.Queue}} (ready_slot, ready_generation, lane_id, batch_id, claimed_count, lane_seqs)
    SELECT {{.Queue}}, $1::bigint, lane_id, batch_id, n, positions FROM batches
), tombstones AS (
    INSERT INTO {{.S}}.ready_tombstones_{{.Queue}} (ready_slot, ready_generation, lane_id, batch_id, tombstone_count, lane_seqs)
    SELECT {{.Queue}}, $1::bigint, lane_id, batch_id, n, positions FROM batches
)
INSERT INTO {{.S}}.done_entries_{{.Queue}}
       (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors)
SELECT ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, 'cancelled',
       coalesce($5::timestamptz, statement_timestamp()), coalesce(errors, '[]')
  FROM free
RETURNING job_id
{{end}}
