{{/* The rings, and what every row must know. See audit.sql for the form of these statements. */}}
{{/* P2, hazard 3. Two generations in one slot share a table, and the next TRUNCATE takes both. The ledger of prunes is how a
     writer knows that a slot is spent: an entry too many loses what is written there, one too few stops the ring. What
     TrimLedger took away is older than the oldest entry, and isn't asked for. */}}
{{define "ring_audit"}}
/* awa:Audit */
WITH ledger AS MATERIALIZED (SELECT generation, slot FROM {{.S}}.{{.Ring.Name}}_ring_rotations
), prunes AS MATERIALIZED (SELECT generation, slot FROM {{.S}}.{{.Ring.Name}}_ring_prunes
), ring AS MATERIALIZED (
    SELECT (SELECT slot_count FROM {{.S}}.{{.Ring.Name}}_ring_state) AS slots, (SELECT min(generation) FROM ledger) AS first,
           (SELECT max(generation) FROM ledger) AS newest,
           (SELECT min(generation) FROM ledger WHERE generation NOT IN (SELECT generation FROM prunes)) AS oldest
)
SELECT looked.n, f.* FROM (SELECT (SELECT count(*) FROM ledger) + (SELECT count(*) FROM prunes) AS n) looked LEFT JOIN (
    SELECT '{{.Ring.Name}}_ring', v.generation, NULL::integer, NULL::bigint, v.words FROM (
        SELECT NULL::bigint AS generation, format('the state row says %s slots, and there are %s', slots, (SELECT count(*) FROM {{.S}}.{{.Ring.Name}}_ring_slots)) AS words
          FROM ring WHERE slots IS DISTINCT FROM {{.Ring.Slots}} OR slots <> (SELECT count(*) FROM {{.S}}.{{.Ring.Name}}_ring_slots)
         UNION ALL
        SELECT generation, format('the ledger puts it into slot %s', slot) FROM (SELECT * FROM ledger UNION SELECT * FROM prunes) l, ring
         WHERE l.slot <> l.generation % ring.slots
         UNION ALL
        SELECT generation, 'the rotation before it is not in the ledger' FROM ledger, ring
         WHERE generation > first AND generation - 1 NOT IN (SELECT generation FROM ledger)
         UNION ALL
        SELECT generation, 'it was pruned while it was current, or before it was entered' FROM prunes, ring WHERE generation >= newest
         UNION ALL
        SELECT generation, format('it was pruned before generation %s, which is older', oldest) FROM prunes, ring WHERE generation > oldest
         UNION ALL
        SELECT newest, format('the ring of %s slots writes it, and only generations before %s are pruned', slots, oldest) FROM ring WHERE newest - oldest >= slots
    ) v LIMIT 20) f ON true
{{end}}

{{/* What was truncated is gone as a whole, and nobody wrote there since: a late writer is hazard 3, a slot that was used
     again with old rows in it is hazard 9.
     Grouped by child and generation: one violation tells of all rows that one late writer left. */}}
{{define "generations_audit"}}
/* awa:Audit */
WITH held AS MATERIALIZED (
{{range $i, $child := .Ring.Children}}{{if $i}}     UNION ALL
{{end}}    SELECT tableoid::regclass::text AS stands_in, {{$.Ring.Key}}_slot AS slot, {{$.Ring.Key}}_generation AS generation, count(*) AS n FROM {{$.S}}.{{$child}} GROUP BY 1, 2, 3
{{end}}), open AS MATERIALIZED (
    SELECT generation FROM {{.S}}.{{.Ring.Name}}_ring_rotations EXCEPT SELECT generation FROM {{.S}}.{{.Ring.Name}}_ring_prunes
)
SELECT looked.n, f.* FROM (SELECT coalesce(sum(n), 0)::bigint AS n FROM held) looked LEFT JOIN (
    SELECT stands_in, generation, NULL::integer, NULL::bigint,
           format('%s rows %s', n, CASE WHEN slot <> generation % {{.Ring.Slots}} THEN format('in slot %s, where the generation doesn''t belong', slot)
                                        WHEN generation > (SELECT max(generation) FROM open) THEN 'of a generation that was never entered'
                                        ELSE 'of a generation that is pruned' END)
      FROM held WHERE slot <> generation % {{.Ring.Slots}} OR generation NOT IN (SELECT generation FROM open) LIMIT 20) f ON true
{{end}}

{{/* P4. A sequence behind its lane's rows would give a position twice, and evidence for one of them would hide the other. A
     row of an unknown lane is in no queue's counts and is never claimed. */}}
{{define "lanes_are_whole_audit"}}
/* awa:Audit */
WITH used AS MATERIALIZED (
    SELECT lane_id, max(lane_seq) AS lane_seq, count(*) AS n FROM {{.S}}.ready_entries GROUP BY lane_id
     UNION ALL SELECT lane_id, 0, count(*) FROM {{.S}}.deferred_jobs GROUP BY lane_id
     UNION ALL SELECT lane_id, 0, count(*) FROM {{.S}}.dlq_entries GROUP BY lane_id
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.lanes) looked LEFT JOIN (
    SELECT * FROM (
        SELECT 'lanes', NULL::bigint, NULL::integer, NULL::bigint, format('queue %s has %s lanes', to_json(q.queue), count(l.lane_id))
          FROM {{.S}}.queues q LEFT JOIN {{.S}}.lanes l USING (queue) GROUP BY q.queue HAVING count(l.lane_id) < 4 * q.shards OR count(l.lane_id) % 4 <> 0
         UNION ALL
        SELECT 'lanes', NULL, u.lane_id, NULL, format('%s jobs are of a lane that there isn''t', u.n) FROM used u LEFT JOIN {{.S}}.lanes l USING (lane_id) WHERE l.lane_id IS NULL
         UNION ALL
        SELECT 'lanes', NULL, u.lane_id, NULL, format('a row stands at position %s, and the sequence of the lane is at %s', u.lane_seq, coalesce(pg_sequence_last_value(l.seq), 0))
          FROM used u JOIN {{.S}}.lanes l USING (lane_id) WHERE u.lane_seq > coalesce(pg_sequence_last_value(l.seq), 0)
         UNION ALL
        SELECT 'queue_terminal_rollups', NULL, NULL, NULL, format('pruned history of queue %s, which isn''t registered', to_json(t.queue))
          FROM {{.S}}.queue_terminal_rollups t LEFT JOIN {{.S}}.queues q USING (queue) WHERE q.queue IS NULL) v LIMIT 20) f ON true
{{end}}

{{/* A sequence that fell behind, after a restore of some tables, gives the same identity twice. */}}
{{define "identities_audit"}}
/* awa:Audit */
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.lease_claim_batches) looked LEFT JOIN (
    SELECT v.stands_in, NULL::bigint, NULL::integer, NULL::bigint, format('%s is in use, and the sequence is at %s', v.used, v.last) FROM (
        SELECT 'job_id_seq' AS stands_in, (SELECT max(job_id) FROM (SELECT max(job_id) AS job_id FROM {{.S}}.ready_entries
                                            UNION ALL SELECT max(job_id) FROM {{.S}}.deferred_jobs
                                            UNION ALL SELECT max(job_id) FROM {{.S}}.dlq_entries) j) AS used,
               coalesce(pg_sequence_last_value('{{.S}}.job_id_seq'), 0) AS last
         UNION ALL
        SELECT 'claim_batch_id_seq', (SELECT max(batch_id) FROM (SELECT max(batch_id) AS batch_id FROM {{.S}}.lease_claim_batches
                                       UNION ALL SELECT max(batch_id) FROM {{.S}}.lease_claims
                                       UNION ALL SELECT max(batch_id) FROM {{.S}}.ready_claim_attempt_batches) b),
               coalesce(pg_sequence_last_value('{{.S}}.claim_batch_id_seq'), 0)) v
     WHERE v.used > v.last LIMIT 20) f ON true
{{end}}

{{/* An error history travels with its job through every table, and each way adds an entry: one that doesn't cut it grows the
     row at each attempt (P6). */}}
{{define "histories_audit"}}
/* awa:Audit */
WITH histories AS (
    SELECT tableoid::regclass::text AS stands_in, ready_generation AS generation, lane_id, job_id, errors FROM {{.S}}.ready_entries WHERE errors IS NOT NULL
     UNION ALL SELECT tableoid::regclass::text, ready_generation, lane_id, job_id, errors FROM {{.S}}.done_entries
     UNION ALL SELECT 'deferred_jobs', NULL, lane_id, job_id, errors FROM {{.S}}.deferred_jobs WHERE errors IS NOT NULL
     UNION ALL SELECT 'dlq_entries', NULL, lane_id, job_id, errors FROM {{.S}}.dlq_entries
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM histories) looked LEFT JOIN (
    SELECT stands_in, generation, lane_id, job_id, 'its error history is no list of at most twenty entries' FROM histories
     WHERE CASE WHEN jsonb_typeof(errors) = 'array' THEN jsonb_array_length(errors) > 20 ELSE true END LIMIT 20) f ON true
{{end}}

{{/* A slot that is entered again must not begin where the rescue of its last generation stopped (hazard 9). */}}
{{define "rescue_cursors_audit"}}
/* awa:Audit */
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.claim_ring_slots) looked LEFT JOIN (
    SELECT 'claim_ring_slots', NULL::bigint, NULL::integer, NULL::bigint, format('slot %s has the %s cursor at %s, and holds no such claim', slot, sweep, batch_id)
      FROM {{.S}}.claim_ring_slots s
     CROSS JOIN LATERAL (VALUES ('batch_rescue', false, batch_rescue_cursor_batch_id), ('rescue', true, rescue_cursor_batch_id),
                                ('batch_deadline', false, batch_deadline_cursor_batch_id), ('deadline', true, deadline_cursor_batch_id)) c(sweep, local, batch_id)
     WHERE batch_id IS NOT NULL
       AND CASE WHEN local THEN NOT EXISTS (SELECT FROM {{.S}}.lease_claims b WHERE b.claim_slot = s.slot)
                ELSE NOT EXISTS (SELECT FROM {{.S}}.lease_claim_batches b WHERE b.claim_slot = s.slot) END LIMIT 20) f ON true
{{end}}
