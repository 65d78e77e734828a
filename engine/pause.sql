{{define "pause_queue"}}
/* awa:PauseQueue */
UPDATE {{.S}}.queues SET paused_at = coalesce($2::timestamptz, now()) WHERE queue = $1::text AND paused_at IS NULL
{{end}}

{{define "resume_queue"}}
/* awa:ResumeQueue */
UPDATE {{.S}}.queues SET paused_at = NULL WHERE queue = $1::text AND paused_at IS NOT NULL
{{end}}

{{define "queues"}}
/* awa:Queues */
SELECT queue, registered_at, paused_at, shards FROM {{.S}}.queues WHERE queue > $1::text ORDER BY queue LIMIT $2::integer
{{end}}
