package mutants

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var someTree = map[string]string{
	"engine/claim.sql":         "SELECT 1",
	"engine/claim.go":          "package engine\n\nvar a = 1\n",
	"engine/statements.go":     "text = strings.TrimSpace(b.String())",
	"engine/schema/schema.go":  "return text.String(), nil",
	"engine/schema/001.sql":    "SELECT 2",
	"correctness/tla/Ring.tla": "Next == A",
}

func readSome(name string) (string, error) {
	content, ok := someTree[name]
	if !ok {
		return "", errors.New(name)
	}
	return content, nil
}

func TestOverlayOfEachPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		defect Defect
		want   map[string]string // file → a part of it
	}{
		"engine": {
			Defect{File: "engine/claim.go", Text: "a = 1", Replacement: "a = mutantReached()"},
			map[string]string{"engine/claim.go": "a = mutantReached()", "engine/mutant_reached.go": "package engine\n"},
		},
		"sql": {
			Defect{File: "engine/claim.sql", Text: "1", Replacement: "2 /* reached */"},
			map[string]string{
				"engine/claim.sql": "SELECT 2 /* reached */", "engine/mutant_reached.go": "func mutantReached() bool",
				"engine/statements.go": "mutantStatement(strings.TrimSpace(b.String()))",
			},
		},
		"schema": {
			Defect{File: "engine/schema/001.sql", Text: "2", Replacement: "3 /* reached */"},
			map[string]string{
				"engine/schema/001.sql": "SELECT 3 /* reached */", "engine/schema/mutant_reached.go": "package schema\n",
				"engine/schema/schema.go": "mutantStatement(text.String())",
			},
		},
		"spec": {
			Defect{File: "correctness/tla/Ring.tla", Text: "A", Replacement: "B"},
			map[string]string{"correctness/tla/Ring.tla": "Next == B"},
		},
	} {
		files, err := overlayFiles(&c.defect, readSome)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(files) != len(c.want) {
			t.Errorf("%s: %d files, want %d", name, len(files), len(c.want))
		}
		for file, part := range c.want {
			if !strings.Contains(files[file], part) {
				t.Errorf("%s: %s lacks %q:\n%s", name, file, part, files[file])
			}
		}
	}
	stale := Defect{File: "engine/claim.go", Text: "b = 1", Replacement: "mutantReached()"}
	if _, err := overlayFiles(&stale, readSome); err == nil {
		t.Error("a stale defect was planted")
	}
}

// The go command wants full paths on the left and takes files that the tree doesn't have.
func TestWriteOverlay(t *testing.T) {
	t.Parallel()
	dir, tree := t.TempDir(), t.TempDir()
	file, err := writeOverlay(dir, tree, map[string]string{"engine/claim.sql": "x", "engine/schema/a.go": "y"})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"engine/claim.sql": "x", "engine/schema/a.go": "y"} {
		got, err := os.ReadFile(list.Replace[filepath.Join(tree, filepath.FromSlash(name))])
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
