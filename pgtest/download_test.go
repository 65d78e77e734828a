//go:build linux && amd64

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Each supported version is pinned with a checksum.
func TestDownloadsArePinned(t *testing.T) {
	t.Parallel()
	majors := DownloadMajors()
	if !slices.Equal(majors, []int{15, 16, 17, 18}) || majors[0] != MinMajor {
		t.Errorf("majors: %v", majors)
	}
	for _, major := range majors {
		version, err := pinned(major)
		if err != nil || version.Major() != major || version%10000 == 0 {
			t.Errorf("%d: %s, %v", major, version, err)
		}
		lock, err := servers.ReadFile(fmt.Sprintf("servers/%d/package-lock.json", major))
		if err != nil || !strings.Contains(string(lock), `"integrity": "sha512-`) {
			t.Errorf("%d: no checksum in the lockfile: %v", major, err)
		}
	}
}

// A downloaded server is fetched once, and is a private cluster with its faults.
func TestDownload(t *testing.T) {
	opts := Options{Only: KindDownload}
	source, err := Find(t.Context(), opts)
	if errors.Is(err, ErrNoServer) {
		t.Skip("nothing can be downloaded here: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := source.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.Kind() != KindDownload || !s.HasProcess() || s.Version() != source.Version {
		t.Errorf("kind %s, version %s", s.Kind(), s.Version())
	}
	if got := ask(t, s, "SHOW server_version"); got != source.Version.String() {
		t.Errorf("the lockfile says %s, the server %s", source.Version, got)
	}
	if err := errors.Join(s.Kill(), s.Restart(t.Context())); err != nil {
		t.Error(err)
	}
}

// What can't be fetched leaves nothing behind, and says why.
func TestDownloadFails(t *testing.T) {
	t.Setenv(EnvCache, t.TempDir())
	t.Setenv("npm_config_offline", "true")
	t.Setenv("npm_config_cache", t.TempDir())
	s, err := Start(t.Context(), Options{Only: KindDownload})
	if err == nil {
		t.Fatal(errors.Join(errors.New("it started"), s.Close()))
	}
	if errors.Is(err, ErrNoServer) {
		t.Skip("nothing can be downloaded here: " + err.Error())
	}
	if !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "npm ci") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(os.Getenv(EnvCache)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A version that is asked for isn't replaced by another one that is there.
func TestMajor(t *testing.T) {
	for _, major := range DownloadMajors() {
		source, err := Find(t.Context(), Options{Local: true, Major: major})
		if errors.Is(err, ErrNoServer) {
			continue // neither here nor to be fetched
		}
		if err != nil || source.Version.Major() != major {
			t.Errorf("%d was asked for, found %s: %v", major, source.Describe(), err)
		}
	}
	t.Setenv(EnvMajor, "9")
	var refused *InputError
	if _, err := Find(t.Context(), Options{}); !errors.As(err, &refused) {
		t.Errorf("a version before %d: %v", MinMajor, err)
	}
}
