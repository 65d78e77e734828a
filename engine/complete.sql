{{/* History goes into the ready rows' slot, sealed or not, as one range of positions per claim batch. The success of an
     attempt that had a lease is a narrow row of its own (storage: "Completing"): what is leased one look into an index per
     batch says, and without any the ready rows aren't read. */}}
{{define "complete"}}
/* awa:Complete */
{{template "open_members" .}}, told AS MATERIALIZED (
    SELECT c.*, s.stateful, c.closing - s.leased AS plain, c.closing * s.leased AS leased
      FROM closing c
     CROSS JOIN LATERAL (SELECT count(*) > 0 AS stateful, coalesce(range_agg(int8range(s.receipt_id, s.receipt_id + 1)) FILTER (WHERE s.leased), '{}') AS leased
                           FROM {{.S}}.attempt_state s
                          WHERE s.receipt_id >= c.batch_id * 4096 AND s.receipt_id <= c.batch_id * 4096 + 4095) s
), closures AS (
    {{template "close_as" .}}, 'completed'{{template "closed_range" .}} FROM closing
), history AS (
    INSERT INTO {{.S}}.receipt_completion_batches_{{.Queue}}
           (ready_slot, ready_generation, lane_id, batch_id, completed_at, completed_count, lane_seqs)
    SELECT c.ready_slot, c.ready_generation, c.lane_id, c.batch_id, coalesce($5::timestamptz, statement_timestamp()), count(*),
           range_agg(int8range(m.lane_seq, m.lane_seq + 1))
      FROM told c CROSS JOIN LATERAL unnest(c.lane_seqs) WITH ORDINALITY AS m(lane_seq, place)
     WHERE c.plain @> (c.batch_id * 4096 + m.place - 1)
     GROUP BY c.ready_slot, c.ready_generation, c.lane_id, c.batch_id
    RETURNING completed_count AS n
), leased_history AS (
    INSERT INTO {{.S}}.done_entries_{{.Queue}}
           (ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease, attempt, state, finalized_at, errors)
    SELECT r.ready_slot, r.ready_generation, r.lane_id, r.lane_seq, r.job_id, r.run_lease + 1, r.attempt + 1, 'completed',
           coalesce($5::timestamptz, statement_timestamp()), coalesce(r.errors, '[]')
      FROM (SELECT * FROM told WHERE NOT isempty(leased)) c
     CROSS JOIN LATERAL unnest(c.lane_seqs) WITH ORDINALITY AS m(lane_seq, place)
     CROSS JOIN LATERAL (SELECT * FROM {{.S}}.ready_entries_{{.Queue}} WHERE lane_id = c.lane_id AND lane_seq = m.lane_seq OFFSET 0) r
     WHERE c.leased @> (c.batch_id * 4096 + m.place - 1)
    RETURNING 1
)
SELECT c.place, c.closing::text, '{}', '{}', (SELECT coalesce(sum(n), 0) FROM history) + (SELECT count(*) FROM leased_history), c.stateful
  FROM told c
{{end}}
