package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// takes has the delays of the answers: in the step slow, each receiver waits for one of these times
// before it answers. The first receiver answers at once.
var takes = []time.Duration{0, 500 * time.Millisecond, 900 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}

// slow measures slow receivers, all at the same time. It creates stories with one request
// each. Then it waits up to -drain and prints what each receiver got.
func (b *bench) slow(ctx context.Context) error {
	all := make([]*receiver, len(takes))
	for i, d := range takes {
		r, err := newSlowReceiver(d)
		if err != nil {
			return err
		}
		defer r.server.Close()
		remove, err := b.s.subscribe(r.url, 0, created)
		if err != nil {
			return err
		}
		defer func() { _ = remove() }()
		all[i] = r
	}
	began := time.Now()
	answered, err := b.stories(ctx)
	if err != nil {
		return err
	}
	loaded := time.Since(began)
	for end := time.Now().Add(b.o.drain); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		missing := false
		for _, r := range all {
			missing = missing || r.events.Load() < int64(len(answered))
		}
		if !missing {
			break
		}
	}
	b.say("slow: %d changes in %s, one to a request, to %d receivers; load %s", len(answered), loaded.Round(time.Second), len(all), rig.Load())
	for i, r := range all {
		b.say("  %-5s %s", takes[i], r.told(answered, began))
	}
	return ctx.Err()
}

// stories creates stories at the rate of -rate. The map has the name of each story as key and the
// time of the answer as value.
func (b *bench) stories(ctx context.Context) (map[string]time.Time, error) {
	answered := map[string]time.Time{}
	tick := time.NewTicker(time.Second / time.Duration(b.o.rate))
	defer tick.Stop()
	for i := range int(b.o.steady.Seconds() * float64(b.o.rate)) {
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
	return answered, nil
}

// newSlowReceiver returns a receiver that records a request and answers after the given time.
func newSlowReceiver(takes time.Duration) (*receiver, error) {
	var r *receiver
	answer := func(w http.ResponseWriter, req *http.Request) {
		r.record(w, req)
		select {
		case <-time.After(takes):
		case <-req.Context().Done():
		}
	}
	ready := make(chan struct{})
	made, err := newReceiver(func(w http.ResponseWriter, req *http.Request) {
		<-ready
		answer(w, req)
	}, true)
	r = made
	close(ready)
	return r, err
}

// told describes the events that a receiver got.
func (r *receiver) told(answered map[string]time.Time, began time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, name := time.Time{}, ""
	var oldest time.Duration
	for n, at := range r.arrived {
		if at.After(last) {
			last, name = at, n
		}
		oldest = max(oldest, at.Sub(answered[n]))
	}
	if name == "" {
		return "nothing"
	}
	return fmt.Sprintf("%d of %d events in %d requests, %.1f events/s until the last, which was %.1f s old (at most %.1f)",
		len(r.arrived), len(answered), r.posts.Load(), float64(len(r.arrived))/last.Sub(began).Seconds(), last.Sub(answered[name]).Seconds(), oldest.Seconds())
}
