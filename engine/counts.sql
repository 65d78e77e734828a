{{define "lane_ids"}}
/* awa:Counts */
SELECT lane_id FROM {{.S}}.lanes WHERE queue = $1::text
{{end}}

{{define "counts"}}
/* awa:Counts */
SELECT (SELECT count(*) FROM {{.S}}.ready_entries WHERE lane_id = ANY ($1::integer[]))
     - (SELECT coalesce(sum(claimed_count), 0) FROM {{.S}}.ready_claim_attempt_batches WHERE lane_id = ANY ($1::integer[])),
       (SELECT count(*) FROM {{.S}}.deferred_jobs WHERE lane_id = ANY ($1::integer[]) AND state = 'scheduled'),
       (SELECT count(*) FROM {{.S}}.deferred_jobs WHERE lane_id = ANY ($1::integer[]) AND state = 'retryable'),
       (SELECT coalesce(sum(claimed_count), 0) FROM {{.S}}.lease_claim_batches WHERE lane_id = ANY ($1::integer[]))
     - (SELECT coalesce(sum(closed_count), 0) FROM {{.S}}.lease_claim_closure_batches WHERE lane_id = ANY ($1::integer[]))
     + (SELECT count(*) FROM {{.S}}.lease_claims WHERE lane_id = ANY ($1::integer[]))
     - (SELECT count(*) FROM {{.S}}.lease_claim_closures WHERE lane_id = ANY ($1::integer[]))
     - (SELECT count(*) FROM {{.S}}.leases WHERE lane_id = ANY ($1::integer[])),
       (SELECT count(*) FROM {{.S}}.leases WHERE lane_id = ANY ($1::integer[])),
       (SELECT coalesce(sum(completed_count), 0) FROM {{.S}}.receipt_completion_batches WHERE lane_id = ANY ($1::integer[]))
     - (SELECT count(*) FROM {{.S}}.receipt_completion_tombstones WHERE lane_id = ANY ($1::integer[]) AND lane_seq IS NOT NULL)
     + (SELECT count(*) FROM {{.S}}.done_entries WHERE lane_id = ANY ($1::integer[]) AND state = 'completed'),
       (SELECT count(*) FROM {{.S}}.done_entries WHERE lane_id = ANY ($1::integer[]) AND state = 'failed'),
       (SELECT count(*) FROM {{.S}}.done_entries WHERE lane_id = ANY ($1::integer[]) AND state = 'cancelled'),
       (SELECT count(*) FROM {{.S}}.dlq_entries WHERE lane_id = ANY ($1::integer[])),
       coalesce((SELECT pruned_completed_count FROM {{.S}}.queue_terminal_rollups WHERE queue = $2::text), 0),
       coalesce((SELECT pruned_failed_count FROM {{.S}}.queue_terminal_rollups WHERE queue = $2::text), 0)
{{end}}
