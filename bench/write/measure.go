package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// measure measures and prints row by row.
func measure(ctx context.Context, o options, s *sides, rows []work, out io.Writer) error {
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
	fmt.Fprintf(out, "medians on %d cores; the load is that of the last minute\n\n", runtime.GOMAXPROCS(0))
	fmt.Fprintln(out, "| Work | goes | alds ms | floor ms | ratio | alds stories/s | floor stories/s | floor in one transaction ms | ratio | load |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|")
	for _, w := range rows {
		if err := inTurn(ctx, o, s, w, out); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	for _, w := range rows {
		if !w.single {
			continue
		}
		for _, writers := range []int{8, 32} {
			if err := crowds(ctx, o, s, w, writers, out); err != nil {
				return fmt.Errorf("%s, %d writers: %w", w.name, writers, err)
			}
		}
	}
	return nil
}

// inTurn measures the same work on both sides in turn. The side that comes first alternates.
func inTurn(ctx context.Context, o options, s *sides, w work, out io.Writer) error {
	goes := o.goes
	if w.single {
		goes = o.singles
	}
	hands := []func(about) (time.Duration, error){
		func(a about) (time.Duration, error) { return s.timed(s.requestOf(w, a)) },
		s.byHand(ctx, w.floor),
	}
	if w.member {
		hands[1] = func(a about) (time.Duration, error) { return s.timed(s.request(w.body(a))) }
	}
	if w.less != nil && o.profile == "" {
		hands = append(hands, s.byHand(ctx, w.less))
	}
	if o.profile != "" {
		hands = hands[:1]
	}
	times := make([][]time.Duration, 3)
	for i := range goes {
		for k := range hands {
			if err := ctx.Err(); err != nil {
				return err
			}
			side := (k + i) % len(hands)
			a, err := s.ready(ctx, w)
			if err != nil {
				return err
			}
			if !w.single {
				runtime.GC() // so that no side collects the garbage of another side
			}
			took, err := hands[side](a)
			if err != nil {
				return err
			}
			times[side] = append(times[side], took)
		}
	}
	alds, floor, less := rig.Median(times[0]), rig.Median(times[1]), rig.Median(times[2])
	fmt.Fprintf(out, "| %s | %d | %s | %s | %.2f | %.0f | %.0f |", w.name, goes, rig.Ms(alds), rig.Ms(floor), ratio(alds, floor),
		rate(w.assets, alds), rate(w.assets, floor))
	if less > 0 {
		fmt.Fprintf(out, " %s | %.2f |", rig.Ms(less), ratio(alds, less))
	} else {
		fmt.Fprint(out, " | |")
	}
	fmt.Fprintf(out, " %s |\n", rig.Load())
	return nil
}

// timed sends a request to the service and returns the time until the answer. It does not
// include building the request and decoding the answer.
func (s *sides) timed(request []byte) (time.Duration, error) {
	start := time.Now()
	raw, err := s.Ask(request)
	took := time.Since(start)
	if err == nil {
		_, err = read(raw)
	}
	return took, err
}

func (s *sides) byHand(ctx context.Context, floor func(context.Context, *hand, about) error) func(about) (time.Duration, error) {
	return func(a about) (time.Duration, error) {
		start := time.Now()
		err := floor(ctx, s.hand, a)
		return time.Since(start), err
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// crowds compares the rate of many writers with the rate of one writer, on both sides.
func crowds(ctx context.Context, o options, s *sides, w work, writers int, out io.Writer) error {
	var rates [2][2][]float64 // first index: side; second index: 0 for one writer, 1 for many
	for range o.goes {
		for side := range rates {
			for k, n := range []int{1, writers} {
				got, err := window(ctx, o.window, s, w, n, side == 0)
				if err != nil {
					return err
				}
				rates[side][k] = append(rates[side][k], got)
			}
		}
	}
	one, many, floorOne, floorMany := rig.Median(rates[0][0]), rig.Median(rates[0][1]), rig.Median(rates[1][0]), rig.Median(rates[1][1])
	fmt.Fprintf(out, "\n%s, writers of alds: one %.0f/s, %d %.0f/s, %.1f times as many; of the floor: one %.0f/s, %d %.0f/s, %.1f times; alds at %d is %.2f of the floor; load %s\n",
		w.name, one, writers, many, many/one, floorOne, writers, floorMany, floorMany/floorOne, writers, many/floorMany, rig.Load())
	return nil
}

// window returns the writes per second of n writers on one side.
func window(ctx context.Context, length time.Duration, s *sides, w work, n int, service bool) (float64, error) {
	all := make([]about, n)
	conns := make([]*rig.Conn, n)
	for k := range all {
		var err error
		if all[k], err = s.ready(ctx, w); err != nil {
			return 0, err
		}
		if conns[k], err = rig.Dial(s.addr); err != nil {
			return 0, err
		}
		defer func() { _ = conns[k].Close() }()
	}
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	start := time.Now()
	for k := range n {
		group.Go(func() {
			a := all[k]
			for time.Since(start) < length && ctx.Err() == nil {
				a.n++
				err := func() error {
					if service {
						_, err := conns[k].Ask(s.request(w.body(a)))
						return err
					}
					return w.floor(ctx, s.hand, a)
				}()
				if err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(start).Seconds(), nil
}
