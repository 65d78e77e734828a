//go:build unix && !linux

package pgtest

import (
	"os/exec"
	"strconv"
	"strings"
)

// processTable asks ps, where there is no /proc of Linux's form.
func processTable() (map[int]processInfo, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "stat=").Output()
	if err != nil {
		return nil, err
	}
	table := map[int]processInfo{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		if err1 == nil && err2 == nil {
			table[pid] = processInfo{pid: pid, parent: parent, state: fields[2][0]}
		}
	}
	return table, nil
}

// removeSegment asks ipcrm to remove what a killed server left.
func removeSegment(id int) error {
	return exec.Command("ipcrm", "-m", strconv.Itoa(id)).Run()
}
