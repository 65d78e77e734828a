{{/* A job's body: the columns that a ready row has beside its place, its ids and its attempts, and so what makes a terminal
     row wide. The two lists are one list; a test compares them with the tables. */}}
{{define "body_columns"}}created_at, max_attempts, kind, args, time_limit{{end}}

{{/* The body of terminal row d: its own, or that of ready row r when it is narrow. */}}
{{define "hydrated_body"}}coalesce(d.created_at, r.created_at), coalesce(d.max_attempts, r.max_attempts), coalesce(d.kind, r.kind), coalesce(d.args, r.args), coalesce(d.time_limit, r.time_limit){{end}}
