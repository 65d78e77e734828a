package tla

import (
	"regexp"
	"slices"
	"strings"
)

// definitions maps the operators of a module text to their bodies. It is no parser of TLA+: it relies on definitions
// beginning in the first column, as ours do.
type definitions map[string]string

var definitionHead = regexp.MustCompile(`(?m)^(?:LOCAL +)?(\w+)(?: *\([^)]*\))? *==`)

// paragraphHead is what else ends a body when it begins a line.
var paragraphHead = regexp.MustCompile(`(?m)^(?:-{4,}|={4,}|(?:CONSTANTS?|VARIABLES?|ASSUME|ASSUMPTION|THEOREM|INSTANCE|RECURSIVE|LOCAL)\b)`)

func definitionsOf(text string) definitions {
	text = withoutComments(text)
	defs := definitions{}
	heads := definitionHead.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := text[h[1]:end]
		if p := paragraphHead.FindStringIndex(body); p != nil {
			body = body[:p[0]]
		}
		defs[text[h[2]:h[3]]] = strings.TrimSpace(body)
	}
	return defs
}

var boxAction = regexp.MustCompile(`\[\]\s*\[\s*(\w+)\s*\]_`)

// next finds the next-state action of a configuration, "" when the spec isn't written as Init /\ [][Next]_vars with
// names that we can follow.
func (d definitions) next(c config) string {
	if c.next != "" {
		return c.next
	}
	for name, hops := c.specification, 0; hops < len(d); hops++ {
		if m := boxAction.FindStringSubmatch(d[name]); m != nil {
			return m[1]
		}
		first := operatorName.FindString(strings.TrimLeft(d[name], "/\\ \n\t"))
		if _, ok := d[first]; !ok {
			return ""
		}
		name = first
	}
	return ""
}

// safetyProperty says of a PROPERTY whether it constrains states or steps everywhere ([]P and [][A]_v) instead of
// promising that something happens.
func (d definitions) safetyProperty(name string) bool {
	body := strings.Join(strings.Fields(d[name]), "")
	return strings.HasPrefix(body, "[]") && !strings.Contains(body, "<>") && !strings.Contains(body, "~>")
}

// actions lists the named actions of which an action is the disjunction, as the checkers name them on edges.
func (d definitions) actions(name string) []string {
	leaves := d.leaves(name, nil)
	slices.Sort(leaves)
	return slices.Compact(leaves)
}

func (d definitions) leaves(name string, above []string) []string {
	if slices.Contains(above, name) {
		return nil
	}
	above = append(slices.Clone(above), name)
	var leaves []string
	for _, part := range disjuncts(d[name]) {
		called := strings.TrimSpace(operatorCall.ReplaceAllString(part, "$1"))
		if _, ok := d[called]; ok {
			leaves = append(leaves, d.leaves(called, above)...)
		} else if d.changes(part, nil) {
			leaves = append(leaves, name) // steps are described here
		}
	}
	return leaves
}

// changes says whether a formula speaks of the next state, itself or by an operator that it uses.
func (d definitions) changes(formula string, above []string) bool {
	if strings.Contains(formula, "'") || strings.Contains(formula, "UNCHANGED") {
		return true
	}
	return slices.ContainsFunc(word.FindAllString(formula, -1), func(name string) bool {
		body, ok := d[name]
		return ok && !slices.Contains(above, name) && d.changes(body, append(slices.Clone(above), name))
	})
}

var (
	operatorName = regexp.MustCompile(`^\w+`)
	word         = regexp.MustCompile(`\w+`)
	// operatorCall is a call and nothing else. Its arguments may hold one level of brackets.
	operatorCall = regexp.MustCompile(`^(\w+)(?:\s*\((?:[^()]|\([^()]*\))*\))?$`)
	quantifier   = regexp.MustCompile(`^\\E[^:]*:`)
)

// disjuncts splits an action at its outermost \/, looking through quantifiers and brackets around the whole.
func disjuncts(body string) []string {
	body = strings.TrimSpace(body)
	for {
		bare := strings.TrimSpace(quantifier.ReplaceAllString(strings.TrimPrefix(body, `\/`), ""))
		if wrapped(bare) {
			bare = strings.TrimSpace(bare[1 : len(bare)-1])
		}
		if bare == body {
			break
		}
		if parts := splitDisjunction(body); len(parts) > 1 {
			break
		}
		body = bare
	}
	parts := splitDisjunction(body)
	if len(parts) == 1 {
		return parts
	}
	var all []string
	for _, part := range parts {
		all = append(all, disjuncts(part)...)
	}
	return all
}

// wrapped says whether one pair of brackets encloses the whole text.
func wrapped(text string) bool {
	if !strings.HasPrefix(text, "(") {
		return false
	}
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return i == len(text)-1
		}
	}
	return false
}

func splitDisjunction(body string) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(body) {
		switch body[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\\':
			if depth == 0 && strings.HasPrefix(body[i:], `\/`) {
				parts = append(parts, body[start:i])
				start = i + 2
			}
		}
	}
	parts = append(parts, body[start:])
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" })
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
