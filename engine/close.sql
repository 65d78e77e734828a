{{define "lock_keys"}}
/* awa:Lock */
SELECT count(pg_advisory_xact_lock(k)) FROM unnest($1::bigint[]) AS t(k)
{{end}}

{{define "lock_closures"}}
/* awa:Close */
LOCK TABLE {{.S}}.lease_claim_closure{{if .Local}}s{{else}}_batches{{end}}_{{.Claim}} IN ROW EXCLUSIVE MODE
{{end}}

{{define "lock_history"}}
/* awa:Close */
LOCK TABLE {{.S}}.ready_entries_{{.Queue}}, {{.S}}.receipt_completion_batches_{{.Queue}}, {{.S}}.done_entries_{{.Queue}} IN ROW EXCLUSIVE MODE
{{end}}

{{/* The claim with the id a.batch_id, whatever its shape: a row-local claim is a batch of one. OFFSET 0 keeps the order: on
     an empty child the planner would rather go through all of it once, and a plan outlives the moment (hazard 13). */}}
{{define "claim_of_batch"}}
{{- if .Local}}(SELECT l.claim_slot, l.claim_generation, l.batch_id, l.claimed_at, l.deadline_at, l.ready_slot, l.ready_generation, l.lane_id,
                           int8multirange(int8range(l.batch_id * 4096, l.batch_id * 4096 + 1)) AS receipt_ranges,
                           ARRAY[l.job_id] AS job_ids, ARRAY[l.run_lease] AS run_leases, ARRAY[l.lane_seq] AS lane_seqs
                      FROM {{.S}}.lease_claims_{{.Claim}} l WHERE l.batch_id = a.batch_id OFFSET 0)
{{- else}}(SELECT * FROM {{.S}}.lease_claim_batches_{{.Claim}} WHERE batch_id = a.batch_id OFFSET 0)
{{- end}}{{end}}

{{/* What is closed of claim b already. The closures of a batch are read through their index, so that the cost follows how
     often a batch was closed in parts, not how many attempts were ever closed (ADR 0003). */}}
{{define "closed_of_batch"}}
{{- if .Local}}coalesce((SELECT b.receipt_ranges FROM {{.S}}.lease_claim_closures_{{.Claim}} c
                             WHERE c.receipt_id = b.batch_id * 4096), '{}')
{{- else}}coalesce((SELECT range_agg(c.receipt_ranges) FROM {{.S}}.lease_claim_closure_batches_{{.Claim}} c
                             WHERE c.batch_id = b.batch_id), '{}')
{{- end}}{{end}}

{{/* The receipts of claim b that were asked for: of those in a.attempts, which are the first index, then job ids, then run
     leases, the ones that are of these very attempts. The numbers of batches are given again after a failover that lost
     their commit, and in another schema; (job, run lease) is what names an attempt for ever (P3). Indexes that weren't
     asked for have job 0, which none has. Nearly always all are there and right, and two comparisons of arrays do. */}}
{{define "asked_attempts"}}
(SELECT CASE WHEN b.job_ids[i.lo + 1:i.lo + i.n] = a.attempts[2:i.n + 1] AND b.run_leases[i.lo + 1:i.lo + i.n] = a.attempts[i.n + 2:]
                    THEN int8multirange(int8range(b.batch_id * 4096 + i.lo, b.batch_id * 4096 + i.lo + i.n))
                    ELSE (SELECT coalesce(range_agg(int8range(b.batch_id * 4096 + i.lo + m.place - 1, b.batch_id * 4096 + i.lo + m.place)), '{}')
                            FROM unnest(b.job_ids[i.lo + 1:i.lo + i.n], b.run_leases[i.lo + 1:i.lo + i.n], a.attempts[2:i.n + 1], a.attempts[i.n + 2:])
                                 WITH ORDINALITY AS m(job_id, run_lease, asked_job, asked_lease, place)
                           WHERE m.job_id = m.asked_job AND m.run_lease = m.asked_lease)
                END
           FROM (SELECT a.attempts[1]::integer AS lo, (cardinality(a.attempts) - 1) / 2 AS n) i)
{{- end}}

{{/* Neither generation may be pruned: a pruned claim generation had no open attempt left, and a pruned ready generation
     neither, so that nothing found is the right answer then, too. */}}
{{define "places_stand"}}
{{- ""}}guard AS MATERIALIZED (
    SELECT NOT EXISTS (SELECT FROM {{.S}}.claim_ring_prunes WHERE generation = $1::bigint)
       AND NOT EXISTS (SELECT FROM {{.S}}.queue_ring_prunes WHERE generation = ANY ($2::bigint[])) AS ok
)
{{- end}}

{{/* What is open of what was asked: the members of existing claims that no closure covers. */}}
{{define "open_members"}}
WITH {{template "places_stand" .}}, asked AS MATERIALIZED (
    SELECT u.batch_id, u.attempts::bigint[] AS attempts, u.place
      FROM unnest($3::bigint[], $4::text[]) WITH ORDINALITY AS u(batch_id, attempts, place)
), found AS MATERIALIZED (
    SELECT b.*, a.place, {{template "asked_attempts" .}}
                - {{template "closed_of_batch" .}} AS closing
      FROM asked a CROSS JOIN LATERAL {{template "claim_of_batch" .}} b
     WHERE (SELECT ok FROM guard) AND b.claim_generation = $1::bigint AND b.ready_generation = ANY ($2::bigint[])
), closing AS MATERIALIZED (
    SELECT * FROM found WHERE NOT isempty(closing)
)
{{end}}

{{/* The same for a sweep, which has read the receipts that it asks for itself; but a heartbeat may have come before the key
     was had. */}}
{{define "open_receipts"}}
WITH {{template "places_stand" .}}, found AS MATERIALIZED (
    SELECT b.*, a.receipts::int8multirange * b.receipt_ranges
                - {{template "closed_of_batch" .}}{{template "alive" .}} AS closing
      FROM unnest($3::bigint[], $4::text[]) AS a(batch_id, receipts) CROSS JOIN LATERAL {{template "claim_of_batch" .}} b
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

{{/* The closure rows: always in the claim's slot, always of the claim's shape, whatever the outcome (storage: "Closing
     follows the claim's shape"). The outcome follows, then closed_range. */}}
{{define "close_as"}}
{{- if .Local}}INSERT INTO {{.S}}.lease_claim_closures_{{.Claim}}
           (claim_slot, claim_generation, receipt_id, closed_at, ready_slot, ready_generation, lane_id, outcome)
    SELECT claim_slot, claim_generation, batch_id * 4096, coalesce($5::timestamptz, statement_timestamp()), ready_slot, ready_generation, lane_id
{{- else}}INSERT INTO {{.S}}.lease_claim_closure_batches_{{.Claim}}
           (claim_slot, claim_generation, batch_id, closed_at, ready_slot, ready_generation, lane_id, closed_count, outcome, receipt_ranges)
    SELECT claim_slot, claim_generation, batch_id, coalesce($5::timestamptz, statement_timestamp()), ready_slot, ready_generation, lane_id,
           (SELECT sum(upper(r) - lower(r)) FROM unnest(closing) r)
{{- end}}{{end}}

{{define "closed_range"}}{{if not .Local}}, closing{{end}}{{end}}

{{/* What was closed, by the place in $3; which of that failed against the request, and which is held in the DLQ; for how many attempts a row of history was
     written, which the caller compares; and whether the claim has attempts with a state: then the caller sends forget. Others pay a look into an index. */}}
{{define "closed"}}
SELECT c.place, c.closing::text, '{}', '{}', (SELECT coalesce(sum(n), 0) FROM history),
       {{template "has_state" .}}
  FROM closing c
{{end}}

{{define "has_state"}}EXISTS (SELECT FROM {{.S}}.attempt_state s WHERE s.receipt_id >= c.batch_id * 4096 AND s.receipt_id <= c.batch_id * 4096 + 4095){{end}}

{{/* A state ends with its attempt, in the transaction that closes it. */}}
{{define "forget"}}
/* awa:Close */
DELETE FROM {{.S}}.attempt_state WHERE receipt_id = ANY ($1::bigint[]) RETURNING job_id, run_lease, leased
{{end}}

{{/* And so does its wait, if it is in one: whoever calls back finds the attempt over, and no lease keeps a slot. */}}
{{define "release"}}
/* awa:Close */
DELETE FROM {{.S}}.leases l USING unnest($1::bigint[], $2::bigint[]) AS a(job_id, run_lease)
 WHERE l.job_id = a.job_id AND l.run_lease = a.run_lease
{{end}}
