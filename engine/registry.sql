{{define "register_queue"}}
/* awa:RegisterQueue */
SELECT {{.S}}.register_queue($1::text)
{{end}}

{{define "lanes"}}
/* awa:RegisterQueue */
SELECT lane_id, priority, seq::oid
FROM {{.S}}.lanes
WHERE queue = $1::text
ORDER BY priority, enqueue_shard
{{end}}
