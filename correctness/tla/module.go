package tla

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// flatten gives one module text without an EXTENDS of our own modules: their bodies stand before that of the module
// itself, each once, and the standard modules that any of them extends are extended by the whole.
func flatten(specs fs.FS, module string) (string, error) {
	f := flattener{specs: specs}
	if err := f.add(module); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "---- MODULE %s ----\n", module)
	if len(f.standard) > 0 {
		fmt.Fprintf(&b, "EXTENDS %s\n", strings.Join(f.standard, ", "))
	}
	for _, body := range f.bodies {
		b.WriteString(body)
		b.WriteByte('\n')
	}
	b.WriteString("====\n")
	return b.String(), nil
}

type flattener struct {
	specs    fs.FS
	added    []string
	standard []string
	bodies   []string
}

func (f *flattener) add(module string) error {
	if slices.Contains(f.added, module) {
		return nil
	}
	f.added = append(f.added, module)
	text, err := fs.ReadFile(f.specs, module+".tla")
	if err != nil {
		return fmt.Errorf("module %s: %w", module, err)
	}
	extends, body, err := splitModule(string(text))
	if err != nil {
		return fmt.Errorf("module %s: %w", module, err)
	}
	for _, other := range extends {
		switch _, err := fs.Stat(f.specs, other+".tla"); {
		case err == nil:
			if err := f.add(other); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("module %s: %w", other, err)
		case !slices.Contains(f.standard, other):
			f.standard = append(f.standard, other)
		}
	}
	f.bodies = append(f.bodies, body)
	return nil
}

var (
	moduleHead = regexp.MustCompile(`(?m)^-{4,} *MODULE +\w+ *-{4,}[ \t]*$`)
	moduleTail = regexp.MustCompile(`(?m)^={4,}[ \t]*$`)
	moduleUses = regexp.MustCompile(`\A\s*EXTENDS\s+(\w+(?:\s*,\s*\w+)*)`)
)

// splitModule takes the list of extended modules and the body out of a module's text, which has to hold one module.
func splitModule(text string) (extends []string, body string, err error) {
	text = withoutComments(text)
	heads := moduleHead.FindAllStringIndex(text, -1)
	tail := moduleTail.FindStringIndex(text)
	if len(heads) != 1 || tail == nil || tail[0] < heads[0][1] {
		return nil, "", errors.New("it should have one line `---- MODULE name ----` and after it one `====`")
	}
	body = text[heads[0][1]:tail[0]]
	if m := moduleUses.FindStringSubmatchIndex(body); m != nil {
		for _, name := range strings.Split(body[m[2]:m[3]], ",") {
			extends = append(extends, strings.TrimSpace(name))
		}
		body = body[m[1]:]
	}
	return extends, body, nil
}

// withoutComments blanks out comments, which nest in TLA+, and keeps every other character at its line and column:
// columns carry meaning in TLA+.
func withoutComments(text string) string {
	out := []byte(text)
	depth, inLine, inString := 0, false, false
	for i := 0; i < len(out); i++ {
		two := text[i:min(i+2, len(text))]
		switch {
		case inLine:
			inLine = out[i] != '\n'
		case inString:
			if out[i] == '\\' {
				i++
			} else {
				inString = out[i] != '"'
			}
			continue
		case two == "(*":
			depth++
			out[i], i = ' ', i+1
		case depth > 0 && two == "*)":
			depth--
			out[i], out[i+1], i = ' ', ' ', i+1
			continue
		case depth == 0 && two == `\*`:
			inLine = true
		case depth == 0:
			inString = out[i] == '"'
			continue
		}
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return string(out)
}
