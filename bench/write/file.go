package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// crowd is the number of clients that write to a file at the same time. Their time windows
// alternate with the windows of a single client.
const crowd = 16

// measureFile measures single writes on a SQLite file and does not delete the file. Windows with
// one client and windows with many clients alternate. Each client creates one story after another
// over HTTP.
func measureFile(ctx context.Context, o options, out io.Writer) error {
	d, err := rig.OpenFile(ctx, o.sqlite, o.redis)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	service, err := rig.Serve(ctx, d)
	if err != nil {
		return err
	}
	defer service.Stop()
	token, err := rig.Token(ctx, d.DB, "admin")
	if err != nil {
		return err
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	request := rig.Post("/alds/api/asset", token, `{"AssetType": "Story", "Name": "A story", "Scope": "Scope:0", "Estimate": 3}`)
	fmt.Fprintf(out, "stories created one by one on %d cores, clients on the same\n\n", runtime.GOMAXPROCS(0))
	fmt.Fprintln(out, "| Writers | stories/s | median ms | p99 ms | processor ms for each | load |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	for range o.goes {
		for _, n := range []int{1, crowd} {
			if err := crowdOf(n, o.window, service.Addr, request, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// crowdOf lets n clients write for the window and prints a row.
func crowdOf(n int, window time.Duration, addr string, request []byte, out io.Writer) error {
	conns := make([]*rig.Conn, n)
	for i := range conns {
		var err error
		if conns[i], err = rig.Dial(addr); err != nil {
			return err
		}
		defer func() { _ = conns[i].Close() }()
	}
	times, errs := make([][]time.Duration, n), make([]error, n)
	began, used := time.Now(), processor()
	var all sync.WaitGroup
	for i, c := range conns {
		all.Go(func() {
			for len(times[i]) == 0 || time.Since(began) < window {
				start := time.Now()
				raw, err := c.Ask(request)
				times[i] = append(times[i], time.Since(start))
				if err == nil {
					_, err = read(raw)
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	all.Wait()
	took, cpu := time.Since(began), processor()-used
	list := slices.Concat(times...)
	slices.Sort(list)
	fmt.Fprintf(out, "| %d | %.0f | %s | %s | %s | %s |\n", n, rate(len(list), took), rig.Ms(rig.Median(list)),
		rig.Ms(list[len(list)*99/100]), rig.Ms(cpu/time.Duration(len(list))), rig.Load())
	return errors.Join(errs...)
}

// processor returns the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
