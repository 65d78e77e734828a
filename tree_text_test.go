package awa_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

func checkOpenEnds(tr *tree, f *findings) {
	open := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX|HA` + `CK)\b`)
	for _, name := range tr.sources() {
		eachMatch(tr, name, open, func(line int, match string) {
			f.breach("%s:%d: %s: finish it, or file an issue", name, line, match)
		})
	}
}

var breachOfOpenEnds = &tree{text: map[string]string{"engine/a.sql": "SELECT 1; -- TO" + "DO the rest\n"}}

// checkWords looks everywhere for what only makes sense on one machine. The words are written in two parts, so that
// this file may be looked at too.
func checkWords(tr *tree, f *findings) {
	foreign := regexp.MustCompile(`(?i)(?:^|[\s"'(=:])(/(?:wo` + `rk|ro` + `ot|ho` + `me|us` + `ers)/)` +
		`|proxy\.go` + `lang\.org|sum\.go` + `lang\.org|registry\.np` + `mjs\.org|deb\.deb` + `ian\.org`)
	for _, name := range tr.paths("") {
		if strings.HasSuffix(name, "go.sum") {
			continue
		}
		eachMatch(tr, name, foreign, func(line int, match string) {
			f.breach("%s:%d: %q has no place in the repository", name, line, strings.TrimSpace(match))
		})
	}
}

var breachOfWords = &tree{text: map[string]string{"docs/a.md": "See /wo" + "rk/main for more.\n"}}

func eachMatch(tr *tree, name string, pattern *regexp.Regexp, found func(line int, match string)) {
	if !pattern.MatchString(tr.text[name]) {
		return
	}
	for i, text := range strings.Split(tr.text[name], "\n") {
		if match := pattern.FindString(text); match != "" {
			found(i+1, match)
		}
	}
}

// What carries comments, and how much: under the floor fails, outside the wanted range is told.
const (
	densityFrom   = 500 // lines; with fewer there is no telling
	densityFloor  = 1.0 / 6
	densityWanted = 1.0 / 5
	densityMuch   = 1.0 / 3
)

func checkDensity(tr *tree, f *findings) {
	for _, area := range []string{"engine/", "model/", "correctness/tla/"} {
		lines, comments := 0, 0
		for _, name := range tr.paths(".go", ".sql", ".tla") {
			tool := area == "correctness/tla/" && strings.HasSuffix(name, ".go") // only the specs are the core here
			if strings.HasPrefix(name, area) && !strings.HasSuffix(name, "_test.go") && !tool {
				n, c := countComments(path.Ext(name), tr.text[name])
				lines, comments = lines+n, comments+c
			}
		}
		share := float64(comments) / float64(max(lines, 1))
		f.note("%s: %d of %d lines are comments (%.0f %%)", area, comments, lines, 100*share)
		switch {
		case lines <= densityFrom:
		case share < densityFloor:
			f.breach("%s: %.0f %% of its lines are comments, fewer than a sixth: say why and what must stay true", area, 100*share)
		case share < densityWanted:
			f.note("%s: fewer comments than a fifth", area)
		case share > densityMuch:
			f.note("%s: more comments than a third", area)
		}
	}
}

// countComments counts the lines of a text that aren't blank, and those of them that carry a comment, also at their end.
func countComments(ext, text string) (lines, comments int) {
	opens, closes, single := "/*", "*/", "//"
	switch ext {
	case ".sql":
		single = "--"
	case ".tla":
		opens, closes, single = "(*", "*)", `\*`
	}
	if ext == ".sql" { // the engine's statements are templates, whose comments stand in braces
		text = strings.NewReplacer("{{/*", "/*", "*/}}", "*/").Replace(text)
	}
	inside := false
	for line := range strings.Lines(text) {
		line = " " + strings.TrimSpace(line)
		if line == " " {
			continue
		}
		lines++
		if inside || strings.Contains(line, " "+opens) || strings.Contains(line, " "+single) {
			comments++
		}
		if inside || strings.Contains(line, " "+opens) {
			inside = !strings.HasSuffix(line, closes)
		}
	}
	return lines, comments
}

var breachOfDensity = &tree{text: map[string]string{
	"engine/a.sql": strings.Repeat("-- why\nSELECT 1;\nSELECT 2;\nSELECT 3;\nSELECT 4;\nSELECT 5;\nSELECT 6;\n", 100),
}}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func checkLinks(tr *tree, f *findings) {
	for _, name := range tr.paths(".md") {
		for _, m := range link.FindAllStringSubmatch(tr.text[name], -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if !tr.exists(path.Join(path.Dir(name), target)) {
				f.breach("%s: the link to %s leads nowhere", name, target)
			}
		}
	}
}

// exists says whether there is such a file, or a folder with files in it.
func (tr *tree) exists(name string) bool {
	for other := range tr.text {
		if other == name || strings.HasPrefix(other, strings.TrimSuffix(name, "/")+"/") {
			return true
		}
	}
	return false
}

var breachOfLinks = &tree{text: map[string]string{"README.md": "See [the map](ARCHITECTURE.md).\n"}}

// checkDecisions wants each record in the list of docs/adr/README.md; checkLinks holds the other direction.
func checkDecisions(tr *tree, f *findings) {
	const folder = "docs/adr/"
	var listed []string
	for _, m := range link.FindAllStringSubmatch(tr.text[folder+"README.md"], -1) {
		listed = append(listed, m[1])
	}
	for _, name := range tr.paths(".md") {
		if record, ok := strings.CutPrefix(name, folder); ok && record != "README.md" && !slices.Contains(listed, record) {
			f.breach("%s isn't listed in %sREADME.md", name, folder)
		}
	}
}

var breachOfDecisions = &tree{text: map[string]string{"docs/adr/README.md": "None.\n", "docs/adr/0001-a.md": "# A\n"}}
