package tla

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// cacheFolder is where downloads are kept: below the user's cache folder, or, for a user without one, in the
// temporary folder.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "awa-check")
}

// readPinned reads a file whose content is known in advance.
func readPinned(path, sum string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if got := sha256Hex(content); got != sum {
		return nil, &ChecksumError{Path: path, Got: got, Want: sum}
	}
	return content, nil
}

// ChecksumError says that a file isn't the one that is pinned.
type ChecksumError struct{ Path, Got, Want string }

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has SHA-256 %s, and %s is pinned: remove it", e.Path, e.Got, e.Want)
}

// keepPinned writes content under its final name in one step, and only when it is what is pinned: other processes see
// the whole file or none.
func keepPinned(path, sum string, content io.Reader, limit int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if rest := os.Remove(file.Name()); rest != nil && !errors.Is(rest, os.ErrNotExist) {
			err = errors.Join(err, rest)
		}
	}()
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(content, limit))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return &ChecksumError{Path: path, Got: got, Want: sum}
	}
	return os.Rename(file.Name(), path)
}

func sha256Hex(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
