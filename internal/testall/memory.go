package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// inMemory makes a folder in memory for the files of tests, where this machine has room for
// it: SQLite and the servers that tests start then wait for no disk. It returns "" where
// there is none; release removes the folder.
func inMemory() (dir string, release func()) {
	const shm = "/dev/shm"
	if os.Getenv("TMPDIR") != "" || !hasRoom(shm) {
		return "", func() {}
	}
	removeLeft(shm)
	dir = filepath.Join(shm, left+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // servers that run as another user lie below it
		fmt.Fprintln(os.Stderr, "testall: no folder in memory:", err)
		return "", func() {}
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// left begins the name of a folder in memory; the rest is the process that made it.
const left = "alds-tests-"

// removeLeft removes folders of processes that were killed.
func removeLeft(shm string) {
	found, _ := filepath.Glob(filepath.Join(shm, left+"*"))
	for _, dir := range found {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), left))
		if err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(dir)
		}
	}
}
