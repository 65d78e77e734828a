package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// buildLimit bounds a build. With a warm cache it takes seconds.
const buildLimit = 5 * time.Minute

// Module is whose tree the defects are planted in.
const module = "github.com/awa-engine/awa"

// FindTree returns the folder of the module's source that the working directory is in.
func FindTree() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module "+module+"\n") {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("planting defects needs the source: run this in a folder of the module %s", module)
		}
		dir = filepath.Dir(dir)
	}
}

// mutant is a planted defect: the overlay, and what was built with it so far.
type mutant struct {
	defect  *Defect
	tree    string
	dir     string // thrown away
	overlay string

	program string // awa-check, once built
}

// plant writes the overlay of a defect into dir.
func plant(tree, dir string, d *Defect) (*mutant, error) {
	m := &mutant{defect: d, tree: tree, dir: dir}
	files, err := overlayFiles(d, func(name string) (string, error) {
		content, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(name)))
		return string(content), err
	})
	if err != nil {
		return nil, err
	}
	m.overlay, err = writeOverlay(dir, tree, files)
	return m, err
}

// check builds awa-check, once for all layers that are commands of it.
func (m *mutant) check(ctx context.Context) (string, error) {
	if m.program != "" {
		return m.program, nil
	}
	program := filepath.Join(m.dir, "mutated")
	if err := m.goCommand(ctx, "build", "-ldflags=-s -w", "-o", program, "./cmd/awa-check"); err != nil {
		return "", err
	}
	m.program = program
	return program, nil
}

// tests builds the tests of a package.
func (m *mutant) tests(ctx context.Context, pkg string) (string, error) {
	program := filepath.Join(m.dir, strings.NewReplacer("./", "", "/", "_").Replace(pkg)+".test")
	return program, m.goCommand(ctx, "test", "-c", "-o", program, pkg)
}

func (m *mutant) goCommand(ctx context.Context, verb string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{verb, "-overlay", m.overlay}, args...)...)
	cmd.Dir = m.tree
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return &dataError{fmt.Errorf("go %s: it does not compile:\n%s", verb, out)}
	}
	return err
}

// A dataError is a mistake of the defect's file.
type dataError struct{ error }

func (e *dataError) Unwrap() error { return e.error }
