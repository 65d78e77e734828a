//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// initdbArgs make a cluster that is the same everywhere. Who may connect, and how,
// is written after it.
var initdbArgs = []string{
	"--username=" + superuser, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions",
}

// makeData makes the data folder: a copy of the cached result of initdb when there
// is one, else by initdb, which is then put into the cache. The cache is a matter
// of speed: whatever goes wrong with it, initdb remains.
func (c *cluster) makeData(ctx context.Context) error {
	if err := c.dog.starting(); err != nil {
		return &StartError{What: "initdb", Err: err}
	}
	if c.opts.NoCache {
		return c.initdb(ctx)
	}
	cache, err := openCache(c.bin)
	if err != nil {
		return c.initdb(ctx)
	}
	if c.copyFrom(ctx, cache) {
		return nil
	}
	unlock, err := cache.lock(ctx)
	if err != nil {
		return c.initdb(ctx)
	}
	defer unlock()
	if c.copyFrom(ctx, cache) { // somebody else made it meanwhile
		return nil
	}
	if err := c.initdb(ctx); err != nil {
		return err
	}
	_ = cache.publish(ctx, c.data()) // the next one tries again
	return nil
}

// copyFrom tells whether the data folder now is a copy of the cached one.
func (c *cluster) copyFrom(ctx context.Context, cache *templateCache) bool {
	if info, err := os.Lstat(cache.path); err != nil || !info.IsDir() {
		return false
	}
	if err := copyTree(ctx, cache.path, c.data(), c.who.give); err != nil {
		_ = os.RemoveAll(c.data()) // initdb says what is wrong with the folder
		return false
	}
	return true
}

func (c *cluster) initdb(ctx context.Context) error {
	cmd := c.command("initdb", append([]string{"--pgdata=" + c.data()}, initdbArgs...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	proc, err := startProcess(cmd)
	if err != nil {
		return &StartError{What: "initdb", Err: err}
	}
	if err := proc.wait(ctx); err != nil {
		killErr := send(-proc.pid(), syscall.SIGKILL) // its group: the postgres that it runs, too
		<-proc.exited
		return &StartError{What: "initdb", Err: errors.Join(err, killErr)}
	}
	if !cmd.ProcessState.Success() {
		return &StartError{What: "initdb", Log: strings.TrimSpace(out.String()), Err: errors.New(cmd.ProcessState.String())}
	}
	return nil
}

// templateCache is the place of one installation's cluster as initdb made it, in
// the user's cache folder. It appears by a rename, whole, and never changes.
type templateCache struct{ path string }

// openCache finds the place: one for each installation, version and way of making it.
func openCache(bin binaries) (*templateCache, error) {
	dir, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256([]byte(strings.Join(append([]string{"1", bin.full, bin.dir}, initdbArgs...), "\x00")))
	name := fmt.Sprintf("initdb-%s-%s", bin.version, hex.EncodeToString(key[:6]))
	return &templateCache{path: filepath.Join(dir, name)}, nil
}

// cacheFolder is ours and closed to others: a cluster that somebody else put there
// would run as us.
func cacheFolder() (string, error) {
	var dir string
	if base, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(base, "awa", "pgtest")
	}
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("awa-pgtest-cache-%d", os.Geteuid()))
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s isn't a folder that only we can write to", dir)
	}
	return dir, nil
}

// lock holds off other processes that would make the same cluster.
func (t *templateCache) lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(t.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = poll(ctx, 10*time.Millisecond, func() (bool, error) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil // which also unlocks
}

// publish copies data to the cache. The caller holds the lock, so that half-made
// copies which are found are nobody's.
func (t *templateCache) publish(ctx context.Context, data string) error {
	half := t.path + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	keep := func(string) error { return nil }
	if err := copyTree(ctx, data, half, keep); err != nil {
		return errors.Join(err, os.RemoveAll(half))
	}
	return os.Rename(half, t.path)
}
