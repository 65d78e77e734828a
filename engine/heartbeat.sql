{{/* As try_keys, but beside others who only say that they are alive. Whoever closes takes the key for himself. */}}
{{define "try_shared_keys"}}
/* awa:Lock */
SELECT array_agg(pg_try_advisory_xact_lock_shared(k) ORDER BY place) FROM unnest($1::bigint[]) WITH ORDINALITY AS t(k, place)
{{end}}

{{/* Only of attempts that are open, under the key that closers take: a state never comes back after its attempt is over
     (P3). Rows are written in the order of their key, so that two beats of the same attempts don't wait for each other
     crosswise (hazard 21). */}}
{{define "heartbeat"}}
/* awa:Heartbeat */
{{template "open_members" .}}, beats AS (
    INSERT INTO {{.S}}.attempt_state AS s (job_id, run_lease, receipt_id, heartbeat_at)
    SELECT m.job_id, m.run_lease, m.receipt_id, coalesce($5::timestamptz, statement_timestamp())
      FROM ({{template "closing_members" .}}) m
     ORDER BY m.job_id, m.run_lease
        ON CONFLICT (job_id, run_lease) DO UPDATE SET heartbeat_at = greatest(s.heartbeat_at, excluded.heartbeat_at)
    RETURNING 1 AS n
)
SELECT place, closing::text, '{}', '{}', (SELECT count(*) FROM beats), false FROM closing
{{end}}

{{define "progress"}}
/* awa:Progress */
{{template "open_members" .}}, beats AS (
    INSERT INTO {{.S}}.attempt_state AS s (job_id, run_lease, receipt_id, heartbeat_at, percent, message, metadata)
    SELECT m.job_id, m.run_lease, m.receipt_id, coalesce($5::timestamptz, statement_timestamp()), $6::smallint, $7::text, $8::jsonb
      FROM ({{template "closing_members" .}}) m
        ON CONFLICT (job_id, run_lease) DO UPDATE
       SET heartbeat_at = greatest(s.heartbeat_at, excluded.heartbeat_at), percent = excluded.percent,
           message = coalesce(excluded.message, s.message), metadata = coalesce(excluded.metadata, s.metadata)
    RETURNING 1 AS n
)
SELECT place, closing::text, '{}', '{}', (SELECT count(*) FROM beats), false FROM closing
{{end}}
