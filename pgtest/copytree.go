package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// copyWorkers copy files at a time: a fresh cluster is a thousand small ones.
const copyWorkers = 4

// copyTree copies a folder of folders and plain files, closed to other users,
// to a path that doesn't exist, and calls give for everything that it made. Where the
// file system can share blocks between files, the kernel does.
func copyTree(ctx context.Context, from, to string, give func(path string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	files := make(chan string)
	var workers sync.WaitGroup
	for range copyWorkers {
		workers.Go(func() {
			for name := range files {
				if ctx.Err() != nil {
					continue // drain, so that the walk doesn't hang
				}
				if err := copyFile(filepath.Join(from, name), filepath.Join(to, name), give); err != nil {
					cancel(err)
				}
			}
		})
	}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			target := filepath.Join(to, name)
			if err := os.Mkdir(target, 0o700); err != nil {
				return err
			}
			return give(target)
		case entry.Type().IsRegular():
			files <- name
			return nil
		}
		return fmt.Errorf("%s is neither a file nor a folder", path)
	})
	close(files)
	workers.Wait()
	return errors.Join(err, context.Cause(ctx))
}

func copyFile(from, to string, give func(path string) error) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return give(to)
}
