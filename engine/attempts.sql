{{/* A job's attempts, as far as both rings remember: by way of its ready rows, each of which was handed out once at most, to
     the claims, which are found by their ids. A position that was spent without a claim has none. */}}
{{define "job_attempts"}}
/* awa:JobAttempts */
WITH handed AS MATERIALIZED (
    SELECT b.batch_id, r.run_lease + 1 AS run_lease, r.attempt + 1 AS attempt
      FROM {{.S}}.ready_entries r JOIN {{.S}}.ready_claim_attempt_batches b
        ON b.ready_slot = r.ready_slot AND b.lane_id = r.lane_id AND b.lane_seqs @> r.lane_seq
     WHERE r.job_id = $1::bigint
), claimed AS MATERIALIZED (
    SELECT h.run_lease, h.attempt, c.claimed_at, c.deadline_at, false AS local, c.batch_id, c.batch_id * 4096 + array_position(c.job_ids, $1::bigint) - 1 AS receipt_id
      FROM handed h JOIN {{.S}}.lease_claim_batches c USING (batch_id)
     UNION ALL
    SELECT h.run_lease, h.attempt, c.claimed_at, c.deadline_at, true, c.batch_id, c.batch_id * 4096
      FROM handed h JOIN {{.S}}.lease_claims c USING (batch_id)
)
SELECT c.run_lease, c.attempt, c.claimed_at, c.deadline_at, x.closed_at, coalesce(x.outcome, '')
  FROM claimed c
  LEFT JOIN LATERAL (
    SELECT closed_at, outcome FROM {{.S}}.lease_claim_closure_batches WHERE NOT c.local AND batch_id = c.batch_id AND receipt_ranges @> c.receipt_id
     UNION ALL
    SELECT closed_at, outcome FROM {{.S}}.lease_claim_closures WHERE c.local AND receipt_id = c.receipt_id
  ) x ON true
 ORDER BY c.run_lease
{{end}}
