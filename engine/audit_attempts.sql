{{/* P3: who may say that an attempt is open, and that it is over. See audit.sql for the form of these statements. */}}
{{/* The arrays lie beside each other and are read by position: one that is shorter would give a job another job's run
     lease (hazard 28). */}}
{{define "claim_is_whole_audit"}}
/* awa:Audit */
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.lease_claim_batches) looked LEFT JOIN (
    SELECT b.tableoid::regclass::text, b.claim_generation, b.lane_id, NULL::bigint,
           format('claim batch %s says %s members, and has %s jobs, %s run leases, %s positions and the receipts %s', batch_id, claimed_count,
                  cardinality(job_ids), cardinality(run_leases), cardinality(lane_seqs), receipt_ranges)
      FROM {{.S}}.lease_claim_batches b
     WHERE (cardinality(job_ids), cardinality(run_leases), cardinality(lane_seqs)) IS DISTINCT FROM (claimed_count, claimed_count, claimed_count)
        OR receipt_ranges IS DISTINCT FROM int8multirange(int8range(batch_id * 4096, batch_id * 4096 + claimed_count)) LIMIT 20) f ON true
{{end}}

{{/* Without its evidence the position would be handed out again, whatever a cursor remembers (hazard 1). It must be this
     claim's own: another's would mean that two claims took one position, or that a lane was mistaken for another
     (hazard 7). Once the ready generation is pruned there is nothing to compare. */}}
{{define "claim_has_evidence_audit"}}
/* awa:Audit */
WITH spent AS MATERIALIZED ({{template "all_spent" .}}
)
SELECT looked.n, f.* FROM (SELECT (SELECT count(*) FROM {{.S}}.lease_claim_batches) + (SELECT count(*) FROM {{.S}}.lease_claims) AS n) looked LEFT JOIN (
    SELECT a.stands_in, a.claim_generation, a.lane_id, a.job_id,
           format('attempt %s/%s of claim batch %s has %s at position %s of ready generation %s', a.job_id, a.run_lease, a.batch_id,
                  CASE WHEN r.job_id IS NULL THEN 'no ready row' WHEN r.job_id <> a.job_id THEN format('the ready row of job %s', r.job_id)
                       WHEN r.run_lease + 1 <> a.run_lease THEN format('the ready row of attempt %s', r.run_lease + 1)
                       ELSE 'no evidence of its own' END, a.lane_seq, a.ready_generation)
      FROM ({{template "all_attempts" .}}) a
      LEFT JOIN {{.S}}.ready_entries r USING (ready_generation, lane_id, lane_seq)
      LEFT JOIN spent s USING (ready_generation, lane_id, lane_seq, batch_id)
     WHERE a.ready_generation IN {{template "unpruned_ready" .}}
       AND (r.job_id IS DISTINCT FROM a.job_id OR r.run_lease + 1 <> a.run_lease OR s.batch_id IS NULL) LIMIT 20) f ON true
{{end}}

{{/* Each closing and each proof goes by the shape of the claim: one in the wrong table would be closed in the wrong one. */}}
{{define "shape_follows_audit"}}
/* awa:Audit */
SELECT looked.n, f.* FROM (SELECT (SELECT count(*) FROM {{.S}}.lease_claim_batches) + (SELECT count(*) FROM {{.S}}.lease_claims) AS n) looked LEFT JOIN (
    SELECT a.stands_in, a.claim_generation, a.lane_id, a.job_id,
           format('attempt %s/%s stands here, and its job has %s', a.job_id, a.run_lease, CASE WHEN a.local THEN 'no time limit' ELSE 'a time limit of its own' END)
      FROM ({{template "all_attempts" .}}) a JOIN {{.S}}.ready_entries r USING (ready_generation, lane_id, lane_seq)
     WHERE a.local <> (r.time_limit IS NOT NULL) LIMIT 20) f ON true
{{end}}

{{/* Evidence is the only thing that says "claimed" to a claim. Two rows that cover one position are two owners (P3), a count
     that isn't the size of its ranges makes Counts wrong (P9), and evidence where no row is would hide a row that commits
     later (hazard 2). */}}
{{define "handed_out_once_audit"}}
/* awa:Audit */
WITH spent AS MATERIALIZED ({{template "all_spent" .}}
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM spent) looked LEFT JOIN (
    SELECT * FROM (
        SELECT min(stands_in), ready_generation, lane_id, NULL::bigint,
               format('position %s was handed out %s times, by the batches %s', lane_seq, count(*), string_agg(batch_id::text, ', ' ORDER BY batch_id))
          FROM spent GROUP BY ready_generation, lane_id, lane_seq HAVING count(*) > 1
         UNION ALL
        SELECT b.tableoid::regclass::text, b.ready_generation, b.lane_id, NULL, format('the evidence of batch %s counts %s positions and names %s', b.batch_id, b.claimed_count, b.lane_seqs)
          FROM {{.S}}.ready_claim_attempt_batches b
         WHERE b.claimed_count IS DISTINCT FROM (SELECT sum(upper(r) - lower(r)) FROM unnest(b.lane_seqs) r)
         UNION ALL
        SELECT s.stands_in, s.ready_generation, s.lane_id, NULL, format('batch %s took position %s, where there is no ready row', s.batch_id, s.lane_seq)
          FROM spent s LEFT JOIN {{.S}}.ready_entries r USING (ready_generation, lane_id, lane_seq) WHERE r.job_id IS NULL) v LIMIT 20) f ON true
{{end}}

{{/* Two closures of one attempt are two outcomes, and they would hide an open attempt from a proof that compares counts
     (P3, hazard 5). A closure in another slot than its claim's is seen by no proof at all. */}}
{{define "closed_once_audit"}}
/* awa:Audit */
WITH closures AS MATERIALIZED ({{template "all_closures" .}}
), attempts AS MATERIALIZED ({{template "all_attempts" .}}
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM closures) looked LEFT JOIN (
    SELECT * FROM (
        SELECT min(stands_in), claim_generation, min(lane_id), NULL::bigint,
               format('receipt %s was closed %s times, as %s', receipt_id, count(*), string_agg(outcome, ' and ' ORDER BY outcome))
          FROM closures GROUP BY claim_generation, receipt_id HAVING count(*) > 1
         UNION ALL
        SELECT c.stands_in, c.claim_generation, c.lane_id, a.job_id,
               format('receipt %s was closed as %s, and %s', c.receipt_id, c.outcome,
                      CASE WHEN a.receipt_id IS NULL THEN 'its slot holds no such claim' ELSE 'its claim says another lane or ready generation' END)
          FROM closures c LEFT JOIN attempts a USING (claim_generation, local, receipt_id)
         WHERE (a.lane_id, a.ready_generation) IS DISTINCT FROM (c.lane_id, c.ready_generation)
         UNION ALL
        SELECT c.tableoid::regclass::text, c.claim_generation, c.lane_id, NULL,
               format('the closure of batch %s counts %s attempts and names %s', c.batch_id, c.closed_count, c.receipt_ranges)
          FROM {{.S}}.lease_claim_closure_batches c
         WHERE c.closed_count IS DISTINCT FROM (SELECT sum(upper(r) - lower(r)) FROM unnest(c.receipt_ranges) r)
            OR NOT c.receipt_ranges <@ int8range(c.batch_id * 4096, c.batch_id * 4096 + 4096)) v LIMIT 20) f ON true
{{end}}

{{/* P2. Closing an attempt and writing where its job goes is one transaction. A closure alone is worse than none: what is
     closed nobody will rescue (hazard 24). A job that goes on waits outside of the ring, or in a row of the same generation
     or a younger one, which outlives the row that it came from. Where an operator has taken the end away, that says so. */}}
{{define "closure_has_outcome_audit"}}
/* awa:Audit */
WITH closures AS MATERIALIZED ({{template "all_closures" .}}
), ended AS MATERIALIZED ({{template "all_ended" .}}
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM closures) looked LEFT JOIN (
    SELECT a.stands_in, a.claim_generation, a.lane_id, a.job_id,
           format('attempt %s/%s was closed as %s, and %s', a.job_id, a.run_lease, c.outcome,
                  CASE WHEN e.lane_seq IS NOT NULL THEN format('its job ended as %s', e.state) ELSE 'its job went nowhere' END)
      FROM ({{template "all_attempts" .}}) a
      JOIN closures c USING (claim_generation, local, receipt_id)
      LEFT JOIN ended e ON e.ready_generation = a.ready_generation AND e.lane_id = a.lane_id AND e.lane_seq = a.lane_seq
      LEFT JOIN (SELECT job_id, run_lease FROM {{.S}}.ready_entries UNION ALL SELECT job_id, run_lease FROM {{.S}}.deferred_jobs
                 UNION ALL SELECT job_id, run_lease FROM {{.S}}.done_entries WHERE kind IS NOT NULL
                 UNION ALL SELECT job_id, run_lease FROM {{.S}}.dlq_entries) n
             ON n.job_id = a.job_id AND n.run_lease = a.run_lease
     WHERE a.ready_generation IN {{template "unpruned_ready" .}}
       AND a.job_id NOT IN (SELECT job_id FROM {{.S}}.receipt_completion_tombstones)
       AND CASE c.outcome WHEN 'completed' THEN e.state IS DISTINCT FROM 'completed'
                          WHEN 'failed' THEN e.state IS DISTINCT FROM 'failed' AND n.job_id IS NULL
                          WHEN 'dlq' THEN e.state IS NOT NULL OR n.job_id IS NULL
                          WHEN 'cancelled' THEN e.state IS DISTINCT FROM 'cancelled'
                          ELSE (e.state = 'failed') IS NOT TRUE AND n.job_id IS NULL OR e.state = 'completed' END LIMIT 20) f ON true
{{end}}

{{/* P2. A narrow end has no body of its own: its ready row has it, so that both stand in one generation and go together. One
     that were written into the current generation would outlive what it is hydrated from. */}}
{{define "terminal_has_ready_row_audit"}}
/* awa:Audit */
WITH ended AS MATERIALIZED ({{template "all_ended" .}}
), spent AS MATERIALIZED ({{template "all_spent" .}}
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM ended) looked LEFT JOIN (
    SELECT * FROM (
        SELECT e.stands_in, e.ready_generation, e.lane_id, coalesce(e.job_id, r.job_id),
               format('position %s ended as %s, and %s', e.lane_seq, e.state,
                      CASE WHEN r.job_id IS NULL THEN 'there is no ready row in its generation' WHEN s.batch_id IS NULL THEN 'was never handed out'
                           ELSE 'its ready row is of another attempt' END)
          FROM ended e
          LEFT JOIN {{.S}}.ready_entries r USING (ready_generation, lane_id, lane_seq)
          LEFT JOIN spent s USING (ready_generation, lane_id, lane_seq)
         WHERE NOT e.wide AND (r.job_id IS NULL OR s.batch_id IS NULL OR e.job_id <> r.job_id OR e.run_lease <> r.run_lease + 1 AND NOT (e.state = 'cancelled' AND e.run_lease = r.run_lease))
         UNION ALL
        SELECT c.tableoid::regclass::text, c.ready_generation, c.lane_id, NULL, format('the history of batch %s counts %s jobs and names %s', c.batch_id, c.completed_count, c.lane_seqs)
          FROM {{.S}}.receipt_completion_batches c
         WHERE c.completed_count IS DISTINCT FROM (SELECT sum(upper(r) - lower(r)) FROM unnest(c.lane_seqs) r)
         UNION ALL
        SELECT t.tableoid::regclass::text, t.ready_generation, t.lane_id, t.job_id, format('position %s is hidden, and is no success of this job', t.lane_seq)
          FROM {{.S}}.receipt_completion_tombstones t
          LEFT JOIN {{.S}}.ready_entries r USING (ready_generation, lane_id, lane_seq)
          LEFT JOIN (SELECT ready_generation, lane_id, range_agg(lane_seqs) AS seqs FROM {{.S}}.receipt_completion_batches GROUP BY 1, 2) c USING (ready_generation, lane_id)
         WHERE t.lane_seq IS NOT NULL AND (r.job_id IS DISTINCT FROM t.job_id OR (c.seqs @> t.lane_seq) IS NOT TRUE)) v LIMIT 20) f ON true
{{end}}

{{/* P3. Of a job's ready rows the one with the highest run lease tells where the job is. Two with one run lease would be two
     answers. */}}
{{define "one_row_per_lease_audit"}}
/* awa:Audit */
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.ready_entries) looked LEFT JOIN (
    SELECT min(tableoid::regclass::text), min(ready_generation), min(lane_id), job_id,
           format('%s ready rows have the run lease %s', count(*), run_lease)
      FROM {{.S}}.ready_entries GROUP BY job_id, run_lease HAVING count(*) > 1 LIMIT 20) f ON true
{{end}}

{{/* P3, the promise itself; the others say how it is kept. */}}
{{define "one_open_claim_audit"}}
/* awa:Audit */
WITH open AS MATERIALIZED (
    SELECT a.* FROM ({{template "all_attempts" .}}) a LEFT JOIN ({{template "all_closures" .}}) c USING (claim_generation, local, receipt_id)
     WHERE c.receipt_id IS NULL
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM open) looked LEFT JOIN (
    SELECT min(stands_in), min(claim_generation), min(lane_id), job_id,
           format('%s attempts are open: %s', count(*), string_agg(format('%s/%s', job_id, run_lease), ', ' ORDER BY run_lease))
      FROM open GROUP BY job_id HAVING count(*) > 1 LIMIT 20) f ON true
{{end}}

{{/* P3. Whoever holds an older attempt is told that it is over; the newest ready row says which one is the newest. */}}
{{define "open_claim_is_newest_audit"}}
/* awa:Audit */
WITH open AS MATERIALIZED (
    SELECT a.* FROM ({{template "all_attempts" .}}) a LEFT JOIN ({{template "all_closures" .}}) c USING (claim_generation, local, receipt_id)
     WHERE c.receipt_id IS NULL
), newest AS MATERIALIZED (
    SELECT job_id, max(run_lease) AS run_lease FROM {{.S}}.ready_entries GROUP BY job_id
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM open) looked LEFT JOIN (
    SELECT o.stands_in, o.claim_generation, o.lane_id, o.job_id, format('attempt %s/%s is open, and the newest ready row is of attempt %s', o.job_id, o.run_lease, n.run_lease + 1)
      FROM open o JOIN newest n USING (job_id) WHERE n.run_lease + 1 <> o.run_lease LIMIT 20) f ON true
{{end}}

{{/* P2. The outcome of an open attempt will be written beside its ready row, so that PruneQueue waits for it. Its own slot
     needs no question: a claim in a pruned one is a row where none may be. */}}
{{define "open_claim_keeps_slots_audit"}}
/* awa:Audit */
WITH open AS MATERIALIZED (
    SELECT a.* FROM ({{template "all_attempts" .}}) a LEFT JOIN ({{template "all_closures" .}}) c USING (claim_generation, local, receipt_id)
     WHERE c.receipt_id IS NULL
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM open) looked LEFT JOIN (
    SELECT stands_in, claim_generation, lane_id, job_id,
           format('attempt %s/%s is open, and its ready generation %s is pruned', job_id, run_lease, ready_generation)
      FROM open WHERE ready_generation NOT IN {{template "unpruned_ready" .}} LIMIT 20) f ON true
{{end}}

{{/* A rescue or a retry that forgets to look at max_attempts lets a job run for ever (hazard 29). run_lease never falls and
     attempt never passes it: a snooze gives an attempt back, and never a run lease. */}}
{{define "attempts_within_max_audit"}}
/* awa:Audit */
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.ready_entries) looked LEFT JOIN (
    SELECT * FROM (
        SELECT r.tableoid::regclass::text, r.ready_generation, r.lane_id, r.job_id,
               format('the job waits or ran with %s of %s attempts used up, at run lease %s', r.attempt, r.max_attempts, r.run_lease)
          FROM {{.S}}.ready_entries r
         WHERE r.attempt >= r.max_attempts OR r.attempt < 0 OR r.run_lease < r.attempt
         UNION ALL
        SELECT 'deferred_jobs', NULL, d.lane_id, d.job_id,
               format('the job waits with %s of %s attempts used up, at run lease %s', d.attempt, d.max_attempts, d.run_lease)
          FROM {{.S}}.deferred_jobs d
         WHERE d.attempt >= d.max_attempts OR d.attempt < 0 OR d.run_lease < d.attempt) v LIMIT 20) f ON true
{{end}}

{{/* P3. A heartbeat that came back after its attempt was closed would keep nobody alive, and stay for ever. */}}
{{define "state_ends_audit"}}
/* awa:Audit */
WITH open AS MATERIALIZED (
    SELECT a.* FROM ({{template "all_attempts" .}}) a LEFT JOIN ({{template "all_closures" .}}) c USING (claim_generation, local, receipt_id)
     WHERE c.receipt_id IS NULL
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.attempt_state) looked LEFT JOIN (
    SELECT 'attempt_state', NULL::bigint, NULL::integer, s.job_id, format('attempt %s/%s has a state, and is not open under receipt %s', s.job_id, s.run_lease, s.receipt_id)
      FROM {{.S}}.attempt_state s LEFT JOIN open o ON o.receipt_id = s.receipt_id AND o.job_id = s.job_id AND o.run_lease = s.run_lease
     WHERE o.receipt_id IS NULL LIMIT 20) f ON true
{{end}}

{{/* P3. A lease that outlives its attempt would keep its slot for ever, and its token would still be taken; one that the
     attempt's state doesn't tell of would be left by whoever closes the attempt (hazards 24 and 33). */}}
{{define "waiting_is_open_audit"}}
/* awa:Audit */
WITH open AS MATERIALIZED (
    SELECT a.* FROM ({{template "all_attempts" .}}) a LEFT JOIN ({{template "all_closures" .}}) c USING (claim_generation, local, receipt_id)
     WHERE c.receipt_id IS NULL
)
SELECT looked.n, f.* FROM (SELECT count(*) AS n FROM {{.S}}.leases) looked LEFT JOIN (
    SELECT * FROM (
        SELECT l.tableoid::regclass::text, l.lease_generation, l.lane_id, l.job_id,
               format('attempt %s/%s waits, and %s', l.job_id, l.run_lease,
                      CASE WHEN o.job_id IS NULL THEN 'is not open under receipt ' || l.receipt_id
                           WHEN s.leased THEN 'its callback has come' ELSE 'its state doesn''t say so' END)
          FROM {{.S}}.leases l
          LEFT JOIN open o ON o.claim_generation = l.claim_generation AND o.local = l.local AND o.receipt_id = l.receipt_id
                          AND o.job_id = l.job_id AND o.run_lease = l.run_lease AND o.ready_generation = l.ready_generation AND o.lane_id = l.lane_id
          LEFT JOIN {{.S}}.attempt_state s ON s.job_id = l.job_id AND s.run_lease = l.run_lease
         WHERE o.job_id IS NULL OR s.leased IS NOT TRUE OR s.callback_token = l.token OR s.early ? encode(l.token, 'hex')
         UNION ALL
        SELECT min(l.tableoid::regclass::text), NULL, min(l.lane_id), l.job_id, format('attempt %s/%s waits %s times at once', l.job_id, l.run_lease, count(*))
          FROM {{.S}}.leases l GROUP BY l.job_id, l.run_lease HAVING count(*) > 1) v LIMIT 20) f ON true
{{end}}
