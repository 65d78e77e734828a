{{/* Takes the keys that nobody holds, with an id for each job, in the order of the keys: two producers whose batches overlap
     wait for each other in one direction only (hazard 21). A key that an open transaction is taking makes this wait for its
     end, and is taken here when that transaction rolls back (P5, hazard 32). */}}
{{define "take_keys"}}
/* awa:Enqueue */
INSERT INTO {{.S}}.unique_claims (job_id, unique_key, held_in, active)
SELECT nextval('{{.S}}.job_id_seq'), k.unique_key, k.held_in, true
  FROM (SELECT * FROM unnest($1::bytea[], $2::smallint[]) AS k(unique_key, held_in) ORDER BY unique_key) k
    ON CONFLICT (unique_key) WHERE active DO NOTHING
RETURNING unique_key, job_id
{{end}}

{{/* A statement of its own, later than the one that waited: it sees who won. */}}
{{define "key_holders"}}
/* awa:Enqueue */
SELECT unique_key, job_id, held_in FROM {{.S}}.unique_claims WHERE active AND unique_key = ANY ($1::bytea[])
{{end}}

{{/* Before a key is taken from a job that has ended: whoever makes such a job live again locks the row, too. The job is looked
     at by later statements. */}}
{{define "lock_holders"}}
/* awa:Enqueue */
SELECT job_id FROM {{.S}}.unique_claims WHERE active AND unique_key = ANY ($1::bytea[]) ORDER BY unique_key FOR UPDATE
{{end}}

{{define "release_keys"}}
/* awa:Enqueue */
UPDATE {{.S}}.unique_claims SET active = false WHERE active AND job_id = ANY ($1::bigint[])
{{end}}

{{define "unique_wait"}}
/* awa:Enqueue */
SELECT s.before FROM (SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $1::text, true) OFFSET 0) s
{{end}}

{{define "unique_wait_back"}}
/* awa:Enqueue */
SELECT set_config('lock_timeout', $1::text, true)
{{end}}

{{/* Rows of jobs of which nothing is left, among the next $2 after $1, a job. In one statement, in which every table stands by
     name: its snapshot is taken when the locks on all of them are held, so that a job that a prune carries on isn't missed
     between its old row and its new one (hazard 10). Nobody is waited for, and so nobody is waited for in a circle: a
     producer that has the row locked takes it over itself. */}}
{{define "trim_keys"}}
/* awa:TrimKeys */
WITH batch AS MATERIALIZED (
    SELECT job_id FROM {{.S}}.unique_claims WHERE job_id > $1::bigint ORDER BY job_id LIMIT $2::integer
), gone AS MATERIALIZED (
    SELECT u.job_id FROM {{.S}}.unique_claims u JOIN batch USING (job_id)
     WHERE NOT EXISTS (SELECT FROM (SELECT job_id FROM {{.S}}.ready_entries UNION ALL SELECT job_id FROM {{.S}}.deferred_jobs
                                    UNION ALL SELECT job_id FROM {{.S}}.done_entries UNION ALL SELECT job_id FROM {{.S}}.dlq_entries) p
                        WHERE p.job_id = u.job_id)
       FOR UPDATE OF u SKIP LOCKED
), trimmed AS (
    DELETE FROM {{.S}}.unique_claims u USING gone g WHERE u.job_id = g.job_id RETURNING u.job_id
)
SELECT (SELECT max(job_id) FROM batch), (SELECT count(*) FROM trimmed)
{{end}}

{{/* Of jobs that have ended, those that may live again: jobs without a key, and those that still hold theirs. The rows are
     locked, so that nobody takes a key over from a job that is just made live; whoever is doing so has won already (hazard
     32, B116). */}}
{{define "keep_keys"}}
/* awa:RetryFailed */
WITH keyed AS MATERIALIZED (
    SELECT job_id FROM {{.S}}.unique_claims WHERE job_id = ANY ($1::bigint[])
), mine AS MATERIALIZED (
    SELECT job_id FROM {{.S}}.unique_claims WHERE job_id = ANY ($1::bigint[]) AND active ORDER BY unique_key FOR UPDATE SKIP LOCKED
)
SELECT coalesce(array_agg(j.job_id), '{}') FROM unnest($1::bigint[]) AS j(job_id)
 WHERE j.job_id NOT IN (SELECT job_id FROM keyed) OR j.job_id IN (SELECT job_id FROM mine)
{{end}}
