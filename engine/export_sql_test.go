package engine

import "strings"

// CompleteSQL is Complete's statement for claim slot 0 and queue slot 0, and the settings it runs under.
func (e *Engine) CompleteSQL() (settings, statement string) {
	return e.sql.get("plan_settings", children{}), e.sql.get("complete", children{})
}

// Statements renders every statement of the engine, by name, for slots that every installation has. Templates that are
// only parts of others are left out: they have no comment that names an operation.
func (e *Engine) Statements() map[string]string {
	all := map[string]string{}
	for _, r := range []ring{e.queue, e.claim} {
		for _, t := range e.sql.templates.Templates() {
			var b strings.Builder
			at := children{Slots: []int{0, 1}, Ring: r}
			if err := t.Execute(&b, statementData{S: e.sql.schema, children: at}); err == nil && strings.Contains(b.String(), "/* awa:") {
				all[t.Name()+" of the "+r.name+" ring"] = strings.TrimSpace(b.String())
			}
		}
	}
	return all
}
