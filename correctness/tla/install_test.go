package tla

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPinsAgree: people install from the files, programs outside of the repository from the constants.
func TestPinsAgree(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"package.json": npmPackage, "package-lock.json": npmLock} {
		got, err := os.ReadFile(filepath.Join("..", "..", "tools", "tla-checker", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("tools/tla-checker/%s isn't what the program would install:\n%s", name, got)
		}
		if !json.Valid(got) || strings.Contains(string(got), "://") {
			t.Errorf("tools/tla-checker/%s should be JSON without an address in it", name)
		}
	}
}

func TestKeepPinnedKeepsOnlyWhatIsPinned(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	content := []byte("the right content")
	path := filepath.Join(dir, "file")
	var wrong *ChecksumError
	for _, other := range []string{"the wrong content", "the right content, and more"} {
		if err := keepPinned(path, sha256Hex(content), strings.NewReader(other), 100); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", other, err)
		}
	}
	if err := keepPinned(path, sha256Hex(content), bytes.NewReader(content), 3); !errors.As(err, &wrong) {
		t.Errorf("a download that is too long: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("failed downloads leave %v (%v)", left, err)
	}
	if err := keepPinned(path, sha256Hex(content), bytes.NewReader(content), 100); err != nil {
		t.Fatal(err)
	}
	if got, err := readPinned(path, sha256Hex(content)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("kept %q (%v)", got, err)
	}
	if _, err := readPinned(path, tlcSum); !errors.As(err, &wrong) {
		t.Errorf("another checksum: %v", err)
	}
}

func TestDownloadRefusesOtherBytesAndErrors(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte("no jar")) // the client's side is tested
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "jar")
	var wrong *ChecksumError
	if err := download(t.Context(), server.URL+"/jar", path); !errors.As(err, &wrong) {
		t.Errorf("other bytes: %v", err)
	}
	if err := download(t.Context(), server.URL+"/missing", path); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was kept: %v", err)
	}
}

func TestMissingCheckersSayWhatToDo(t *testing.T) {
	t.Setenv("AWA_TLC_JAR", "")
	t.Setenv("PATH", "")
	t.Setenv("JAVA_HOME", "")
	t.Chdir(t.TempDir())
	var sayings []string
	_, _, err := Choose(t.Context(), Options{Cache: t.TempDir(), Say: func(s string) { sayings = append(sayings, s) }})
	var missing *MissingError
	if !errors.As(err, &missing) {
		t.Fatalf("without Java and npm: %v", err)
	}
	for _, want := range []string{"Install Java 11 or later", "no npm in PATH", "npm ci"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if len(sayings) != 1 || !strings.Contains(sayings[0], "installing tla-checker") {
		t.Errorf("what was said: %v", sayings)
	}
	if _, _, err := Choose(t.Context(), Options{Want: "apalache"}); err == nil {
		t.Error("an unknown checker is accepted")
	}
}

// TestNpmInstallsThePin installs into an empty cache, as on a machine outside of the repository.
func TestNpmInstallsThePin(t *testing.T) {
	t.Chdir(t.TempDir())
	cache := t.TempDir()
	checker, err := FindTLAChecker(t.Context(), Options{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	if err := checker.Close(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := FindTLAChecker(t.Context(), Options{Cache: cache, Offline: true})
	if err != nil {
		t.Fatalf("the cache isn't used: %v", err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
