package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// How much memory tests need, and how much must stay free for other programs. Both are in bytes.
const (
	room    = 4 << 30
	besides = 6 << 30
)

// hasRoom reports whether a folder is in memory, has enough room, and may contain programs that run.
func hasRoom(folder string) bool {
	const tmpfs, noExec = 0x01021994, 0x8
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil || s.Type != tmpfs || s.Flags&noExec != 0 {
		return false
	}
	return s.Bavail*uint64(s.Bsize) >= room && available() >= room+besides //nolint:gosec // a size is positive
}

// available returns how much memory programs can still get, in bytes.
func available() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
