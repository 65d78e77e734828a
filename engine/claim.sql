{{/* Plans that don't depend on statistics: children go from empty to millions of rows and back between analyzes, and a
     plan made for an empty table is ruinous on a full one (hazard 13). Local to the transaction (hazard 15). */}}
{{define "plan_settings"}}
/* awa:Plan */
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true)
{{end}}

{{define "try_keys"}}
/* awa:Lock */
SELECT array_agg(pg_try_advisory_xact_lock(k) ORDER BY place) FROM unnest($1::bigint[]) WITH ORDINALITY AS t(k, place)
{{end}}

{{/* The oldest id that is at work, and the id that the next transaction will get: every id that was ever taken is below
     it. The xmax of a snapshot would be no such bound, it is one past the newest id that has ended. age() counts from
     the next id, in 32 bits; the snapshot has the upper half. Beside them, under the lanes' locks, whether the queue is
     paused: who pauses it takes them, too; and whether there are lanes that the claim doesn't know of. */}}
{{define "transaction_ids"}}
/* awa:Claim */
SELECT s.xmin, s.xmax + ((3 + age('3'::xid)::bigint - s.xmax) & 4294967295), {{.Incarnation}},
       EXISTS (SELECT FROM {{.S}}.queues WHERE queue = $1::text AND paused_at IS NOT NULL),
       (SELECT version FROM {{.S}}.lanes_version)
  FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin, pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax) s
{{end}}

{{/* What Settle asks about, once the transaction has written something. */}}
{{define "own_xid"}}
/* awa:Claim */
SELECT coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0), {{.Incarnation}}, clock_timestamp()
{{end}}

{{/* Claim children before queue children; within a slot the gate child first. */}}
{{define "lock_claim_children"}}
/* awa:Claim */
LOCK TABLE {{.S}}.lease_claim_batches_{{.Claim}}{{if .Local}}, {{.S}}.lease_claims_{{.Claim}}{{end}}
{{- range .Slots}}, {{$.S}}.ready_entries_{{.}}, {{$.S}}.ready_claim_attempt_batches_{{.}}{{end}} IN ROW EXCLUSIVE MODE
{{end}}

{{/* For each lane: the evidence written since the hint, the newest batch of it, and per slot the highest position. */}}
{{define "new_evidence"}}
/* awa:Claim */
SELECT a.place, coalesce(e.lane_seqs, '{}')::text, coalesce(e.batch_id, 0),
       ARRAY[{{range $i, $slot := .Slots}}{{if $i}}, {{end}}
           coalesce((SELECT max(r.lane_seq) FROM {{$.S}}.ready_entries_{{$slot}} r WHERE r.lane_id = a.lane_id), 0){{end}}]
  FROM unnest($1::integer[], $2::bigint[]) WITH ORDINALITY AS a(lane_id, seen, place)
 CROSS JOIN LATERAL (
       SELECT range_agg(x.lane_seqs) AS lane_seqs, max(x.batch_id) AS batch_id
         FROM ({{range $i, $slot := .Slots}}{{if $i}}
               UNION ALL{{end}}
               SELECT b.lane_seqs, b.batch_id FROM {{$.S}}.ready_claim_attempt_batches_{{$slot}} b
                WHERE b.lane_id = a.lane_id AND b.batch_id > a.seen{{end}}) x
       ) e
{{end}}

{{/* What waits, in the order of its turn, where that isn't a matter of lanes alone: jobs gain priority by waiting, or there are
     several shards, and without an interval in $12 nothing is gained: lane after lane gives its first job, the most urgent first. Within a lane nobody
     overtakes, so that a job comes no sooner than those before it: it counts as waiting since the latest of them. One more
     of each lane than is asked for is looked at, so that what is left of it is seen. The priority in $11 is the lane's own, and
     what waiting makes of it stands in no row (hazard 36). */}}
{{define "in_turn"}}, candidates AS MATERIALIZED (
    SELECT h.rank, h.priority, max(coalesce(c.available_at, c.created_at)) OVER (PARTITION BY h.rank ORDER BY c.lane_seq) AS since, c.*
      FROM unnest($4::integer[], $5::integer[], $6::bigint[], $7::bigint[], $11::smallint[]) AS h(rank, lane_id, lo, hi, priority)
     CROSS JOIN LATERAL (
           SELECT u.*
             FROM ({{range $i, $slot := .Slots}}{{if $i}}
                   UNION ALL{{end}}
                   (SELECT r.* FROM {{$.S}}.ready_entries_{{$slot}} r
                     WHERE r.lane_id = h.lane_id AND r.lane_seq >= h.lo AND r.lane_seq < h.hi
                     ORDER BY r.lane_seq LIMIT $8::integer + 1){{end}}) u
            ORDER BY u.lane_seq LIMIT $8::integer + 1) c
     WHERE (SELECT ok FROM guard)
), in_turn AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY e.priority, c.since, c.rank, c.lane_seq) AS place, c.*
      FROM candidates c
     CROSS JOIN LATERAL (
           SELECT greatest(1, c.priority - coalesce(floor(greatest(0, extract(epoch FROM coalesce($9::timestamptz, statement_timestamp()) - c.since))
                                                          / extract(epoch FROM $12::interval)), 0)) AS priority) e
), rest AS (
    SELECT rank, min(lane_seq) AS lane_seq FROM in_turn WHERE place > $8::integer GROUP BY rank
){{end}}

{{/* The cursors and the prune ledger are read by the statement that writes, which begins after the locks are held; when
     they moved, it picks nothing. A rotation of the queue ring counts too: the new slot may hold lower positions.
     Every unpruned slot that may have something is looked at, merged by position: an open producer may hold a lower
     number in a newer slot, or the reverse (hazard 2). Evidence goes into the rows' own slot, sealed or not.

     There are two forms. The ordinary one writes compact claims alone; when it meets a job that is claimed row-local it
     writes nothing and says so, and the other form, Local, is taken: what row-local claims cost, only those pay who use
     them. There the batches come first, then each row-local claim as a batch of its own. A queue whose jobs age, or that has several
     shards, has a form of its own, too, Merge, which also says where each lane has something left. */}}
{{define "hand_out"}}
/* awa:Claim */
WITH guard AS MATERIALIZED (
    SELECT (SELECT generation FROM {{.S}}.queue_ring_rotations ORDER BY generation DESC LIMIT 1) = $1::bigint
       AND (SELECT generation FROM {{.S}}.claim_ring_rotations ORDER BY generation DESC LIMIT 1) = $2::bigint
       AND NOT EXISTS (SELECT FROM {{.S}}.queue_ring_prunes p WHERE p.generation = ANY ($3::bigint[])) AS ok
){{if .Merge}}{{template "in_turn" .}}{{end}}, picked AS MATERIALIZED (
{{if .Merge}}    SELECT * FROM in_turn WHERE place <= $8::integer
{{else}}    SELECT h.rank, c.*
      FROM unnest($4::integer[], $5::integer[], $6::bigint[], $7::bigint[]) AS h(rank, lane_id, lo, hi)
     CROSS JOIN LATERAL (
           SELECT u.*
             FROM ({{range $i, $slot := .Slots}}{{if $i}}
                   UNION ALL{{end}}
                   (SELECT r.* FROM {{$.S}}.ready_entries_{{$slot}} r
                     WHERE r.lane_id = h.lane_id AND r.lane_seq >= h.lo AND r.lane_seq < h.hi
                     ORDER BY r.lane_seq LIMIT $8::integer){{end}}) u
            ORDER BY u.lane_seq LIMIT $8::integer) c
     WHERE (SELECT ok FROM guard)
     ORDER BY h.rank, c.lane_seq
     LIMIT $8::integer
{{end}}), own AS MATERIALIZED (
    SELECT coalesce(bool_or(time_limit IS NOT NULL), false) AS met FROM picked
), batches AS MATERIALIZED (
    SELECT nextval('{{.S}}.claim_batch_id_seq') AS batch_id, g.*
      FROM (SELECT rank, lane_id, ready_slot, ready_generation, count(*) AS n,
                   range_agg(int8range(lane_seq, lane_seq + 1)) AS positions,
                   array_agg(job_id ORDER BY lane_seq) AS job_ids,
                   array_agg(run_lease + 1 ORDER BY lane_seq) AS run_leases,
                   array_agg(lane_seq ORDER BY lane_seq) AS lane_seqs
              FROM picked
             WHERE {{if .Local}}time_limit IS NULL{{else}}NOT (SELECT met FROM own){{end}}
             GROUP BY rank, lane_id, ready_slot, ready_generation
             ORDER BY rank, ready_generation) g
){{if .Local}}, own_batches AS MATERIALIZED (
    SELECT o.*, nextval('{{.S}}.claim_batch_id_seq') AS batch_id, 0::bigint AS index,
           coalesce($9::timestamptz, statement_timestamp()) + CASE WHEN o.time_limit > '0' THEN o.time_limit ELSE $10::interval END AS deadline_at
      FROM (SELECT * FROM picked
             WHERE time_limit IS NOT NULL AND (SELECT count(*) FROM batches) >= 0 -- their ids come after those
             ORDER BY rank, ready_generation, lane_seq) o
), own_receipts AS (
    INSERT INTO {{.S}}.lease_claims_{{.Claim}}
           (claim_slot, claim_generation, batch_id, claimed_at, deadline_at, ready_slot, ready_generation, lane_id, lane_seq, job_id, run_lease)
    SELECT {{.Claim}}, $2::bigint, batch_id, coalesce($9::timestamptz, statement_timestamp()), deadline_at, ready_slot, ready_generation,
           lane_id, lane_seq, job_id, run_lease + 1
      FROM own_batches
){{end}}{{range $i, $slot := .Slots}}, evidence_{{$slot}} AS (
    INSERT INTO {{$.S}}.ready_claim_attempt_batches_{{$slot}}
           (ready_slot, ready_generation, lane_id, batch_id, claimed_count, lane_seqs)
    SELECT ready_slot, ready_generation, lane_id, batch_id, n, positions FROM batches WHERE ready_slot = {{$slot}}
{{- if $.Local}}
     UNION ALL
    SELECT ready_slot, ready_generation, lane_id, batch_id, 1, int8multirange(int8range(lane_seq, lane_seq + 1)) FROM own_batches WHERE ready_slot = {{$slot}}
{{- end}}
){{end}}, receipts AS (
    INSERT INTO {{.S}}.lease_claim_batches_{{.Claim}}
           (claim_slot, claim_generation, batch_id, claimed_at, ready_slot, ready_generation, lane_id, claimed_count,
            receipt_ranges, job_ids, run_leases, lane_seqs, deadline_at)
    SELECT {{.Claim}}, $2::bigint, batch_id, coalesce($9::timestamptz, statement_timestamp()), ready_slot, ready_generation, lane_id, n,
           int8multirange(int8range(batch_id * 4096, batch_id * 4096 + n)), job_ids, run_leases, lane_seqs,
           coalesce($9::timestamptz, statement_timestamp()) + $10::interval
      FROM batches
), numbered AS (
    SELECT p.*, b.batch_id, row_number() OVER (PARTITION BY b.batch_id ORDER BY p.lane_seq) - 1 AS index,
           coalesce($9::timestamptz, statement_timestamp()) + $10::interval AS deadline_at
      FROM picked p JOIN batches b USING (rank, ready_generation)
{{- if .Local}}
     WHERE p.time_limit IS NULL
     UNION ALL
    SELECT * FROM own_batches
{{- end}}
)
SELECT g.ok, (SELECT met FROM own), n.rank IS NOT NULL, coalesce(n.time_limit IS NOT NULL, false), n.deadline_at, coalesce(n.rank, 0), coalesce(n.lane_id, 0), coalesce(n.lane_seq, 0), coalesce(n.ready_generation, 0),
       coalesce(n.batch_id, 0), coalesce(n.index, 0), coalesce(n.job_id, 0), coalesce(n.run_lease, 0) + 1,
       coalesce(n.attempt, 0) + 1, coalesce(n.max_attempts, 0), coalesce(n.created_at, now()), coalesce(n.kind, ''), coalesce(n.args, 'null')
{{- if .Merge}},
       (SELECT array_agg(rank) FROM rest), (SELECT array_agg(lane_seq) FROM rest)
{{- end}}
  FROM guard g LEFT JOIN numbered n ON true
 ORDER BY {{if .Merge}}n.place{{else}}n.rank, n.lane_seq{{end}}
{{end}}
