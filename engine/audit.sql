{{/* Each audit statement is one SELECT in which every table stands by name, as counts is (P9): it judges one moment, also
     while everything goes on. It answers how many rows it looked at, and up to twenty violations: table, generation, lane, job,
     and words. A row in which the words are null only tells how much was looked at.

     The parts spread what the tables hold compactly into one row per attempt, closure, position or job. Ranges are cut to
     what a batch can hold, so that a corrupt one doesn't become a billion rows; that it was cut is a violation elsewhere. */}}
{{/* Children are never analyzed, so that the planner takes each for empty and would go through one for every row of
     another: no nested loops (hazard 13). Of a range it believes the reverse, a thousand rows each, so that it would start
     workers for them, and prepare for hash tables of a billion rows, in ten thousands of files: no hash joins. What is left
     sorts what is there. */}}
{{define "audit_settings"}}
/* awa:Audit */
SELECT set_config('jit', 'off', true), set_config('enable_nestloop', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('max_parallel_workers_per_gather', '0', true)
{{end}}

{{define "audit_lanes"}}
/* awa:Audit */
SELECT lane_id, queue, priority, enqueue_shard FROM {{.S}}.lanes
{{end}}

{{define "unpruned_ready"}}
(SELECT generation FROM {{.S}}.queue_ring_rotations EXCEPT SELECT generation FROM {{.S}}.queue_ring_prunes)
{{end}}

{{/* One row per attempt that the claim ring knows, with the shape of its claim. */}}
{{define "all_attempts"}}
    SELECT l.tableoid::regclass::text AS stands_in, l.claim_generation, true AS local, l.batch_id, l.ready_generation, l.lane_id,
           l.batch_id * 4096 AS receipt_id, l.job_id, l.run_lease, l.lane_seq
      FROM {{.S}}.lease_claims l
     UNION ALL
    SELECT b.tableoid::regclass::text AS stands_in, b.claim_generation, false, b.batch_id, b.ready_generation, b.lane_id,
           b.batch_id * 4096 + m.place - 1 AS receipt_id, m.job_id, m.run_lease, m.lane_seq
      FROM {{.S}}.lease_claim_batches b
     CROSS JOIN LATERAL unnest(b.job_ids, b.run_leases, b.lane_seqs) WITH ORDINALITY AS m(job_id, run_lease, lane_seq, place)
{{end}}

{{/* One row per closed receipt and closure that covers it. A closure of another shape than its claim's closes nothing: the
     proofs don't see it. */}}
{{define "all_closures"}}
    SELECT l.tableoid::regclass::text AS stands_in, l.claim_generation, true AS local, l.receipt_id / 4096 AS batch_id, l.ready_generation,
           l.lane_id, l.outcome, l.receipt_id
      FROM {{.S}}.lease_claim_closures l
     UNION ALL
    SELECT c.tableoid::regclass::text AS stands_in, c.claim_generation, false, c.batch_id, c.ready_generation, c.lane_id, c.outcome, n.receipt_id
      FROM {{.S}}.lease_claim_closure_batches c
     CROSS JOIN LATERAL unnest(c.receipt_ranges * int8multirange(int8range(c.batch_id * 4096, c.batch_id * 4096 + 4096))) AS r
     CROSS JOIN LATERAL generate_series(lower(r), upper(r) - 1) AS n(receipt_id)
{{end}}

{{/* One row per lane position and evidence that covers it. */}}
{{define "all_spent"}}
    SELECT b.tableoid::regclass::text AS stands_in, b.ready_generation, b.lane_id, b.batch_id, n.lane_seq
      FROM {{.S}}.ready_claim_attempt_batches b
     CROSS JOIN LATERAL unnest(b.lane_seqs) AS r
     CROSS JOIN LATERAL generate_series(lower(r), least(upper(r), lower(r) + 4096) - 1) AS n(lane_seq)
{{end}}

{{/* One row per lane position at which an attempt ended for good. */}}
{{define "all_ended"}}
    SELECT c.tableoid::regclass::text AS stands_in, c.ready_generation, c.lane_id, n.lane_seq, NULL::bigint AS job_id,
           NULL::bigint AS run_lease, 'completed' AS state, false AS wide
      FROM {{.S}}.receipt_completion_batches c
     CROSS JOIN LATERAL unnest(c.lane_seqs) AS r
     CROSS JOIN LATERAL generate_series(lower(r), least(upper(r), lower(r) + 4096) - 1) AS n(lane_seq)
     WHERE NOT EXISTS (SELECT FROM {{.S}}.receipt_completion_tombstones t
                        WHERE t.ready_generation = c.ready_generation AND t.lane_id = c.lane_id AND t.lane_seq = n.lane_seq)
     UNION ALL
    SELECT d.tableoid::regclass::text, d.ready_generation, d.lane_id, d.lane_seq, d.job_id, d.run_lease, d.state, d.kind IS NOT NULL
      FROM {{.S}}.done_entries d
{{end}}

{{/* One row per place where a job is: a committed job has exactly one, until its history is pruned. */}}
{{define "all_places"}}
WITH spent AS MATERIALIZED ({{template "all_spent" .}}
), ended AS MATERIALIZED ({{template "all_ended" .}}
), closures AS MATERIALIZED ({{template "all_closures" .}}
), places AS MATERIALIZED (
    SELECT r.job_id, r.lane_id, 'available' AS state, r.tableoid::regclass::text AS stands_in, r.ready_generation AS generation
      FROM {{.S}}.ready_entries r LEFT JOIN spent s USING (ready_generation, lane_id, lane_seq) WHERE s.lane_seq IS NULL
     UNION ALL
    SELECT d.job_id, d.lane_id, d.state, 'deferred_jobs', NULL FROM {{.S}}.deferred_jobs d
     UNION ALL
    SELECT a.job_id, a.lane_id, CASE WHEN w.job_id IS NULL THEN 'running' ELSE 'waiting' END, a.stands_in, a.claim_generation
      FROM ({{template "all_attempts" .}}) a LEFT JOIN closures c USING (claim_generation, local, receipt_id)
      LEFT JOIN (SELECT DISTINCT job_id, run_lease FROM {{.S}}.leases) w ON w.job_id = a.job_id AND w.run_lease = a.run_lease
     WHERE c.receipt_id IS NULL
     UNION ALL
    SELECT coalesce(e.job_id, r.job_id), e.lane_id, e.state, e.stands_in, e.ready_generation
      FROM ended e LEFT JOIN {{.S}}.ready_entries r USING (ready_generation, lane_id, lane_seq)
     UNION ALL
    SELECT d.job_id, d.lane_id, 'dlq', 'dlq_entries', NULL FROM {{.S}}.dlq_entries d
     UNION ALL
    SELECT t.job_id, t.lane_id, 'removed', t.tableoid::regclass::text, t.ready_generation FROM {{.S}}.receipt_completion_tombstones t
)
{{end}}

{{/* P2. A claim that was pruned while it was open, or a closure without its outcome, loses a job: the ready row says that it
     was handed out, and nothing says to whom. Of a job whose ready rows were all pruned nothing is left to ask. */}}
{{define "job_is_lost_audit"}}
/* awa:Audit */
{{template "all_places" .}}
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.ready_entries) looked LEFT JOIN (
    SELECT r.tableoid::regclass::text, r.ready_generation, r.lane_id, r.job_id,
           format('position %s was handed out, and the job neither runs nor waits nor has ended', r.lane_seq)
      FROM {{.S}}.ready_entries r LEFT JOIN places p USING (job_id) WHERE p.job_id IS NULL LIMIT 20) f ON true
{{end}}

{{/* P2, P3. A job that waits while it runs will have two owners; one that ended while it waits will run after its end. That
     a carried, retried or moved row is at one place after it was at another is the same promise. */}}
{{define "job_is_twice_audit"}}
/* awa:Audit */
{{template "all_places" .}}
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM places) looked LEFT JOIN (
    SELECT NULL::text, NULL::bigint, min(lane_id), job_id,
           format('the job is in %s places at once: %s', count(*), string_agg(state || ' (' || stands_in || coalesce(', generation ' || generation, '') || ')', ' and '))
      FROM places GROUP BY job_id HAVING count(*) > 1 LIMIT 20) f ON true
{{end}}

{{/* P9. Counts adds up columns, so that it needs no row of its own; here the columns are held against the rows. The tables
     know nothing of jobs: that their differences are the jobs is what is claimed. */}}
{{define "counts_audit"}}
/* awa:Audit */
{{template "all_places" .}}, sums AS (
    SELECT lane_id, sum(available) AS available, sum(running) AS running, sum(completed) AS completed
      FROM (SELECT lane_id, 1 AS available, 0 AS running, 0 AS completed FROM {{.S}}.ready_entries
            UNION ALL SELECT lane_id, -claimed_count, 0, 0 FROM {{.S}}.ready_claim_attempt_batches
            UNION ALL SELECT lane_id, 0, claimed_count, 0 FROM {{.S}}.lease_claim_batches
            UNION ALL SELECT lane_id, 0, -closed_count, 0 FROM {{.S}}.lease_claim_closure_batches
            UNION ALL SELECT lane_id, 0, 1, 0 FROM {{.S}}.lease_claims
            UNION ALL SELECT lane_id, 0, -1, 0 FROM {{.S}}.lease_claim_closures
            UNION ALL SELECT lane_id, 0, -1, 0 FROM {{.S}}.leases
            UNION ALL SELECT lane_id, 0, 0, completed_count FROM {{.S}}.receipt_completion_batches
            UNION ALL SELECT lane_id, 0, 0, -1 FROM {{.S}}.receipt_completion_tombstones WHERE lane_seq IS NOT NULL
            UNION ALL SELECT lane_id, 0, 0, 1 FROM {{.S}}.done_entries WHERE state = 'completed') s
     GROUP BY lane_id
), rows AS (
    SELECT lane_id, count(*) FILTER (WHERE state = 'available') AS available, count(*) FILTER (WHERE state = 'running') AS running,
           count(*) FILTER (WHERE state = 'completed') AS completed
      FROM places GROUP BY lane_id
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM places) looked LEFT JOIN (
    SELECT NULL::text, NULL::bigint, lane_id, NULL::bigint,
           format('the counted columns add up to %s available, %s running, %s completed; the rows are %s, %s, %s',
                  coalesce(s.available, 0), coalesce(s.running, 0), coalesce(s.completed, 0),
                  coalesce(r.available, 0), coalesce(r.running, 0), coalesce(r.completed, 0))
      FROM sums s FULL JOIN rows r USING (lane_id)
     WHERE (coalesce(s.available, 0), coalesce(s.running, 0), coalesce(s.completed, 0))
           <> (coalesce(r.available, 0), coalesce(r.running, 0), coalesce(r.completed, 0)) LIMIT 20) f ON true
{{end}}

{{/* A job that got a key which another live job holds is a duplicate that was promised not to be. Of jobs with one key that
     have ended there may be many: each kept its key until the next one took it. */}}
{{define "keys_audit"}}
/* awa:Audit */
{{template "all_places" .}}
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.unique_claims) looked LEFT JOIN (
    SELECT * FROM (
        SELECT 'unique_claims', NULL::bigint, min(p.lane_id), min(u.job_id),
               format('%s live jobs have the key %s: %s', count(*), encode(u.unique_key, 'hex'), string_agg(u.job_id || ' (' || p.state || ')', ', ' ORDER BY u.job_id))
          FROM {{.S}}.unique_claims u JOIN places p USING (job_id)
         WHERE p.state IN ('available', 'scheduled', 'retryable', 'running', 'waiting')
         GROUP BY u.unique_key HAVING count(*) > 1
         UNION ALL
        SELECT 'unique_claims', NULL, p.lane_id, u.job_id, 'the job is ' || p.state || ', and its key is another''s or nobody''s'
          FROM {{.S}}.unique_claims u JOIN places p USING (job_id)
         WHERE NOT u.active AND p.state IN ('available', 'scheduled', 'retryable', 'running', 'waiting')) v LIMIT 20) f ON true
{{end}}

{{/* P9, hazard 9: by generation, since a slot that is entered again must not inherit what its last one counted. */}}
{{define "counts_kept_audit"}}
/* awa:Audit */
WITH counted AS MATERIALIZED ({{template "counts_apart" .}})
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM counted) looked LEFT JOIN (
    SELECT 'done_entries', ready_generation, lane_id, NULL::bigint, format('there are %s %s rows, and %s are counted', rows, state, kept)
      FROM counted WHERE kept <> rows LIMIT 20) f ON true
{{end}}
