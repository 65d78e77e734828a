package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processTable reads /proc. Processes that end meanwhile are left out.
func processTable() (map[int]processInfo, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	table := make(map[int]processInfo, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if info, ok := readProcess(pid); ok {
			table[pid] = info
		}
	}
	return table, nil
}

// readProcess reads "pid (name) state ppid …"; the name may hold anything, the
// start time is the 22nd field.
func readProcess(pid int) (processInfo, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return processInfo{}, false
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 {
		return processInfo{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return processInfo{}, false
	}
	return processInfo{pid: pid, parent: parent, state: fields[0][0], born: fields[19]}, true
}

// removeSegment removes a System V shared memory segment that a killed server left.
func removeSegment(id int) error {
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil && err != unix.EINVAL && err != unix.EIDRM {
		return fmt.Errorf("remove shared memory segment %d: %w", id, err)
	}
	return nil
}
