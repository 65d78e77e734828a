package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// reachedVariable names the file that a mutated program makes when it comes by the changed place.
const reachedVariable = "AWA_MUTANT_REACHED"

// reachedSource is added to the package with the defect. One file for all processes, made once: the place may be passed
// a million times.
const reachedSource = `package %s

import (
	"os"
	"strings"
	"sync"
)

var mutantOnce sync.Once

func mutantReached() bool {
	mutantOnce.Do(func() {
		if f, err := os.OpenFile(os.Getenv(%q), os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			f.Close()
		}
	})
	return true
}

// mutantStatement takes the mark out of a statement that is about to be sent.
func mutantStatement(text string) string {
	if plain := strings.ReplaceAll(text, %q, ""); plain != text {
		mutantReached()
		return plain
	}
	return text
}
`

// hooks are where the SQL of a folder passes on its way to the server: the mark of a statement is noticed there.
var hooks = map[string]struct{ file, text, replacement string }{
	"engine": {
		"engine/statements.go", "text = strings.TrimSpace(b.String())", "text = mutantStatement(strings.TrimSpace(b.String()))",
	},
	"engine/schema": {
		"engine/schema/schema.go", "return text.String(), nil", "return mutantStatement(text.String()), nil",
	},
}

// overlayFiles returns the files that take the place of the tree's, by path in the tree. read reads a file of the tree.
func overlayFiles(d *Defect, read func(string) (string, error)) (map[string]string, error) {
	files := map[string]string{}
	edit := func(file, text, replacement string) error {
		content, done := files[file]
		if !done {
			var err error
			if content, err = read(file); err != nil {
				return err
			}
		}
		content, err := replaceOnce(content, text, replacement)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		files[file] = content
		return nil
	}
	if err := edit(d.File, d.Text, d.Replacement); err != nil {
		return nil, err
	}
	folder := path.Dir(d.File)
	if d.mark() == sqlMark {
		h := hooks[folder]
		if err := edit(h.file, h.text, h.replacement); err != nil {
			return nil, err
		}
	}
	if d.mark() != "" {
		files[folder+"/mutant_reached.go"] = fmt.Sprintf(reachedSource, path.Base(folder), reachedVariable, sqlMark)
	}
	return files, nil
}

// writeOverlay writes the files and the list that `go build -overlay` reads, and returns the list's path.
func writeOverlay(dir, tree string, files map[string]string) (string, error) {
	replace := map[string]string{}
	for name, content := range files {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "__"))
		if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(tree, filepath.FromSlash(name))] = to
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}
