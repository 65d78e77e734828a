{{define "lock_keys"}}
/* awa:Lock */
SELECT count(pg_advisory_xact_lock(k)) FROM unnest($1::bigint[]) AS t(k)
{{end}}

{{define "lock_closures"}}
/* awa:Close */
LOCK TABLE {{.S}}.lease_claim_closure_batches_{{.Claim}} IN ROW EXCLUSIVE MODE
{{end}}

{{define "lock_history"}}
/* awa:Close */
LOCK TABLE {{.S}}.ready_entries_{{.Queue}}, {{.S}}.receipt_completion_batches_{{.Queue}}, {{.S}}.done_entries_{{.Queue}} IN ROW EXCLUSIVE MODE
{{end}}

{{/* What is open of what was asked: the members of existing batches that no closure covers. Neither generation may be
     pruned: a pruned claim generation had no open attempt left, and a pruned ready generation neither, so that nothing
     found is the right answer then, too. The closures of a batch are read through their index, so that the cost follows
     how often a batch was closed in parts, not how many attempts were ever closed (ADR 0003). OFFSET 0 keeps the order: on an
     empty child the planner would rather go through all of it once, and a plan outlives the moment (hazard 13). */}}
{{define "open_members"}}
WITH guard AS MATERIALIZED (
    SELECT NOT EXISTS (SELECT FROM {{.S}}.claim_ring_prunes WHERE generation = $1::bigint)
       AND NOT EXISTS (SELECT FROM {{.S}}.queue_ring_prunes WHERE generation = ANY ($2::bigint[])) AS ok
), found AS MATERIALIZED (
    SELECT b.*, a.asked::int8multirange * b.receipt_ranges
                - coalesce((SELECT range_agg(c.receipt_ranges) FROM {{.S}}.lease_claim_closure_batches_{{.Claim}} c
                             WHERE c.batch_id = b.batch_id), '{}') AS closing
      FROM unnest($3::bigint[], $4::text[]) AS a(batch_id, asked)
     CROSS JOIN LATERAL (SELECT * FROM {{.S}}.lease_claim_batches_{{.Claim}} WHERE batch_id = a.batch_id OFFSET 0) b
     WHERE (SELECT ok FROM guard) AND b.claim_generation = $1::bigint AND b.ready_generation = ANY ($2::bigint[])
), closing AS MATERIALIZED (
    SELECT * FROM found WHERE NOT isempty(closing)
)
{{end}}

{{/* The members that are being closed, one row each. */}}
{{define "closing_members"}}
SELECT c.batch_id, c.lane_id, c.ready_slot, c.ready_generation, c.batch_id * 4096 + m.place - 1 AS receipt_id, m.job_id, m.run_lease, m.lane_seq
  FROM closing c CROSS JOIN LATERAL unnest(c.job_ids, c.run_leases, c.lane_seqs) WITH ORDINALITY AS m(job_id, run_lease, lane_seq, place)
 WHERE c.closing @> (c.batch_id * 4096 + m.place - 1)
{{end}}

{{/* The closure rows: always in the claim's slot, always batches, whatever the outcome. */}}
{{define "close_as"}}
    INSERT INTO {{.S}}.lease_claim_closure_batches_{{.Claim}}
           (claim_slot, claim_generation, batch_id, closed_at, ready_slot, ready_generation, lane_id, closed_count, outcome, receipt_ranges)
    SELECT claim_slot, claim_generation, batch_id, coalesce($5::timestamptz, statement_timestamp()), ready_slot, ready_generation, lane_id,
           (SELECT sum(upper(r) - lower(r)) FROM unnest(closing) r)
{{end}}

{{/* What was closed, by batch, and for how many attempts a row of history was written: the caller compares. */}}
{{define "closed"}}
SELECT closing::text, (SELECT coalesce(sum(n), 0) FROM history) FROM closing
{{end}}
