{{define "register_queue"}}
/* awa:RegisterQueue */
SELECT {{.S}}.register_queue($1::text)
{{end}}

{{define "lanes"}}
/* awa:RegisterQueue */
SELECT l.lane_id, l.priority, l.seq::oid, q.shards, v.version
  FROM {{.S}}.lanes l
  JOIN {{.S}}.queues q USING (queue)
 CROSS JOIN {{.S}}.lanes_version v
 WHERE queue = $1::text
 ORDER BY l.priority, l.enqueue_shard
{{end}}
