{{/* The terminal rows of a state that done_entries holds, by what was kept of them (storage: "Counts"). */}}
{{define "kept"}}(SELECT coalesce(sum(k.n), 0)::bigint FROM (
           SELECT state, live_count AS n FROM {{.S}}.queue_terminal_live_counts WHERE lane_id = ANY ($1::integer[])
            UNION ALL SELECT state, delta FROM {{.S}}.queue_terminal_count_deltas WHERE lane_id = ANY ($1::integer[])) k WHERE k.state = {{end}}

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
     + {{template "kept" .}}'completed'),
       {{template "kept" .}}'failed'),
       {{template "kept" .}}'cancelled'),
       (SELECT count(*) FROM {{.S}}.dlq_entries WHERE lane_id = ANY ($1::integer[])),
       coalesce((SELECT pruned_completed_count FROM {{.S}}.queue_terminal_rollups WHERE queue = $2::text), 0),
       coalesce((SELECT pruned_failed_count FROM {{.S}}.queue_terminal_rollups WHERE queue = $2::text), 0),
       (SELECT version FROM {{.S}}.lanes_version)
{{end}}

{{/* Where what is kept isn't what is there. Each table stands by name, for the reason that Counts has. Rows of another
     generation than their slot's are told apart, since the generation is part of what is compared (hazard 9). */}}
{{define "counts_apart"}}
SELECT ready_generation, lane_id, state, sum(kept)::bigint AS kept, sum(rows)::bigint AS rows
  FROM (SELECT ready_generation, lane_id, state, live_count AS kept, 0 AS rows FROM {{.S}}.queue_terminal_live_counts
         UNION ALL SELECT ready_generation, lane_id, state, delta, 0 FROM {{.S}}.queue_terminal_count_deltas
         UNION ALL SELECT ready_generation, lane_id, state, 0, 1 FROM {{.S}}.done_entries) both_sides
 GROUP BY ready_generation, lane_id, state
{{end}}

{{define "check_counts"}}
/* awa:CheckCounts */
SELECT a.ready_generation, coalesce(l.queue, ''), a.lane_id, a.state, a.kept, a.rows
  FROM ({{template "counts_apart" .}}) a LEFT JOIN {{.S}}.lanes l USING (lane_id)
 WHERE a.kept <> a.rows
 ORDER BY a.ready_generation, a.lane_id, a.state
{{end}}

{{/* Keeps writers of terminal rows out, and with them whoever would change what is kept. */}}
{{define "lock_counts"}}
/* awa:RebuildCounts */
LOCK TABLE {{.S}}.done_entries_{{.Queue}} IN SHARE MODE
{{end}}

{{define "truncate_counts"}}
/* awa:RebuildCounts */
TRUNCATE {{.S}}.queue_terminal_count_deltas_{{.Queue}}, {{.S}}.queue_terminal_live_counts_{{.Queue}}
{{end}}

{{define "count_rows"}}
/* awa:RebuildCounts */
INSERT INTO {{.S}}.queue_terminal_live_counts_{{.Queue}} (ready_slot, ready_generation, lane_id, state, live_count)
SELECT ready_slot, ready_generation, lane_id, state, count(*) FROM {{.S}}.done_entries_{{.Queue}}
 GROUP BY ready_slot, ready_generation, lane_id, state
{{end}}
