package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// steadily creates stories at the rate of -rate. For every receiver and story it returns the
// time from the answer to the arrival of the event.
func (b *bench) steadily(ctx context.Context, to []*receiver) ([]time.Duration, error) {
	answered := map[string]time.Time{}
	tick := time.NewTicker(time.Second / time.Duration(b.o.rate))
	defer tick.Stop()
	n := int(b.o.steady.Seconds() * float64(b.o.rate))
	for i := range n {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		name := "at " + strconv.Itoa(i)
		if err := b.s.Post("/api/asset", story(name), &struct{}{}); err != nil {
			return nil, err
		}
		answered[name] = time.Now()
	}
	var all []time.Duration
	for _, r := range to {
		if _, ok := r.await(int64(n)); !ok {
			return nil, fmt.Errorf("%d of %d events came", r.events.Load(), n)
		}
		r.mu.Lock()
		for name, from := range answered {
			all = append(all, max(0, r.arrived[name].Sub(from)))
		}
		r.mu.Unlock()
	}
	return all, nil
}

func (b *bench) latency(ctx context.Context) error {
	to, err := newReceiver(nil, true)
	if err != nil {
		return err
	}
	defer to.server.Close()
	remove, err := b.s.subscribe(to.url, 0, created)
	if err != nil {
		return err
	}
	defer func() { _ = remove() }()
	used := b.s.CPU()
	all, err := b.steadily(ctx, []*receiver{to})
	if err != nil {
		return err
	}
	b.say("latency: %d changes/s for %s, answer to receipt: p50 %.1f ms, p99 %.1f ms, most %.1f ms; %.2f ms CPU per change, the request included; load %s",
		b.o.rate, b.o.steady, ms(at(all, .5)), ms(at(all, .99)), ms(at(all, 1)), ms((b.s.CPU()-used)/time.Duration(len(all))), rig.Load())
	return nil
}

// isolation measures eighteen receivers twice: alone, and together with two bad receivers. One
// of these hangs, and the other answers 500.
func (b *bench) isolation(ctx context.Context) error {
	alone, err := b.beside(ctx, nil)
	if err != nil {
		return err
	}
	bad, err := b.beside(ctx, []http.HandlerFunc{
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	})
	if err != nil {
		return err
	}
	b.say("isolation: 18 receivers at %d changes/s: alone p50 %.1f ms, p99 %.1f ms; beside one that hangs and one that answers 500 p50 %.1f ms, p99 %.1f ms: p99 ratio %.2f; load %s",
		b.o.rate, ms(at(alone, .5)), ms(at(alone, .99)), ms(at(bad, .5)), ms(at(bad, .99)),
		at(bad, .99).Seconds()/at(alone, .99).Seconds(), rig.Load())
	return nil
}

func (b *bench) beside(ctx context.Context, bad []http.HandlerFunc) ([]time.Duration, error) {
	var healthy []*receiver
	for i := range 18 + len(bad) {
		var answer http.HandlerFunc
		if i >= 18 {
			answer = bad[i-18]
		}
		r, err := newReceiver(answer, true)
		if err != nil {
			return nil, err
		}
		defer r.server.Close()
		if answer == nil {
			healthy = append(healthy, r)
		}
		remove, err := b.s.subscribe(r.url, 0, created)
		if err != nil {
			return nil, err
		}
		defer func() { _ = remove() }()
	}
	return b.steadily(ctx, healthy)
}
