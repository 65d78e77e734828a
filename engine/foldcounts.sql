{{/* The sealed generations, of $1, that have at least $2 deltas, with how many: the most first. */}}
{{define "count_deltas"}}
/* awa:FoldCounts */
SELECT d.generation, d.n
  FROM ({{range $i, $slot := .Slots}}{{if $i}} UNION ALL {{end}}SELECT ($1::bigint[])[{{$i}} + 1] AS generation, (SELECT count(*) FROM {{$.S}}.queue_terminal_count_deltas_{{$slot}}) AS n{{end}}) d
 WHERE d.n >= $2::bigint ORDER BY d.n DESC, d.generation
{{end}}

{{/* Who still sees the world as it was before generation $1 was sealed, or before its deltas were folded last, the oldest
     first: a snapshot, a transaction at work, one that is prepared, a replication slot. The dead rows of a TRUNCATE would
     outlive them. Ordinary traffic is never that old for long, and no clock is asked. A child that was truncated keeps what
     was folded, so that the newest of those rows tells when. */}}
{{define "holders_of_the_past"}}
/* awa:FoldCounts */
WITH since AS (
    SELECT min(age(x)) AS age
      FROM (SELECT xmin AS x FROM {{.S}}.queue_ring_rotations WHERE generation = $1::bigint + 1
             UNION ALL SELECT xmin FROM {{.S}}.queue_terminal_live_counts_{{.Queue}}) folded
), database AS (SELECT oid, datname FROM pg_database WHERE datname = current_database())
SELECT h.pid, coalesce(clock_timestamp() - h.began, interval '0'), h.name
  FROM (SELECT a.pid, a.xact_start AS began, coalesce(a.backend_xid, a.backend_xmin)::text AS name, greatest(age(a.backend_xid), age(a.backend_xmin)) AS age
          FROM pg_stat_activity a WHERE (a.datid IS NULL OR a.datid = (SELECT oid FROM database)) AND a.pid <> pg_backend_pid()
         UNION ALL
        SELECT 0, p.prepared, p.gid, age(p.transaction) FROM pg_prepared_xacts p WHERE p.database = (SELECT datname FROM database)
         UNION ALL
        SELECT 0, NULL, r.slot_name, greatest(age(r.xmin), age(r.catalog_xmin)) FROM pg_replication_slots r) h, since
 WHERE h.age >= since.age
 ORDER BY h.age DESC LIMIT 1
{{end}}

{{/* What was committed while the lock was waited for is visible here: a statement of its own. */}}
{{define "fold_deltas"}}
/* awa:FoldCounts */
INSERT INTO {{.S}}.queue_terminal_live_counts_{{.Queue}} (ready_slot, ready_generation, lane_id, state, live_count)
SELECT ready_slot, ready_generation, lane_id, state, sum(delta) FROM {{.S}}.queue_terminal_count_deltas_{{.Queue}}
 GROUP BY ready_slot, ready_generation, lane_id, state HAVING sum(delta) <> 0
{{end}}

{{define "truncate_deltas"}}
/* awa:FoldCounts */
TRUNCATE {{.S}}.queue_terminal_count_deltas_{{.Queue}}
{{end}}
