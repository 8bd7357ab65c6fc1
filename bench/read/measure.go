package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// agree checks that both sides answer the same bytes.
func agree(s *sides, rows []work) error {
	service, floor, err := dialBoth(s, false)
	if err != nil {
		return err
	}
	defer closeAll(service, floor)
	for _, w := range rows {
		for n := 0; n < w.variants && !w.compares(); n += 1 + w.variants/10 {
			ask, by := w.requests(s, n)
			got, err := service.Ask(ask)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			want, err := floor.Ask(by)
			if err != nil {
				return fmt.Errorf("%s, floor: %w", w.name, err)
			}
			if !bytes.Equal(got, want) {
				return fmt.Errorf("%s, variant %d: the sides differ\nservice: %s\nfloor:   %s", w.name, n, around(got, want), around(want, got))
			}
			if n == 0 && len(got) < 40 {
				return fmt.Errorf("%s: an empty answer proves nothing: %s", w.name, got)
			}
		}
	}
	return nil
}

// around returns the part of text around the first byte in which text and other differ.
func around(text, other []byte) []byte {
	i := 0
	for i < len(text) && i < len(other) && text[i] == other[i] {
		i++
	}
	return text[max(0, i-100):min(len(text), i+100)]
}

func dialBoth(s *sides, same bool) (service, floor *rig.Conn, err error) {
	if service, err = rig.Dial(s.service); err != nil {
		return nil, nil, err
	}
	addr := s.floor
	if same {
		addr = s.service
	}
	if floor, err = rig.Dial(addr); err != nil {
		closeAll(service)
	}
	return service, floor, err
}

func closeAll(conns ...*rig.Conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

// result has the results of one row: the times with one client, and the rates with eight.
type result struct {
	bytes          int
	service, floor rig.Result
}

// measure measures and prints row by row.
func measure(ctx context.Context, o options, s *sides, rows []work, out io.Writer) error {
	fmt.Fprintf(out, "\n%d assets, %d versions each; milliseconds at one client, requests per second at eight\n\n", o.assets, o.versions)
	fmt.Fprintln(out, "| Work | bytes | alds p50 | p99 | floor p50 | p99 | ratio p50 | alds req/s | floor req/s | ratio |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|")
	for _, w := range rows {
		r := result{}
		if err := alone(ctx, o, s, w, &r); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if err := crowd(ctx, o, s, w, &r); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		a, f := r.service, r.floor
		fmt.Fprintf(out, "| %s | %d | %s | %s | %s | %s | %.2f | %.0f | %.0f | %.2f |\n", w.name, r.bytes,
			rig.Ms(a.At(50)), rig.Ms(a.At(99)), rig.Ms(f.At(50)), rig.Ms(f.At(99)), float64(a.At(50))/float64(f.At(50)), a.Rate(), f.Rate(), a.Rate()/f.Rate())
	}
	return nil
}

// least is the minimum number of repetitions of a row, even if it is slow.
const least = 7

// alone sends requests to both sides in turn. The side that comes first alternates, because
// the second side finds the pages of the first in memory.
func alone(ctx context.Context, o options, s *sides, w work, r *result) error {
	service, floor, err := dialBoth(s, w.compares())
	if err != nil {
		return err
	}
	defer closeAll(service, floor)
	start := time.Now()
	for i := 0; ; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, took := len(r.floor.Times), time.Since(start)
		if n >= least && took >= o.budget {
			break
		}
		warm := i >= 20 || took >= o.budget/4
		ask, by := w.requests(s, i%w.variants)
		turns := [2]func() error{
			func() error { return timed(&r.service, service, ask, warm, &r.bytes) },
			func() error { return timed(&r.floor, floor, by, warm, nil) },
		}
		for k := range turns {
			if err := turns[(k+i)%2](); err != nil {
				return err
			}
		}
	}
	r.service.Sort()
	r.floor.Sort()
	return nil
}

// timed sends a request. It adds the time to r if keep is set, and stores the size of the answer.
func timed(r *rig.Result, c *rig.Conn, request []byte, keep bool, size *int) error {
	start := time.Now()
	body, err := c.Ask(request)
	took := time.Since(start)
	if err != nil {
		return err
	}
	if size != nil {
		*size = len(body)
	}
	if keep {
		r.Times = append(r.Times, took)
	}
	return nil
}

const clients = 8

// crowd lets eight clients send requests to one side and then to the other, in alternating
// windows.
func crowd(ctx context.Context, o options, s *sides, w work, r *result) error {
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
	for i := range 2 * o.rounds {
		if i%2 == 1 && o.profile != "" {
			continue
		}
		rate, err := window(ctx, o.window, s, w, i%2 == 0)
		if err != nil {
			return err
		}
		if i%2 == 0 {
			r.service.Rates = append(r.service.Rates, rate)
		} else {
			r.floor.Rates = append(r.floor.Rates, rate)
		}
	}
	if o.profile != "" {
		r.floor.Rates = r.service.Rates
	}
	r.service.Sort()
	r.floor.Sort()
	return nil
}

// window returns the requests per second of eight clients on one side.
func window(ctx context.Context, length time.Duration, s *sides, w work, service bool) (float64, error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	start := time.Now()
	for k := range clients {
		all.Go(func() {
			first, second, err := dialBoth(s, w.compares())
			if err != nil {
				failed.Store(&err)
				return
			}
			defer closeAll(first, second)
			for i := k * 31; time.Since(start) < length && ctx.Err() == nil; i++ {
				ask, by := w.requests(s, i%w.variants)
				c, r := first, ask
				if !service {
					c, r = second, by
				}
				if _, err := c.Ask(r); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(start).Seconds(), nil
}
