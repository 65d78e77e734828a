//go:build unix

package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// superuser is the cluster's only role.
const superuser = "postgres"

// findLocal looks for programs from which a private cluster can be made.
func findLocal(ctx context.Context, opts Options) (*Source, []string, error) {
	who, err := serverAccount()
	if err != nil {
		return nil, []string{"this machine's programs: " + err.Error()}, nil
	}
	bin, looked := chooseBinaries(ctx, opts, who)
	if bin == nil {
		return nil, looked, ctx.Err()
	}
	return &Source{
		Kind: KindLocal, Version: bin.version,
		where: fmt.Sprintf("a private cluster of %s, run as %s", bin.dir, who.name),
		open: func(ctx context.Context, _ uint32) (backend, error) {
			return openCluster(ctx, opts, *bin, who)
		},
	}, nil, nil
}

// cluster is a server of our own in a folder of its own:
//
//	data/            the cluster
//	log              what the server and initdb wrote
//	.s.PGSQL.<port>  the socket
type cluster struct {
	opts     Options
	bin      binaries
	who      account
	dir      string
	password string // of superuser on 127.0.0.1
	port     int

	dog    *watchdog
	proc   *process // the postmaster last started, nil before the first
	paused bool
}

// openCluster makes the folder, the watchdog, the data and the server, in this
// order: whatever happens from then on, somebody cleans up.
func openCluster(ctx context.Context, opts Options, bin binaries, who account) (_ backend, err error) {
	ctx, cancel := context.WithTimeout(ctx, opts.StartTimeout)
	defer cancel()
	dir, err := makeFolder(opts.places(), who)
	if err != nil {
		return nil, &StartError{What: "make a folder", Err: err}
	}
	dog, err := startWatchdog(dir)
	if err != nil {
		return nil, errors.Join(&StartError{What: "start the watchdog", Err: err}, os.RemoveAll(dir))
	}
	c := &cluster{opts: opts, bin: bin, who: who, dir: dir, dog: dog}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if err := c.makeData(ctx); err != nil {
		return nil, err
	}
	if err := c.startFirst(ctx); err != nil {
		return nil, err
	}
	return c, c.setPassword(ctx)
}

// socketPathMax is the least of the systems' limits, less the socket's own name.
const socketPathMax = 103 - len("/.s.PGSQL.65535")

// places are the folders in which the cluster's own may be made, the best first: the one that is asked for, by the
// options or TMPDIR, else memory where nothing has to last.
func (o Options) places() []string {
	if o.TempDir != "" {
		return []string{o.TempDir}
	}
	places := []string{os.TempDir(), "/tmp"}
	if shm := inMemory(); shm != "" && !o.Durable && os.Getenv("TMPDIR") == "" {
		places = slices.Insert(places, 0, shm)
	}
	return slices.Compact(places)
}

// makeFolder makes the cluster's folder where a socket's path fits and where the
// server's user gets to.
func makeFolder(places []string, who account) (string, error) {
	var errs []error
	for _, place := range places {
		dir, err := makeFolderIn(place, who)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

func makeFolderIn(place string, who account) (string, error) {
	place, err := filepath.Abs(place)
	if err != nil {
		return "", err
	}
	if place, err = filepath.EvalSymlinks(place); err != nil {
		return "", err
	}
	// The server's settings take the folder in a list with quoting rules of its own.
	for _, r := range place {
		if r <= ' ' || r == ',' || r == '"' || r == '\'' || r == '\\' {
			return "", fmt.Errorf("%q has a character that a socket's folder can't have", place)
		}
	}
	dir, err := os.MkdirTemp(place, "awa-pg-") // mode 0700
	if err != nil {
		return "", err
	}
	switch blocked := who.blockedBy(dir); {
	case len(dir) > socketPathMax:
		err = fmt.Errorf("%s is too long for a socket: at most %d bytes", dir, socketPathMax)
	case blocked != "":
		err = fmt.Errorf("the user %s, as whom the server has to run, can't enter %s", who.name, blocked)
	default:
		err = who.give(dir)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

func (c *cluster) data() string    { return filepath.Join(c.dir, "data") }
func (c *cluster) logPath() string { return filepath.Join(c.dir, "log") }

func (c *cluster) describe() string {
	commits := "commits not durable"
	if c.opts.Durable {
		commits = "commits durable"
	}
	return fmt.Sprintf("a private cluster of %s in %s (port %d, run as %s, %s)", c.bin.dir, c.dir, c.port, c.who.name, commits)
}

func (c *cluster) dsn() string {
	query := url.Values{"host": {c.dir}, "port": {strconv.Itoa(c.port)}, "sslmode": {"disable"}}
	return "postgres://" + superuser + "@/postgres?" + query.Encode()
}

func (c *cluster) tcpDSN() string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/postgres?sslmode=disable", superuser, c.password, c.port)
}

// setPassword draws the password of 127.0.0.1. The cached cluster has none, so
// that nobody gets in that way before.
func (c *cluster) setPassword(ctx context.Context) error {
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails, by its contract
	c.password = hex.EncodeToString(secret[:])
	conn, err := pgx.Connect(ctx, c.dsn())
	if err == nil {
		_, err = conn.Exec(ctx, "ALTER ROLE "+superuser+" PASSWORD '"+c.password+"'")
		err = errors.Join(err, conn.Close(ctx))
	}
	if err != nil {
		return &StartError{What: "set the password", Log: c.logTail(), Err: err}
	}
	return nil
}

// command is one of the server's programs, as the server's user.
func (c *cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(c.bin.path(program), args...)
	cmd.Dir = c.dir
	cmd.Env = cleanEnv(c.dir)
	cmd.SysProcAttr = c.who.attributes()
	return cmd
}

// write writes a file that the server reads.
func (c *cluster) write(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return c.who.give(path)
}
