{{define "lock_prune_mutex"}}
/* awa:Prune */
SELECT FROM {{.S}}.prune_mutex FOR UPDATE NOWAIT
{{end}}

{{define "lock_slot"}}
/* awa:Prune */
SELECT FROM {{.S}}.{{.Ring.Name}}_ring_slots WHERE slot = $1::smallint FOR UPDATE NOWAIT
{{end}}

{{/* An open attempt whose ready row stands in generation $1. It may stand in any claim slot; those in pruned ones were
     closed. By sets: equal counts could hide a double closure beside an open attempt. Each shape against its own closures:
     one of the other shape closes nothing. */}}
{{define "queue_slot_open"}}
(SELECT NOT isempty(coalesce((SELECT range_agg(receipt_ranges) FROM {{.S}}.lease_claim_batches WHERE ready_generation = $1::bigint), '{}')
                  - coalesce((SELECT range_agg(receipt_ranges) FROM {{.S}}.lease_claim_closure_batches WHERE ready_generation = $1::bigint), '{}'))
     OR NOT isempty(coalesce((SELECT range_agg(int8range(batch_id * 4096, batch_id * 4096 + 1)) FROM {{.S}}.lease_claims WHERE ready_generation = $1::bigint), '{}')
                  - coalesce((SELECT range_agg(int8range(receipt_id, receipt_id + 1)) FROM {{.S}}.lease_claim_closures WHERE ready_generation = $1::bigint), '{}')))
{{end}}

{{/* An open attempt in claim generation $1. */}}
{{define "claim_slot_open"}}
(SELECT NOT isempty(coalesce((SELECT range_agg(receipt_ranges) FROM {{.S}}.lease_claim_batches_{{.Claim}} WHERE claim_generation = $1::bigint), '{}')
                  - coalesce((SELECT range_agg(receipt_ranges) FROM {{.S}}.lease_claim_closure_batches_{{.Claim}} WHERE claim_generation = $1::bigint), '{}'))
     OR NOT isempty(coalesce((SELECT range_agg(int8range(batch_id * 4096, batch_id * 4096 + 1)) FROM {{.S}}.lease_claims_{{.Claim}} WHERE claim_generation = $1::bigint), '{}')
                  - coalesce((SELECT range_agg(int8range(receipt_id, receipt_id + 1)) FROM {{.S}}.lease_claim_closures_{{.Claim}} WHERE claim_generation = $1::bigint), '{}')))
{{end}}

{{define "queue_slot_active"}}
/* awa:PruneQueue */
SELECT (SELECT count(*) FROM {{.S}}.ready_entries_{{.Queue}})
     > (SELECT coalesce(sum(claimed_count), 0) FROM {{.S}}.ready_claim_attempt_batches_{{.Queue}})
    OR {{template "queue_slot_open" .}}
{{end}}

{{define "claim_slot_active"}}
/* awa:PruneClaims */
SELECT {{template "claim_slot_open" .}}
{{end}}

{{/* Who else holds, or waits for, a lock on the slot's children. The oldest transaction first. */}}
{{define "holders"}}
/* awa:Prune */
SELECT DISTINCT ON (l.virtualtransaction)
       coalesce(l.pid, 0), coalesce(clock_timestamp() - a.xact_start, interval '0'), l.virtualtransaction
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND l.relation IN ({{range $i, $child := .Ring.Children}}{{if $i}}, {{end}}'{{$.S}}.{{$child}}_{{$.Queue}}'::regclass{{end}})
 ORDER BY l.virtualtransaction
{{end}}

{{define "set_lock_timeout"}}
/* awa:Prune */
SELECT s.before FROM (SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $1::text, true) OFFSET 0) s
{{end}}

{{define "restore_lock_timeout"}}
/* awa:Prune */
SELECT set_config('lock_timeout', $1::text, true)
{{end}}

{{/* All decisions of a prune about age use this one value (hazard 29); null keeps no failed row. */}}
{{define "retention_cutoff"}}
/* awa:PruneQueue */
SELECT CASE WHEN $2::bigint > 0 THEN coalesce($1::timestamptz, now()) - $2::bigint * interval '1 second' END
{{end}}

{{/* A failed row inside the floor. Cancelled rows are not: that was somebody's decision. */}}
{{define "inside_floor"}}d.state = 'failed' AND d.finalized_at >= $1::timestamptz{{end}}

{{define "many_to_carry"}}
/* awa:PruneQueue */
SELECT count(*) > $2::integer FROM (SELECT FROM {{.S}}.done_entries_{{.Queue}} d WHERE {{template "inside_floor"}} LIMIT $2::integer + 1) few
{{end}}

{{/* Lets readers in, and keeps out whoever would take a row out that is being carried. */}}
{{define "share_done"}}
/* awa:PruneQueue */
LOCK TABLE {{.S}}.done_entries_{{.Queue}} IN SHARE MODE NOWAIT
{{end}}

{{/* Into the current slot ($2 of generation $3), which can't change: the ring's mutex is held. Wide rows stay as they
     are, narrow ones get their ready row's body. The key can't be there, since a lane's sequence never goes back, so
     that there is no ON CONFLICT: a row that was there would be lost in silence (P8, hazard 8). */}}
{{define "carry"}}
/* awa:PruneQueue */
INSERT INTO {{.S}}.done_entries
       (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors, run_at, {{template "body_columns"}})
SELECT $2::smallint, $3::bigint, d.lane_id, d.lane_seq, d.job_id, d.run_lease, d.attempt, d.state, d.finalized_at, d.errors, d.run_at, {{template "hydrated_body"}}
  FROM {{.S}}.done_entries_{{.Queue}} d
  LEFT JOIN {{.S}}.ready_entries_{{.Queue}} r ON d.kind IS NULL AND r.lane_id = d.lane_id AND r.lane_seq = d.lane_seq
 WHERE {{template "inside_floor"}}
{{end}}

{{define "share_claim_children"}}
/* awa:PruneQueue */
LOCK TABLE {{.S}}.lease_claim_batches, {{.S}}.lease_claims, {{.S}}.lease_claim_closure_batches, {{.S}}.lease_claim_closures, {{.S}}.leases IN ACCESS SHARE MODE
{{end}}

{{define "lock_gate"}}
/* awa:Prune */
LOCK TABLE {{.S}}.{{.Ring.Gate}}_{{.Queue}} IN ACCESS EXCLUSIVE MODE
{{end}}

{{define "lock_gate_now"}}
/* awa:Prune */
LOCK TABLE {{.S}}.{{.Ring.Gate}}_{{.Queue}} IN ACCESS EXCLUSIVE MODE NOWAIT
{{end}}

{{define "lock_rest"}}
/* awa:Prune */
LOCK TABLE {{range $i, $child := .Ring.Rest}}{{if $i}}, {{end}}{{$.S}}.{{$child}}_{{$.Queue}}{{end}} IN ACCESS EXCLUSIVE MODE NOWAIT
{{end}}

{{/* The queue slot by sets: all lanes, evidence of the same slot and generation, no cursor. A wide row is no history of
     this slot's positions: it has none of its own here. */}}
{{define "queue_slot_proof"}}
/* awa:PruneQueue */
WITH ready AS MATERIALIZED (
    SELECT lane_id, range_agg(int8range(lane_seq, lane_seq + 1)) AS seqs FROM {{.S}}.ready_entries_{{.Queue}} GROUP BY lane_id
), spent AS MATERIALIZED (
    SELECT lane_id, range_agg(lane_seqs) AS seqs, sum(claimed_count) AS n
      FROM {{.S}}.ready_claim_attempt_batches_{{.Queue}} WHERE ready_generation = $1::bigint GROUP BY lane_id
), history AS MATERIALIZED (
    SELECT lane_id, range_agg(seqs) AS seqs, sum(n) AS n
      FROM (SELECT lane_id, lane_seqs AS seqs, completed_count AS n FROM {{.S}}.receipt_completion_batches_{{.Queue}}
            UNION ALL
            SELECT lane_id, int8multirange(int8range(lane_seq, lane_seq + 1)), 1 FROM {{.S}}.done_entries_{{.Queue}} WHERE kind IS NULL) h
     GROUP BY lane_id
), hidden AS MATERIALIZED (
    SELECT lane_id, range_agg(int8range(lane_seq, lane_seq + 1)) AS seqs
      FROM {{.S}}.receipt_completion_tombstones_{{.Queue}} WHERE lane_seq IS NOT NULL GROUP BY lane_id
), completed AS MATERIALIZED (
    SELECT lane_id, range_agg(lane_seqs) AS seqs FROM {{.S}}.receipt_completion_batches_{{.Queue}} GROUP BY lane_id
), closed AS MATERIALIZED (
    SELECT coalesce(range_agg(receipt_ranges), '{}') AS receipts, coalesce(sum(closed_count), 0) AS n
      FROM (SELECT receipt_ranges, closed_count FROM {{.S}}.lease_claim_closure_batches WHERE ready_generation = $1::bigint
            UNION ALL
            SELECT int8multirange(int8range(receipt_id, receipt_id + 1)), 1 FROM {{.S}}.lease_claim_closures WHERE ready_generation = $1::bigint) c
)
SELECT EXISTS (SELECT FROM ready r LEFT JOIN spent s USING (lane_id) WHERE NOT isempty(r.seqs - coalesce(s.seqs, '{}'))),
       {{template "queue_slot_open" .}},
       EXISTS (SELECT FROM spent s WHERE s.n <> (SELECT sum(upper(r) - lower(r)) FROM unnest(s.seqs) r))
       OR EXISTS (SELECT FROM history h WHERE h.n <> (SELECT sum(upper(r) - lower(r)) FROM unnest(h.seqs) r))
       OR (SELECT n <> (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(receipts) r) FROM closed),
       EXISTS (SELECT FROM spent s LEFT JOIN ready r USING (lane_id) WHERE NOT isempty(s.seqs - coalesce(r.seqs, '{}')))
       OR EXISTS (SELECT FROM history h LEFT JOIN spent s USING (lane_id) WHERE NOT isempty(h.seqs - coalesce(s.seqs, '{}')))
       OR EXISTS (SELECT FROM {{.S}}.done_entries_{{.Queue}} d JOIN ready r USING (lane_id) WHERE d.kind IS NOT NULL AND r.seqs @> d.lane_seq)
       OR NOT {{template "queue_slot_open" .}} AND EXISTS (SELECT FROM {{.S}}.leases WHERE ready_generation = $1::bigint)
       OR EXISTS (SELECT FROM hidden h LEFT JOIN completed c USING (lane_id) WHERE NOT isempty(h.seqs - coalesce(c.seqs, '{}')))
{{range .Ring.Children}}       OR EXISTS (SELECT FROM {{$.S}}.{{.}}_{{$.Queue}} WHERE ready_generation <> $1::bigint)
{{end}}{{end}}

{{define "claim_slot_proof"}}
/* awa:PruneClaims */
WITH claims AS MATERIALIZED (
    SELECT false AS local, receipt_ranges, claimed_count AS n FROM {{.S}}.lease_claim_batches_{{.Claim}} WHERE claim_generation = $1::bigint
     UNION ALL
    SELECT true, int8multirange(int8range(batch_id * 4096, batch_id * 4096 + 1)), 1 FROM {{.S}}.lease_claims_{{.Claim}} WHERE claim_generation = $1::bigint
), closures AS MATERIALIZED (
    SELECT false AS local, receipt_ranges, closed_count AS n FROM {{.S}}.lease_claim_closure_batches_{{.Claim}} WHERE claim_generation = $1::bigint
     UNION ALL
    SELECT true, int8multirange(int8range(receipt_id, receipt_id + 1)), 1 FROM {{.S}}.lease_claim_closures_{{.Claim}} WHERE claim_generation = $1::bigint
), claimed AS MATERIALIZED (
    SELECT coalesce(range_agg(receipt_ranges), '{}') AS receipts, coalesce(sum(n), 0) AS n,
           coalesce(range_agg(receipt_ranges) FILTER (WHERE local), '{}') AS own,
           coalesce(range_agg(receipt_ranges) FILTER (WHERE NOT local), '{}') AS compact
      FROM claims
), closed AS MATERIALIZED (
    SELECT coalesce(range_agg(receipt_ranges), '{}') AS receipts, coalesce(sum(n), 0) AS n,
           coalesce(range_agg(receipt_ranges) FILTER (WHERE local), '{}') AS own,
           coalesce(range_agg(receipt_ranges) FILTER (WHERE NOT local), '{}') AS compact
      FROM closures
)
SELECT false,
       {{template "claim_slot_open" .}},
       claimed.n <> (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(claimed.receipts) r)
       OR closed.n <> (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(closed.receipts) r),
       NOT isempty(closed.own - claimed.own) OR NOT isempty(closed.compact - claimed.compact)
{{range .Ring.Children}}       OR EXISTS (SELECT FROM {{$.S}}.{{.}}_{{$.Claim}} WHERE claim_generation <> $1::bigint)
{{end}}  FROM claimed, closed
{{end}}

{{/* A lease that is there is a wait that isn't over. Nothing else says so: emptiness is the whole proof, under the lock. */}}
{{define "lease_slot_active"}}
/* awa:PruneLeases */
SELECT EXISTS (SELECT FROM {{.S}}.leases_{{.Queue}} WHERE lease_generation = $1::bigint)
{{end}}

{{define "lease_slot_proof"}}
/* awa:PruneLeases */
SELECT false, EXISTS (SELECT FROM {{.S}}.leases_{{.Queue}}), false,
       EXISTS (SELECT FROM {{.S}}.leases_{{.Queue}} WHERE lease_generation <> $1::bigint)
{{end}}

{{/* Folds exactly what TRUNCATE removes and the carry leaves: no filter by generation. What an operator has taken away is
     counted nowhere. */}}
{{define "fold_rollups"}}
/* awa:PruneQueue */
INSERT INTO {{.S}}.queue_terminal_rollups AS total (queue, pruned_completed_count, pruned_failed_count)
SELECT l.queue, sum(h.completed), sum(h.failed)
  FROM (SELECT lane_id, completed_count AS completed, 0 AS failed FROM {{.S}}.receipt_completion_batches_{{.Queue}}
        UNION ALL
        SELECT lane_id, -1, 0 FROM {{.S}}.receipt_completion_tombstones_{{.Queue}} WHERE lane_seq IS NOT NULL
        UNION ALL
        SELECT lane_id, (state <> 'failed')::integer, (state = 'failed')::integer
          FROM {{.S}}.done_entries_{{.Queue}} d WHERE ({{template "inside_floor"}}) IS NOT TRUE) h
  JOIN {{.S}}.lanes l USING (lane_id)
 GROUP BY l.queue
    ON CONFLICT (queue) DO UPDATE
   SET pruned_completed_count = total.pruned_completed_count + excluded.pruned_completed_count,
       pruned_failed_count = total.pruned_failed_count + excluded.pruned_failed_count
{{end}}

{{define "reset_rescue_cursor"}}
/* awa:PruneClaims */
UPDATE {{.S}}.claim_ring_slots
   SET batch_rescue_cursor_claimed_at = NULL, batch_rescue_cursor_batch_id = NULL, rescue_cursor_claimed_at = NULL, rescue_cursor_batch_id = NULL,
       batch_deadline_cursor_deadline_at = NULL, batch_deadline_cursor_batch_id = NULL, deadline_cursor_deadline_at = NULL, deadline_cursor_batch_id = NULL
 WHERE slot = {{.Claim}}
   AND coalesce(batch_rescue_cursor_batch_id, rescue_cursor_batch_id, batch_deadline_cursor_batch_id, deadline_cursor_batch_id) IS NOT NULL
{{end}}

{{define "append_prune"}}
/* awa:Prune */
INSERT INTO {{.S}}.{{.Ring.Name}}_ring_prunes (generation, slot, pruned_at) VALUES ($1::bigint, $2::smallint, coalesce($3::timestamptz, now()))
{{end}}

{{/* The children that take up space: each TRUNCATE leaves dead rows in the catalogue, and most slots leave most children empty.
     By size, since rows that went one by one, or were rolled back, are no rows and still there. */}}
{{define "written_children"}}
/* awa:Prune */
SELECT array_remove(ARRAY[{{range $i, $child := .Ring.Children}}{{if $i}}, {{end}}CASE WHEN pg_relation_size('{{$.S}}.{{$child}}_{{$.Queue}}') > 0 THEN '{{$child}}' END{{end}}]::text[], NULL)
{{end}}

{{define "truncate_slot"}}
/* awa:Prune */
TRUNCATE {{range $i, $child := .Ring.Children}}{{if $i}}, {{end}}{{$.S}}.{{$child}}_{{$.Queue}}{{end}}
{{end}}
