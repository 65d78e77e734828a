package pgtest

import "syscall"

const (
	sharedMemory = "/dev/shm"
	tmpfsMagic   = 0x01021994 // statfs(2)
	roomInMemory = 6 << 30
)

// inMemory is the folder in memory where a cluster that may lose everything is made: emptied tables are files that come
// and go, and there they cost a fraction of what they cost on a disk. Empty where there is none, or too little room for a
// few clusters side by side (a container's is 64 MB unless it is told otherwise).
func inMemory() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(sharedMemory, &fs); err != nil || fs.Type != tmpfsMagic {
		return ""
	}
	if fs.Bavail*uint64(fs.Bsize) < roomInMemory {
		return ""
	}
	return sharedMemory
}
