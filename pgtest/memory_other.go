//go:build unix && !linux

package pgtest

// inMemory is empty: only Linux has a folder in memory that is there everywhere.
func inMemory() string { return "" }
