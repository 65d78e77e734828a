package pgtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// These change the environment, so they don't run beside others.

func TestCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	for _, name := range []string{"cold", "warm"} {
		began := time.Now()
		server, _ := start(t, Options{})
		t.Logf("start with a %s cache: %v", name, time.Since(began))
		if query[int](t, server.DSN(), "SELECT 1") != 1 {
			t.Error("no answer")
		}
	}
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	entries, err := os.ReadDir(filepath.Join(base, "awa", "pgtest"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, e.Name())
		}
	}
	if len(folders) != 1 {
		t.Errorf("the cache holds %v, want one cluster", folders)
	}
}

func TestCacheThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := t.TempDir() // a folder that everybody may write to isn't trusted
	if err := os.MkdirAll(filepath.Join(open, "awa", "pgtest"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(open, "awa", "pgtest"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", openPlace(t))
	for _, home := range []string{file, open} {
		t.Setenv("XDG_CACHE_HOME", home)
		t.Setenv("HOME", home)
		server, _ := start(t, Options{})
		if query[int](t, server.DSN(), "SELECT 1") != 1 {
			t.Error("no answer")
		}
	}
}

func TestCacheLockIsHeldByOne(t *testing.T) {
	t.Parallel()
	cache := &templateCache{path: filepath.Join(t.TempDir(), "x")}
	unlock, err := cache.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := cache.lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second lock: %v, want the time's end", err)
	}
	unlock()
	unlock, err = cache.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestCopyTree(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, dir := range []string{"a", "a/b", "empty"} {
		if err := os.Mkdir(filepath.Join(from, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"one", "a/two", "a/b/three"} {
		if err := os.WriteFile(filepath.Join(from, file), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	keep := func(string) error { return nil }
	if err := copyTree(t.Context(), from, to, keep); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"one", "a/two", "a/b/three"} {
		text, err := os.ReadFile(filepath.Join(to, file))
		if err != nil || string(text) != file {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if info, err := os.Stat(filepath.Join(to, "empty")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the empty folder: %v, %v", info, err)
	}
	if err := os.Symlink("one", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), from, to+"2", keep); err == nil {
		t.Error("a symbolic link was copied")
	}
	boom := errors.New("boom")
	if err := copyTree(t.Context(), from, to+"3", func(string) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v, want the failure to give a file away", err)
	}
}
