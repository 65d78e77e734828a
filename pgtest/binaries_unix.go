//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// usualPlaces are where packages put the programs of a server outside of PATH.
var usualPlaces = []string{
	"/usr/lib/postgresql/*/bin",           // Debian, Ubuntu
	"/usr/pgsql-*/bin",                    // Fedora, Red Hat (the project's packages)
	"/opt/homebrew/opt/postgresql@*/bin",  // macOS
	"/usr/local/opt/postgresql@*/bin",     // macOS on Intel
	"/usr/local/pgsql/bin",                // built from source
	"/Library/PostgreSQL/*/bin",           // macOS installer
	"/nix/var/nix/profiles/default/bin",   // Nix
	"/run/current-system/sw/bin",          // NixOS
	"/usr/lib/postgresql*/bin",            // Alpine
	"/opt/local/lib/postgresql*/bin",      // MacPorts
	"/usr/local/lib/postgresql*/bin",      // BSD and others
	"/opt/postgresql*/bin",                // archives unpacked by hand
	"/var/lib/snapd/snap/postgresql*/bin", // snaps
}

// binaries is one installation.
type binaries struct {
	dir     string // symbolic links resolved: postgres finds its files from there
	version Version
	full    string // what "postgres --version" printed, with the packager's revision
}

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// chooseBinaries takes BinDir when it is given; else what PATH has, when it will
// do, since somebody put it there; else the newest of the usual places.
func chooseBinaries(ctx context.Context, opts Options, who account) (best *binaries, looked []string) {
	if opts.BinDir != "" {
		return firstOf(ctx, []string{opts.BinDir}, opts.Major, who)
	}
	var onPath []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) && isProgram(filepath.Join(dir, "postgres")) {
			onPath = append(onPath, dir)
		}
	}
	if best, looked = firstOf(ctx, onPath, opts.Major, who); best != nil {
		return best, nil
	}
	if len(onPath) == 0 {
		looked = append(looked, "PATH: has no postgres")
	}
	for _, pattern := range usualPlaces {
		dirs, _ := filepath.Glob(pattern) // the patterns are constant and well formed
		if len(dirs) == 0 && pattern == usualPlaces[0] {
			looked = append(looked, pattern+": nothing there")
		}
		for _, dir := range dirs {
			b, err := inspect(ctx, dir, who)
			if err == nil {
				err = b.wanted(opts.Major)
			}
			if err != nil {
				looked = append(looked, fmt.Sprintf("%s: %v", dir, err))
			} else if best == nil || b.version > best.version {
				best = b
			}
		}
	}
	return best, looked
}

func firstOf(ctx context.Context, dirs []string, major int, who account) (*binaries, []string) {
	var looked []string
	for _, dir := range dirs {
		b, err := inspect(ctx, dir, who)
		if err == nil {
			err = b.wanted(major)
		}
		if err == nil {
			return b, nil
		}
		looked = append(looked, fmt.Sprintf("%s: %v", dir, err))
	}
	return nil, looked
}

// wanted says why a usable installation isn't the one that was asked for.
func (b binaries) wanted(major int) error {
	if major != 0 && b.version.Major() != major {
		return fmt.Errorf("PostgreSQL %s, and %d was asked for", b.version, major)
	}
	return nil
}

// inspect says what the installation in dir is, or why it won't do.
func inspect(ctx context.Context, dir string, who account) (*binaries, error) {
	postgres, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return nil, fmt.Errorf("no postgres there")
	}
	dir = filepath.Dir(postgres)
	if !isProgram(filepath.Join(dir, "initdb")) {
		return nil, fmt.Errorf("%s has no initdb beside postgres", dir)
	}
	if blocked := who.blockedBy(postgres); blocked != "" {
		return nil, fmt.Errorf("the user %s, as whom the server has to run, can't enter %s", who.name, blocked)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, postgres, "--version")
	cmd.Env = cleanEnv(os.TempDir())
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("postgres --version: %w", err)
	}
	full := strings.TrimSpace(string(out))
	version, err := parseVersion(full)
	if err != nil {
		return nil, err
	}
	if version.Major() < MinMajor {
		return nil, fmt.Errorf("PostgreSQL %s is older than %d", version, MinMajor)
	}
	return &binaries{dir: dir, version: version, full: full}, nil
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) ([0-9]{1,4})(?:\.([0-9]{1,4}))?`)

// parseVersion reads "postgres (PostgreSQL) 15.13 (Debian …)", "… 18beta1", "… 19devel".
func parseVersion(text string) (Version, error) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("postgres --version: can't read %q", text)
	}
	major, _ := strconv.Atoi(m[1]) // digits only
	minor, _ := strconv.Atoi(m[2]) // digits only, or nothing: zero
	return Version(major*10000 + minor), nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// cleanEnv is the whole environment of a server's programs: nothing of ours
// (PGDATA, PGPORT, locales, secrets) gets there.
func cleanEnv(home string) []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "LANG=C", "LC_ALL=C", "TZ=UTC"}
}
