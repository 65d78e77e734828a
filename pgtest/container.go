package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	apicontainer "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// newestImage is the image of whoever asks for no version.
const newestImage = "postgres:18"

// probeDocker bounds the look for a Docker daemon.
const probeDocker = 5 * time.Second

// findContainer looks for a Docker daemon. The image is looked for, and pulled, when the server starts; its version is
// known exactly only then.
func findContainer(ctx context.Context, opts Options) (*Source, []string, error) {
	if opts.BinDir != "" {
		return nil, []string{"a container: not asked (Options.BinDir)"}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeDocker)
	defer cancel()
	docker, err := client.New(client.FromEnv)
	if err == nil {
		_, err = docker.Ping(ctx, client.PingOptions{})
		err = errors.Join(err, docker.Close())
	}
	if err != nil {
		return nil, []string{fmt.Sprintf("a container: no Docker daemon answers: %v", err)}, nil
	}
	image, version := opts.Image, Version(opts.Major*10000)
	if image == "" && opts.Major != 0 {
		image = fmt.Sprintf("postgres:%d", opts.Major)
	} else if image == "" {
		image, version = newestImage, 180000
	}
	return &Source{
		Kind: KindContainer, Version: version, where: "a container of " + image,
		open: func(ctx context.Context, _ uint32) (backend, error) { return openContainer(ctx, opts, image) },
	}, nil, nil
}

// container is a server in a container of ours, on a port of 127.0.0.1 that stays through restarts.
type container struct {
	opts    Options
	image   string
	docker  *client.Client
	inside  *postgres.PostgresContainer
	address string
	number  Version
}

func openContainer(ctx context.Context, opts Options, image string) (_ backend, err error) {
	ctx, cancel := context.WithTimeout(ctx, opts.StartTimeout)
	defer cancel()
	c := &container{opts: opts, image: image}
	defer func() {
		if err != nil {
			err = errors.Join(&StartError{What: "container of " + image, Log: c.logTail(), Err: err}, c.close())
		}
	}()
	if c.docker, err = client.New(client.FromEnv); err != nil {
		return nil, err
	}
	port, err := portForDocker()
	if err != nil {
		return nil, err
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails, by its contract
	password := hex.EncodeToString(secret[:])
	c.address = fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/postgres?sslmode=disable", superuserInside, password, port)
	c.inside, err = postgres.Run(
		ctx, image, postgres.WithUsername(superuserInside), postgres.WithPassword(password), postgres.WithDatabase("postgres"),
		testcontainers.WithLogger(quiet{}), testcontainers.WithCmd(settingsOf(opts)...),
		testcontainers.WithHostConfigModifier(func(h *apicontainer.HostConfig) {
			h.PortBindings = network.PortMap{network.MustParsePort("5432/tcp"): {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(port)}}}
		}))
	if err != nil {
		return nil, err
	}
	return c, c.answers(ctx)
}

// quiet keeps the library's progress out of other people's output.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// superuserInside is the role that an image makes.
const superuserInside = "postgres"

// settingsOf is the command that starts the server in the image, with the settings that a private cluster has, too.
func settingsOf(opts Options) []string {
	settings := map[string]string{"shared_buffers": opts.SharedBuffers, "max_connections": strconv.Itoa(opts.MaxConnections)}
	if !opts.Durable {
		settings["fsync"], settings["full_page_writes"], settings["synchronous_commit"] = "off", "off", "off"
	}
	maps.Copy(settings, opts.Settings)
	command := []string{"postgres"}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		command = append(command, "-c", name+"="+settings[name])
	}
	return command
}

// portForDocker is a port that was free a moment ago. Docker would choose another one at each start.
func portForDocker() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// answers waits until the server lets a client in, and learns its version.
func (c *container) answers(ctx context.Context) error {
	for {
		conn, err := connectWithin(ctx, c.address, connectTimeout)
		if err == nil {
			c.number, err = serverVersion(ctx, conn)
			if err = errors.Join(err, conn.Close(ctx)); err == nil && c.number.Major() < MinMajor {
				return fmt.Errorf("%w: %s holds %s", ErrTooOld, c.image, c.number)
			}
			return err
		}
		if !c.running() {
			return fmt.Errorf("%w: it ended by itself", ErrNotRunning)
		}
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		}
	}
}

func (c *container) version() Version { return c.number }
func (c *container) dsn() string      { return c.address }
func (c *container) tcpDSN() string   { return c.address }
func (c *container) describe() string {
	return fmt.Sprintf("a container of %s (%.12s)", c.image, c.inside.GetContainerID())
}

func (c *container) logTail() string {
	if c.inside == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeDocker)
	defer cancel()
	logs, err := c.inside.Logs(ctx)
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(logs) // as much as there is
	_ = logs.Close()            // it was only read
	return string(text[max(0, len(text)-4096):])
}

// state is what Docker says of the container.
func (c *container) state() (running, paused bool) {
	ctx, cancel := context.WithTimeout(context.Background(), probeDocker)
	defer cancel()
	s, err := c.inside.State(ctx)
	return err == nil && s.Running, err == nil && s.Paused
}

func (c *container) running() bool {
	running, _ := c.state()
	return running
}

// stop is a fast shutdown, whatever signal the image stops by.
func (c *container) stop(ctx context.Context) error {
	running, paused := c.state()
	if !running {
		return nil
	}
	if paused {
		if err := c.resume(); err != nil {
			return err
		}
	}
	_, err := c.docker.ContainerStop(ctx, c.inside.GetContainerID(), client.ContainerStopOptions{Signal: "SIGINT"})
	return err
}

// act does one thing to a container that runs.
func (c *container) act(do func(ctx context.Context, id string) error) error {
	if !c.running() {
		return ErrNotRunning
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return do(ctx, c.inside.GetContainerID())
}

// kill ends the first process of the container, and with it the kernel ends all others.
func (c *container) kill() error {
	return c.act(func(ctx context.Context, id string) error {
		gone := c.docker.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: apicontainer.WaitConditionNotRunning})
		if _, err := c.docker.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
			return err
		}
		select {
		case <-gone.Result:
			return nil
		case err := <-gone.Error:
			return err
		}
	})
}

func (c *container) pause() error {
	return c.act(func(ctx context.Context, id string) error {
		if _, paused := c.state(); paused {
			return nil
		}
		_, err := c.docker.ContainerPause(ctx, id, client.ContainerPauseOptions{})
		return err
	})
}

func (c *container) resume() error {
	return c.act(func(ctx context.Context, id string) error {
		if _, paused := c.state(); !paused {
			return nil
		}
		_, err := c.docker.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
		return err
	})
}

func (c *container) restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.StartTimeout)
	defer cancel()
	if err := c.stop(ctx); err != nil {
		return err
	}
	if _, err := c.docker.ContainerStart(ctx, c.inside.GetContainerID(), client.ContainerStartOptions{}); err != nil {
		return err
	}
	return c.answers(ctx)
}

func (c *container) close() error {
	var errs []error
	if c.inside != nil {
		errs = append(errs, testcontainers.TerminateContainer(c.inside, testcontainers.StopTimeout(0)))
	}
	if c.docker != nil {
		errs = append(errs, c.docker.Close())
	}
	return errors.Join(errs...)
}
