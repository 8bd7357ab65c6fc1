package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// inMemory creates a folder in memory for the files of tests, if this machine has enough memory. Then
// SQLite and the servers that tests start do not wait for a disk. If there is not enough memory, dir is
// empty. release removes the folder.
func inMemory() (dir string, release func()) {
	const shm = "/dev/shm"
	if os.Getenv("TMPDIR") != "" {
		return "", func() {}
	}
	removeLeft(shm) // first, because this frees memory
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

// left is the beginning of the name of a folder in memory. The rest of the name is the id of the process
// that created the folder.
const left = "alds-tests-"

// removeLeft removes the folders of processes that were killed.
func removeLeft(shm string) {
	found, _ := filepath.Glob(filepath.Join(shm, left+"*"))
	for _, dir := range found {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), left))
		if err == nil && testdb.HasEnded(pid) {
			_ = os.RemoveAll(dir)
		}
	}
}
