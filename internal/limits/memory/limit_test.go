package memory

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimit(t *testing.T) {
	groups, own, info := controlGroups, ownGroup, machine
	t.Cleanup(func() { controlGroups, ownGroup, machine = groups, own, info })
	const host = "MemFree: 1 kB\nMemTotal:        2048 kB\n"
	for _, c := range []struct {
		what, own, machine string
		files              map[string]string
		want               int64
	}{
		{"the machine", "", host, nil, 2 << 20},
		{"a container", "0::/", host, map[string]string{"memory.max": "1048576\n"}, 1 << 20},
		{"a container of version 1", "", host, map[string]string{"memory/memory.limit_in_bytes": "1048576\n"}, 1 << 20},
		{"a control group without a limit", "0::/", host, map[string]string{"memory.max": "max\n"}, 2 << 20},
		{"the old way to say none", "", host, map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 2 << 20},
		{"a unit", "0::/system.slice/alds.service\n", host, map[string]string{"system.slice/alds.service/memory.max": "1048576\n"}, 1 << 20},
		{"the slice that a unit lies in", "0::/system.slice/alds.service\n", host, map[string]string{
			"system.slice/memory.max": "524288\n", "system.slice/alds.service/memory.max": "1048576\n",
		}, 512 << 10},
		{"another unit", "0::/system.slice/alds.service\n", host, map[string]string{"system.slice/other.service/memory.max": "1048576\n"}, 2 << 20},
		{"a unit of version 1", "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/a\n", host, map[string]string{"memory/a/b/memory.limit_in_bytes": "1048576\n"}, 1 << 20},
		{"nobody says", "", "", nil, unknownLimit},
	} {
		dir := t.TempDir()
		put := func(name, text string) string {
			name = filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
			return name
		}
		for name, text := range c.files {
			put("groups/"+name, text)
		}
		controlGroups, ownGroup, machine = filepath.Join(dir, "groups"), put("own", c.own), put("machine", c.machine)
		if got := Limit(); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

func TestSetLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	debug.SetMemoryLimit(math.MaxInt64)
	SetLimit(1000 << 20)
	if got := debug.SetMemoryLimit(-1); got != 900<<20 {
		t.Errorf("%d", got)
	}
	SetLimit(1) // changes nothing, because a limit is already set
	if got := debug.SetMemoryLimit(-1); got != 900<<20 {
		t.Errorf("%d", got)
	}
}

func TestCollectLate(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for _, c := range []struct{ set, want int }{{100, latePercent}, {50, 50}, {-1, -1}} {
		debug.SetGCPercent(c.set)
		CollectLate()
		if got := debug.SetGCPercent(100); got != c.want {
			t.Errorf("%d became %d, not %d", c.set, got, c.want)
		}
	}
}

// held returns the number of heap bytes that the process has from the system.
func held() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased
}

func TestUnusedMemoryIsReturned(t *testing.T) {
	func() {
		load := make([]byte, 256<<20)
		for i := range load {
			load[i] = 1
		}
		runtime.KeepAlive(load)
	}()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var isBusy atomic.Bool
		isBusy.Store(true)
		go func() { _ = ReturnUnused(ctx, isBusy.Load) }()
		time.Sleep(10*returnEvery + 1)
		if held() < 256<<20 {
			t.Error("memory was given back under load")
		}
		isBusy.Store(false)
		time.Sleep(returnEvery)
		synctest.Wait()
		cancel()
	})
	if got := held(); got > 64<<20 {
		t.Errorf("%d bytes are held", got)
	}
}
