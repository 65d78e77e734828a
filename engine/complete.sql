{{/* History goes into the ready rows' slot, sealed or not, as one range of positions per claim batch. */}}
{{define "complete"}}
/* awa:Complete */
{{template "open_members" .}}, closures AS (
    {{template "close_as" .}}, 'completed'{{template "closed_range" .}} FROM closing
), history AS (
    INSERT INTO {{.S}}.receipt_completion_batches_{{.Queue}}
           (ready_slot, ready_generation, lane_id, batch_id, completed_at, completed_count, lane_seqs)
    SELECT ready_slot, ready_generation, lane_id, batch_id, coalesce($5::timestamptz, statement_timestamp()), count(*),
           range_agg(int8range(lane_seq, lane_seq + 1))
      FROM ({{template "closing_members" .}}) m
     GROUP BY ready_slot, ready_generation, lane_id, batch_id
    RETURNING completed_count AS n
)
{{template "closed" .}}
{{end}}
