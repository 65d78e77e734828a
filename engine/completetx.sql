{{/* The settings that a completion changes, to be put back: the transaction goes on without it (hazard 15). */}}
{{define "callers_settings"}}
/* awa:CompleteTx */
SELECT current_setting('transaction_isolation'),
       ARRAY[current_setting('enable_seqscan'), current_setting('enable_bitmapscan'), current_setting('enable_hashjoin'),
             current_setting('enable_mergejoin'), current_setting('plan_cache_mode'), current_setting('jit')]
{{end}}

{{define "restore_settings"}}
/* awa:CompleteTx */
SELECT set_config('enable_seqscan', ($1::text[])[1], true), set_config('enable_bitmapscan', ($1::text[])[2], true),
       set_config('enable_hashjoin', ($1::text[])[3], true), set_config('enable_mergejoin', ($1::text[])[4], true),
       set_config('plan_cache_mode', ($1::text[])[5], true), set_config('jit', ($1::text[])[6], true)
{{end}}

{{/* In which slots the leases of these attempts stand. Looked at in a savepoint, so that no lock on the other slots stays. */}}
{{define "find_leases"}}
/* awa:CompleteTx */
SELECT l.lease_slot, l.job_id, l.run_lease
  FROM unnest($1::bigint[], $2::bigint[]) AS a(job_id, run_lease) JOIN {{.S}}.leases l ON l.job_id = a.job_id AND l.run_lease = a.run_lease
 ORDER BY l.lease_slot, l.job_id
{{end}}
