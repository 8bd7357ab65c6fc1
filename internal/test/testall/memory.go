package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// inMemory makes a folder in memory for the files of tests, if this machine has room for it.
// SQLite and the servers that tests start then do not wait for a disk. If there is no room, it
// returns "". release removes the folder.
func inMemory() (dir string, release func()) {
	const shm = "/dev/shm"
	if os.Getenv("TMPDIR") != "" {
		return "", func() {}
	}
	removeLeft(shm) // first, because it makes room
	if !hasRoom(shm) {
		return "", func() {}
	}
	dir = filepath.Join(shm, left+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // servers of other users have files below it
		fmt.Fprintln(os.Stderr, "testall: no folder in memory:", err)
		return "", func() {}
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// left begins the name of a folder in memory. The rest is the id of the process that made it.
const left = "alds-tests-"

// removeLeft removes folders of processes that were killed.
func removeLeft(shm string) {
	found, _ := filepath.Glob(filepath.Join(shm, left+"*"))
	for _, dir := range found {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), left))
		if err == nil && testdb.HasEnded(pid) {
			_ = os.RemoveAll(dir)
		}
	}
}
