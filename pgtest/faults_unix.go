//go:build unix

package pgtest

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// faultTimeout bounds the acts that have no context of their caller's.
const faultTimeout = 10 * time.Second

func (c *cluster) running() bool { return c.proc != nil && c.proc.running() }

// stop is a fast shutdown. The postmaster ends last, after all its children.
func (c *cluster) stop(ctx context.Context) error {
	if !c.running() {
		return nil
	}
	if err := c.resume(); err != nil {
		return err
	}
	return c.end(ctx, syscall.SIGINT)
}

func (c *cluster) end(ctx context.Context, sig syscall.Signal) error {
	if err := c.proc.signal(sig); err != nil {
		return err
	}
	if err := c.proc.wait(ctx); err != nil {
		return err
	}
	return c.dog.ended()
}

func (c *cluster) kill() error {
	if !c.running() {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(context.Background(), faultTimeout)
	defer cancel()
	family, err := c.proc.freeze(ctx)
	// Even when the list isn't whole, what is known goes.
	err = errors.Join(err, c.proc.signal(syscall.SIGKILL), sendAll(family, syscall.SIGKILL), c.proc.wait(ctx))
	c.paused = false
	if err != nil {
		return err
	}
	nobody := func(processInfo) bool { return false }
	return errors.Join(awaitEach(ctx, family, nobody), c.dog.ended())
}

func (c *cluster) pause() error {
	if !c.running() {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(context.Background(), faultTimeout)
	defer cancel()
	family, err := c.proc.freeze(ctx)
	c.paused = true // in part, when there is an error
	if err == nil {
		err = sendAll(family, syscall.SIGSTOP)
	}
	if err == nil {
		err = awaitEach(ctx, family, func(p processInfo) bool { return p.state == 'T' })
	}
	if err != nil {
		return errors.Join(err, c.resume())
	}
	return nil
}

// resume wakes the children before the postmaster, which then finds them awake.
func (c *cluster) resume() error {
	if !c.running() {
		return ErrNotRunning
	}
	if !c.paused {
		return nil
	}
	table, err := processTable()
	if err != nil {
		return err
	}
	err = errors.Join(
		sendAll(descendants(table, c.proc.pid()), syscall.SIGCONT),
		c.proc.signal(syscall.SIGCONT))
	if err == nil {
		c.paused = false
	}
	return err
}

func (c *cluster) restart(ctx context.Context) error {
	if err := c.stop(ctx); err != nil {
		return err
	}
	return c.startAgain(ctx)
}

// endNow ends the server without a checkpoint: by an immediate shutdown, which gives
// its shared memory back, or else by force.
func (c *cluster) endNow() error {
	if !c.running() {
		return c.dog.ended()
	}
	ctx, cancel := context.WithTimeout(context.Background(), faultTimeout)
	defer cancel()
	if c.resume() == nil && c.end(ctx, syscall.SIGQUIT) == nil {
		return nil
	}
	if err := c.kill(); !errors.Is(err, ErrNotRunning) {
		return err
	}
	return c.dog.ended()
}

// close ends the server in whatever state it is, removes the folder, and then
// dismisses the watchdog: it stays when something couldn't be removed, and tries
// again when we end.
func (c *cluster) close() error {
	err := errors.Join(c.endNow(), c.releaseMemory(), os.RemoveAll(c.dir))
	if err != nil {
		return err
	}
	return c.dog.dismiss()
}

// releaseMemory removes the segment that a killed server left.
func (c *cluster) releaseMemory() error {
	if segment := c.readLockFile().segment; segment != 0 {
		return removeSegment(segment)
	}
	return nil
}
