package memory

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Where the system says how much memory there is.
var (
	controlGroups = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	machine       = "/proc/meminfo"
)

// unknownLimit is assumed where the system does not say.
const unknownLimit = 2 << 30

// Limit returns how many bytes the process may use: the smallest of the
// machine's memory, the limit of its control group and Go's own (GOMEMLIMIT).
func Limit() int64 {
	limit := int64(math.MaxInt64)
	for _, file := range controlGroups {
		if text, err := os.ReadFile(filepath.Clean(file)); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 { // "max" is none
				limit = min(limit, n)
			}
		}
	}
	limit = min(limit, total(machine), debug.SetMemoryLimit(-1))
	if limit > 1<<60 { // the kernel's way to say none
		return unknownLimit
	}
	return limit
}

// total reads the machine's memory, of a line such as "MemTotal:  24576000 kB".
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

// The share of what the process may use that Go's own limit leaves to the rest:
// stacks of the system, the libraries' own memory, the pages of the binary.
const rest = 10 // percent

// SetLimit sets Go's memory limit from what the process may use, in bytes,
// unless GOMEMLIMIT has set one: near it memory is collected sooner.
func SetLimit(limit int64) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit - limit/100*rest)
	}
}

// When memory is given back to the system.
const (
	keepEvery  = 4 * time.Second
	keepUnused = 64 << 20 // bytes that need not be given back
)

// Keep gives memory back to the system once a load is over, until ctx ends: Go
// alone keeps for minutes what a load needed. busy reports whether there was
// work since it was asked last that needed much memory.
func Keep(ctx context.Context, busy func() bool) error {
	tick := time.NewTicker(keepEvery)
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

// wasteful reports whether the process holds far more than it uses.
func wasteful() bool {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	unused := m.HeapSys - m.HeapReleased - m.HeapAlloc
	return unused > max(keepUnused, m.HeapAlloc/2)
}
