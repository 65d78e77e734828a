//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user as whom a server's programs run. PostgreSQL refuses root.
type account struct {
	name     string
	uid, gid int
	switched bool // it isn't us: we are root
}

// serverAccount is ourselves, or for root "postgres", or else "nobody".
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		name := strconv.Itoa(os.Geteuid())
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
		return account{name: name, uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	var errs []error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err := errors.Join(err1, err2); err != nil {
			errs = append(errs, err)
			continue
		}
		return account{name: name, uid: uid, gid: gid, switched: true}, nil
	}
	return account{}, fmt.Errorf("we are root, PostgreSQL refuses root, and there is no other user to run it: %w", errors.Join(errs...))
}

// attributes start a program as this user in a session, and so a process group,
// of its own: a terminal's ^C is for us, not for the server.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.switched {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// give makes path this user's.
func (a account) give(path string) error {
	if !a.switched {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// blockedBy is the first folder on the way to path that this user can't enter, or "".
func (a account) blockedBy(path string) string {
	if !a.switched {
		return "" // what we can't enter we don't find either
	}
	blocked := ""
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if !a.canEnter(dir) {
			blocked = dir
		}
		if dir == filepath.Dir(dir) {
			return blocked
		}
	}
}

func (a account) canEnter(dir string) bool {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return false
	}
	switch {
	case int(st.Uid) == a.uid:
		return st.Mode&0o100 != 0
	case int(st.Gid) == a.gid:
		return st.Mode&0o010 != 0
	}
	return st.Mode&0o001 != 0
}
