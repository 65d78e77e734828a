package tla

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The pinned tla-checker. A test compares it with tools/tla-checker, which people and `make needs` install from.
const (
	tlaCheckerVersion   = "0.9.0"
	tlaCheckerIntegrity = "sha512-6Yi/164OV+epYJhJMLxZ71zR3xS2GdXjTlKL3hGMFF23mFdAJzbprwM9XOiBqnrXfyDyKvwks3YGn+gBWUA3rg=="
	tlaCheckerSum       = "4a07c47966881f78083acbc6b7946daf6f362dc96030ca550a4d64e37bebcd44"
	tlaCheckerFile      = "node_modules/tla-checker/tla_checker_bg.wasm"
	tlaCheckerLimit     = 16 << 20
)

const npmPackage = `{
  "name": "awa-tla-checker",
  "version": "0.0.0",
  "private": true,
  "description": "Pins the TLA+ checker that judges the specs where there is no TLC. Install it with: npm ci",
  "license": "Apache-2.0",
  "dependencies": {
    "tla-checker": "` + tlaCheckerVersion + `"
  }
}
`

// The lockfile names no host: npm takes the registry of the user's configuration, and the hash decides.
const npmLock = `{
  "name": "awa-tla-checker",
  "version": "0.0.0",
  "lockfileVersion": 3,
  "requires": true,
  "packages": {
    "": {
      "name": "awa-tla-checker",
      "version": "0.0.0",
      "license": "Apache-2.0",
      "dependencies": {
        "tla-checker": "` + tlaCheckerVersion + `"
      }
    },
    "node_modules/tla-checker": {
      "version": "` + tlaCheckerVersion + `",
      "integrity": "` + tlaCheckerIntegrity + `",
      "license": "MIT OR Apache-2.0"
    }
  }
}
`

const tlaCheckerFix = "Run `npm ci` in tools/tla-checker, on a machine with npm"

// FindTLAChecker starts tla-checker: the one installed in the repository around the working folder, else the user's
// cached one, else, unless Offline, one that npm installs into that cache. The caller closes it.
func FindTLAChecker(ctx context.Context, options Options) (Checker, error) {
	cached := filepath.Join(options.cache(), "tla-checker-"+tlaCheckerVersion+".wasm")
	for _, path := range append(installedAround(), cached) {
		wasm, err := readPinned(path, tlaCheckerSum)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return newWasmChecker(ctx, wasm, fmt.Sprintf("tla-checker %s, %s", tlaCheckerVersion, path))
	}
	if options.Offline {
		return nil, &MissingError{TLAChecker, "it isn't installed", tlaCheckerFix}
	}
	options.say("installing tla-checker %s with npm into %s", tlaCheckerVersion, options.cache())
	if err := npmInstall(ctx, cached); err != nil {
		return nil, &MissingError{TLAChecker, err.Error(), tlaCheckerFix}
	}
	wasm, err := readPinned(cached, tlaCheckerSum)
	if err != nil {
		return nil, err
	}
	return newWasmChecker(ctx, wasm, fmt.Sprintf("tla-checker %s, %s", tlaCheckerVersion, cached))
}

// installedAround lists where `npm ci` puts tla-checker in a repository that the working folder is in.
func installedAround() []string {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	for {
		folder := filepath.Join(dir, "tools", "tla-checker")
		if _, err := os.Stat(filepath.Join(folder, "package-lock.json")); err == nil {
			return []string{filepath.Join(folder, filepath.FromSlash(tlaCheckerFile))}
		}
		if filepath.Dir(dir) == dir {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// npmInstall lets npm install into a temporary folder, so that two processes that do it at once don't meet.
func npmInstall(ctx context.Context, target string) (err error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("it isn't installed, and there is no npm in PATH")
	}
	dir, err := os.MkdirTemp("", "awa-tla-checker-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, content := range map[string]string{"package.json": npmPackage, "package-lock.json": npmLock} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, strings.TrimSpace(string(out)))
	}
	wasm, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(tlaCheckerFile)))
	if err != nil {
		return err
	}
	return keepPinned(target, tlaCheckerSum, bytes.NewReader(wasm), tlaCheckerLimit)
}
