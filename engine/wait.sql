{{define "lock_lease"}}
/* awa:Park */
LOCK TABLE {{.S}}.leases_{{.Lease}} IN ROW EXCLUSIVE MODE
{{end}}

{{/* One row when the attempt is open, none when it is over. The lease is looked for in every slot, by the attempt: where it
     was parked the last time nobody knows (hazard 6). */}}
{{define "look_at_wait"}}
/* awa:Wait */
{{template "open_members" .}}
SELECT m.lane_id, l.lease_slot, l.token, s.callback_token, s.callback::text, (s.early -> encode($5::bytea, 'hex'))::text,
       (SELECT count(*) FROM jsonb_object_keys(coalesce(s.early, '{}'))),
       (SELECT generation FROM {{.S}}.lease_ring_rotations ORDER BY generation DESC LIMIT 1) = $6::bigint
  FROM ({{template "closing_members" .}}) m
  LEFT JOIN {{.S}}.attempt_state s ON s.job_id = m.job_id AND s.run_lease = m.run_lease
  LEFT JOIN {{.S}}.leases l ON l.job_id = m.job_id AND l.run_lease = m.run_lease
{{end}}

{{/* The cursor was looked at by an earlier statement, but under the lock on this child: it can't be pruned before this
     transaction ends, and a rotation since then only makes the slot a sealed one, which a prune finds not empty. */}}
{{define "park"}}
/* awa:Park */
INSERT INTO {{.S}}.leases_{{.Lease}}
       (lease_slot, lease_generation, job_id, run_lease, receipt_id, claim_generation, ready_generation, parked_at, timeout_at, lane_id, local, token)
VALUES ({{.Lease}}, $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, coalesce($7::timestamptz, statement_timestamp()),
        coalesce($7::timestamptz, statement_timestamp()) + $8::interval, $9::integer, $10::boolean, $11::bytea)
{{end}}

{{/* Whoever closes the attempt finds here that it has a lease, without looking at the leases of those that have none. */}}
{{define "park_state"}}
/* awa:Park */
INSERT INTO {{.S}}.attempt_state AS s (job_id, run_lease, receipt_id, heartbeat_at, leased)
VALUES ($1::bigint, $2::bigint, $3::bigint, coalesce($4::timestamptz, statement_timestamp()), true)
    ON CONFLICT (job_id, run_lease) DO UPDATE SET heartbeat_at = greatest(s.heartbeat_at, excluded.heartbeat_at), leased = true
{{end}}

{{define "unpark"}}
/* awa:Resume */
DELETE FROM {{.S}}.leases_{{.Lease}} WHERE job_id = $1::bigint AND run_lease = $2::bigint
{{end}}

{{define "deliver"}}
/* awa:Resume */
INSERT INTO {{.S}}.attempt_state AS s (job_id, run_lease, receipt_id, heartbeat_at, callback_token, callback)
VALUES ($1::bigint, $2::bigint, $3::bigint, coalesce($4::timestamptz, statement_timestamp()), $5::bytea, $6::jsonb)
    ON CONFLICT (job_id, run_lease) DO UPDATE
   SET heartbeat_at = greatest(s.heartbeat_at, excluded.heartbeat_at), callback_token = excluded.callback_token, callback = excluded.callback,
       early = nullif(s.early - encode($5::bytea, 'hex'), '{}')
{{end}}

{{define "keep_early"}}
/* awa:Resume */
INSERT INTO {{.S}}.attempt_state AS s (job_id, run_lease, receipt_id, early)
VALUES ($1::bigint, $2::bigint, $3::bigint, jsonb_build_object(encode($4::bytea, 'hex'), $5::jsonb))
    ON CONFLICT (job_id, run_lease) DO UPDATE SET early = coalesce(s.early, '{}') || excluded.early
{{end}}
