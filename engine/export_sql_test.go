package engine

import (
	"maps"
	"strings"
	"text/template/parse"
)

// CompleteSQL is Complete's statement for claim slot 0 and queue slot 0, and the settings it runs under.
func (e *Engine) CompleteSQL() (settings, statement string) {
	return e.sql.get("plan_settings", children{}), e.sql.get("complete", children{})
}

// PlanSettings is what hot transactions begin with.
func (e *Engine) PlanSettings() string { return e.sql.get("plan_settings", children{}) }

// Statements renders every statement, fragments left out, for children 1 of both rings, reading the slots 0, 1 and 3.
func (e *Engine) Statements() map[string]string {
	fragments := map[string]bool{}
	for _, t := range templates().Templates() {
		if t.Tree != nil {
			for name := range included(t.Root) {
				fragments[name] = true
			}
		}
	}
	texts := map[string]string{}
	for _, t := range templates().Templates() {
		name := t.Name()
		if fragments[name] || strings.HasSuffix(name, ".sql") {
			continue
		}
		for _, r := range []ring{e.queue, e.claim, e.lease} {
			if of, rest, ok := strings.Cut(name, "_slot_"); ok && (rest == "active" || rest == "proof") && of != r.name {
				continue
			}
			if name == "lock_rest" && len(r.Rest()) == 0 {
				continue // never sent
			}
			at := children{Queue: 1, Claim: 1, Lease: 1, Slots: []int{0, 1, r.slots - 1}[:r.slots/2+1], Ring: r}
			for _, form := range []string{"", " local", " deadline", " local deadline", " timeout", " local timeout", " merge", " local merge"} {
				at.Local, at.Deadline, at.Timeout = strings.Contains(form, "local"), strings.Contains(form, "deadline"), strings.Contains(form, "timeout")
				at.Merge = strings.Contains(form, "merge")
				if name == "rescue_candidates" && at.Timeout {
					continue // never sent: the sweep of waits finds its own
				}
				text := e.sql.get(name, at)
				if form == "" || text != texts[name+" "+r.name] && (!strings.HasPrefix(form, " local ") || text != texts[name+" local "+r.name]) {
					texts[name+form+" "+r.name] = text
				}
			}
		}
	}
	return texts
}

// included lists the templates that a node calls.
func included(n parse.Node) map[string]bool {
	names := map[string]bool{}
	add := func(list *parse.ListNode) {
		if list == nil {
			return
		}
		for _, child := range list.Nodes {
			maps.Copy(names, included(child))
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		add(n)
	case *parse.TemplateNode:
		names[n.Name] = true
	case *parse.RangeNode:
		add(n.List)
		add(n.ElseList)
	case *parse.IfNode:
		add(n.List)
		add(n.ElseList)
	case *parse.WithNode:
		add(n.List)
		add(n.ElseList)
	}
	return names
}

// BodyColumns and HydratedBody are the two lists of a body's columns.
func BodyColumns(e *Engine) string  { return e.sql.get("body_columns", children{}) }
func HydratedBody(e *Engine) string { return e.sql.get("hydrated_body", children{}) }
