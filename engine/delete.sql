{{define "lock_removal"}}
/* awa:Remove */
LOCK TABLE {{.S}}.ready_entries_{{.Queue}}, {{.S}}.receipt_completion_tombstones_{{.Queue}}, {{.S}}.done_entries_{{.Queue}} IN ROW EXCLUSIVE MODE
{{end}}

{{/* A success stands in a batch with others, which can't be changed: it is hidden. Its batch and its closure stay, so that its
     claim stays closed (hazard 25). The ready row says that the slot still is what it was, and whose position it is. Two who
     hide one job meet in the key: the second waits, and finds that it was hidden. */}}
{{define "hide_completed"}}
/* awa:DeleteTerminal */
INSERT INTO {{.S}}.receipt_completion_tombstones_{{.Queue}} (ready_slot, ready_generation, lane_id, lane_seq, job_id)
SELECT r.ready_slot, r.ready_generation, r.lane_id, r.lane_seq, r.job_id
  FROM unnest($2::integer[], $3::bigint[], $4::bigint[]) AS a(lane_id, lane_seq, job_id)
 CROSS JOIN LATERAL (SELECT * FROM {{.S}}.ready_entries_{{.Queue}} WHERE lane_id = a.lane_id AND lane_seq = a.lane_seq OFFSET 0) r
 WHERE r.job_id = a.job_id AND r.ready_generation = $1::bigint
   AND EXISTS (SELECT FROM {{.S}}.receipt_completion_batches_{{.Queue}} c WHERE c.lane_id = r.lane_id AND c.lane_seqs @> r.lane_seq)
 ORDER BY r.lane_id, r.lane_seq
    ON CONFLICT (lane_id, lane_seq) WHERE lane_seq IS NOT NULL DO NOTHING
RETURNING job_id
{{end}}

{{/* An end with a row of its own is taken out under its whole key: one that was retried, carried or pruned since it was found
     isn't there any more. */}}
{{define "delete_done"}}
/* awa:DeleteTerminal */
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest($2::integer[], $3::bigint[], $4::bigint[]) AS a(lane_id, lane_seq, job_id)
), gone AS (
    DELETE FROM {{.S}}.done_entries_{{.Queue}} d USING asked a
     WHERE d.lane_id = a.lane_id AND d.lane_seq = a.lane_seq AND d.job_id = a.job_id AND d.ready_generation = $1::bigint
    RETURNING d.job_id, d.lane_id
)
INSERT INTO {{.S}}.receipt_completion_tombstones_{{.Queue}} (ready_slot, ready_generation, lane_id, job_id)
SELECT {{.Queue}}, $1::bigint, lane_id, job_id FROM gone
RETURNING job_id
{{end}}
