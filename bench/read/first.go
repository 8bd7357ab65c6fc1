package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// others is the number of clients that read stories during the first request of the feed. The same
// number of clients update stories.
const others = 2

// first measures the very first request of the feed, and how much it slows other requests.
// Each turn begins without feed positions, because it removes those of the turn before.
func first(ctx context.Context, o options, d *store, l *layout, out io.Writer) error {
	if err := d.moveOn(ctx, l); err != nil {
		return err
	}
	s, err := serve(ctx, d, nil)
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Fprintln(out, "\n| First request, ms | reads beside it p50 | p99 | slowest | quiet p50 | p99 | slowest | updates beside it p50 | p99 | slowest | quiet p50 | p99 | slowest |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for range o.rounds {
		if err := d.forget(ctx); err != nil {
			return err
		}
		quiet, _, err := beside(ctx, s, l, func() error {
			time.Sleep(o.budget)
			return nil
		})
		if err != nil {
			return err
		}
		busy, took, err := beside(ctx, s, l, func() error { return position(s) })
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s |", rig.Ms(took))
		for kind := range busy {
			for _, x := range []rig.Result{busy[kind], quiet[kind]} {
				fmt.Fprintf(out, " %s | %s | %s |", rig.Ms(x.At(50)), rig.Ms(x.At(99)), rig.Ms(x.At(100)))
			}
		}
		fmt.Fprintln(out)
	}
	return nil
}

// moveOn moves the sequences past the filled data, so that the service can write.
func (s *store) moveOn(ctx context.Context, l *layout) error {
	total := int64(l.streams() * streamVersions)
	for name, value := range map[string]int64{"id": l.streamStory(l.streams()), "moment": l.wave(l.versions) + total, "audit": firstAudit + total} {
		if _, err := s.DB.Exec(ctx, "UPDATE sequence SET value = ? WHERE name = ?", value, name); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the feed positions of all writes.
func (s *store) forget(ctx context.Context) error {
	if _, err := s.DB.Exec(ctx, "UPDATE audit SET feed = NULL"); err != nil {
		return err
	}
	_, err := s.DB.Exec(ctx, "UPDATE sequence SET value = 0 WHERE name = 'feed'")
	return err
}

// beside runs the function do while other clients read and update stories. all has the times of the
// reads and of the updates, and took is the duration of the function.
func beside(ctx context.Context, s *sides, l *layout, do func() error) (all [2]rig.Result, took time.Duration, err error) {
	stories := l.stories()
	ask := [2]func(n int) []byte{
		func(n int) []byte {
			return rig.Get("/alds/rest-1.v1/Data/Story/"+strconv.FormatInt(stories[n%len(stories)], 10)+"?sel=Name,Number", s.token)
		},
		func(n int) []byte {
			return rig.Post("/alds/api/asset", s.token, fmt.Sprintf(`{"from":"Story:%d","update":{"Estimate":%d}}`, stories[n*37%len(stories)], n))
		},
	}
	var mu sync.Mutex
	var over atomic.Bool
	var failed error
	var asking sync.WaitGroup
	for i := range 2 * others {
		asking.Go(func() {
			var mine rig.Result
			c, err := rig.Dial(s.service)
			for n := i; err == nil && ctx.Err() == nil && !over.Load(); n += 2 * others {
				err = timed(&mine, c, ask[i%2](n), true, nil)
			}
			mu.Lock()
			defer mu.Unlock()
			all[i%2].Times = append(all[i%2].Times, mine.Times...)
			if err != nil {
				failed = err
				return
			}
			closeAll(c)
		})
	}
	start := time.Now()
	err = do()
	took = time.Since(start)
	over.Store(true)
	asking.Wait()
	for kind := range all {
		all[kind].Sort()
		if err == nil && failed == nil && len(all[kind].Times) == 0 {
			failed = fmt.Errorf("nothing was asked in %v", took)
		}
	}
	if err == nil {
		err = failed
	}
	return all, took, err
}
