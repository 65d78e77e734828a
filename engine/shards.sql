{{define "set_shards"}}
/* awa:SetShards */
SELECT {{.S}}.set_shards($1::text, $2::integer)
{{end}}

{{define "lanes_version"}}
/* awa:Lanes */
SELECT version FROM {{.S}}.lanes_version
{{end}}
