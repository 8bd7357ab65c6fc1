package memory

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The files in which the system reports memory.
var (
	controlGroups = "/sys/fs/cgroup"
	ownGroup      = "/proc/self/cgroup"
	machine       = "/proc/meminfo"
)

// unknownLimit is the limit in bytes that is used if the system reports none.
const unknownLimit = 2 << 30

// Limit returns how many bytes the process may use. It returns the smallest of these values: the
// memory of the machine, the limits of the process's control group and its parent groups, and Go's
// own limit (GOMEMLIMIT).
func Limit() int64 {
	limit := int64(math.MaxInt64)
	for _, file := range limitFiles() {
		if text, err := os.ReadFile(filepath.Clean(file)); err == nil {
			// The text "max" means no limit.
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				limit = min(limit, n)
			}
		}
	}
	limit = min(limit, total(machine), debug.SetMemoryLimit(-1))
	if limit > 1<<60 { // the kernel's value for no limit
		return unknownLimit
	}
	return limit
}

// limitFiles returns the files with the limits of the process's control group, of its parent
// groups, and of the root. A container that sees no other group finds its own limit at the root.
// Some of the files may not exist. A line of /proc/self/cgroup is "0::/a/b", or "4:memory:/a/b" in
// version 1 of control groups.
func limitFiles() []string {
	const unified, former = "memory.max", "memory/memory.limit_in_bytes"
	files := []string{filepath.Join(controlGroups, unified), filepath.Join(controlGroups, former)}
	text, err := os.ReadFile(filepath.Clean(ownGroup))
	if err != nil {
		return files
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		dir, name := controlGroups, unified
		if fields[1] != "" {
			dir, name = filepath.Split(filepath.Join(controlGroups, former))
		}
		if fields[1] != "" && !slices.Contains(strings.Split(fields[1], ","), "memory") {
			continue
		}
		for group := filepath.Join("/", fields[2]); group != "/"; group = filepath.Dir(group) {
			files = append(files, filepath.Join(dir, group, name))
		}
	}
	return files
}

// total reads the machine's memory in bytes, from a line such as "MemTotal:  24576000 kB".
func total(file string) int64 {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return math.MaxInt64
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "MemTotal:" {
			continue
		}
		if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return kib << 10
		}
	}
	return math.MaxInt64
}

// outsideGo is the part of the memory that Go's limit leaves free for system stacks, libraries and
// the binary.
const outsideGo = 10 // percent

// SetLimit sets Go's memory limit, unless GOMEMLIMIT has set it. limit is the number of bytes that
// the process may use. Limit returns this number.
func SetLimit(limit int64) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit - limit/100*outsideGo)
	}
}

// latePercent is the value of GOGC that CollectLate sets. A collection starts when the new garbage
// reaches this percentage of the memory in use.
const latePercent = 300

// CollectLate makes the garbage collector run a third as often as by default, within the memory
// limit. It changes nothing if GOGC is set. It is for a process that uses little memory and makes
// much garbage.
func CollectLate() {
	const usual = 100
	if before := debug.SetGCPercent(latePercent); before != usual {
		debug.SetGCPercent(before)
	}
}

const (
	returnEvery = 4 * time.Second
	maxUnused   = 64 << 20 // number of unused bytes that may stay with the process
)

// ReturnUnused returns unused memory to the system after a time of high load, until ctx ends.
// Without this, Go keeps the memory for minutes. busy reports whether much memory was needed since
// the last call of busy.
func ReturnUnused(ctx context.Context, busy func() bool) error {
	tick := time.NewTicker(returnEvery)
	defer tick.Stop()
	for loaded := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch {
		case busy():
			loaded = true
		case loaded || wasteful():
			debug.FreeOSMemory()
			loaded = false
		}
	}
}

// wasteful reports whether the process holds much more heap memory than it uses.
func wasteful() bool {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	unused := m.HeapSys - m.HeapReleased - m.HeapAlloc
	return unused > max(maxUnused, m.HeapAlloc/2)
}
