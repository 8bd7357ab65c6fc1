package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// bench is one run.
type bench struct {
	o   options
	s   *site
	out io.Writer
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.out, format+"\n", args...) }

// created is the event definition that matches every created story.
var created = map[string]any{"type": "AssetCreated", "from": "Story", "select": []any{"Name", "Estimate", "Scope.Name"}}

// round is the result of one bulk request.
type round struct {
	events   int64
	posts    int64
	took     time.Duration // from the answer to the last event
	whole    time.Duration // from the request to the last event
	perEvent time.Duration // processor time of all processes
	bodies   [][]byte
}

func (r round) rate() float64 { return float64(r.events) / r.took.Seconds() }

// send creates n stories with one request, while subs subscriptions to one receiver exist.
func (b *bench) send(n, subs, maxBatch int) (round, error) {
	var r round
	to, err := newReceiver(nil, false)
	if err != nil {
		return r, err
	}
	defer to.server.Close()
	to.reset(n)
	for range subs {
		remove, err := b.s.subscribe(to.url, maxBatch, created)
		if err != nil {
			return r, err
		}
		defer func() { _ = remove() }()
	}
	if err := b.s.create(100); err != nil { // warm-up
		return r, err
	}
	if _, ok := to.await(int64(100 * subs)); !ok {
		return r, fmt.Errorf("the first events did not come")
	}
	time.Sleep(200 * time.Millisecond)
	to.reset(n)
	used, began := b.s.CPU(), time.Now()
	if err := b.s.create(n); err != nil {
		return r, err
	}
	answered := time.Now()
	last, ok := to.await(int64(n * subs))
	if !ok {
		return r, fmt.Errorf("%d of %d events came", to.events.Load(), n*subs)
	}
	time.Sleep(300 * time.Millisecond) // time to store the receipts
	r.events, r.posts, r.bodies = to.events.Load(), to.posts.Load(), to.bodies
	r.took, r.whole = max(last.Sub(answered), time.Millisecond), last.Sub(began)
	r.perEvent = (b.s.CPU() - used) / time.Duration(r.events)
	return r, nil
}

// median sends several rounds and returns the round with the median rate.
func (b *bench) median(n, subs, maxBatch int) (round, error) {
	var all []round
	for range b.o.rounds {
		r, err := b.send(n, subs, maxBatch)
		if err != nil {
			return r, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(x, y round) int { return cmp.Compare(x.rate(), y.rate()) })
	return all[len(all)/2], nil
}

// bare posts bodies from a bare client with the given number of parallel requests. It returns
// events per second.
func bare(bodies [][]byte, flights int) (float64, error) {
	to, err := newReceiver(nil, false)
	if err != nil {
		return 0, err
	}
	defer to.server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: flights}}
	defer client.CloseIdleConnections()
	work := make(chan []byte)
	var all sync.WaitGroup
	began := time.Now()
	for range flights {
		all.Go(func() {
			for body := range work {
				if res, err := client.Post(to.url, "application/json", bytes.NewReader(body)); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			}
		})
	}
	for _, body := range bodies {
		work <- body
	}
	close(work)
	all.Wait()
	return float64(to.events.Load()) / time.Since(began).Seconds(), nil
}

// inFlight is the default of ALDS_WEBHOOK_IN_FLIGHT.
const inFlight = 8

func (b *bench) batches(context.Context) error {
	for _, subs := range []int{1, 10} {
		r, err := b.median(b.o.changes, subs, 0)
		if err != nil {
			return err
		}
		floor, err := bare(r.bodies, inFlight)
		if err != nil {
			return err
		}
		b.say("batch: %d changes by one request to %d subscriptions: %d events in %d requests, %.0f events/s from the answer to the last receipt (%s), %.0f/s from the request; bare client %.0f/s: ratio %.2f; %.3f ms CPU per event",
			b.o.changes, subs, r.events, r.posts, r.rate(), r.took.Round(time.Millisecond), float64(r.events)/r.whole.Seconds(),
			floor, r.rate()/floor, ms(r.perEvent))
	}
	return nil
}

func (b *bench) singles(ctx context.Context) error {
	r, err := b.median(b.o.singles, 1, 1)
	if err != nil {
		return err
	}
	floor, err := bare(r.bodies, inFlight)
	if err != nil {
		return err
	}
	tasks, err := queued(ctx, b.o.redis, r.bodies)
	if err != nil {
		return err
	}
	b.say("single: %d changes by one request, one event per POST: %.0f events/s; bare client %.0f/s: ratio %.2f; asynq with a POST in each task %.0f/s: ratio %.2f; %.3f ms CPU per event",
		b.o.singles, r.rate(), floor, r.rate()/floor, tasks, r.rate()/tasks, ms(r.perEvent))
	return nil
}

func (b *bench) unmatched(context.Context) error {
	without, err := b.send(b.o.changes, 1, 0)
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		name       string
		definition func(i int) map[string]any
	}{
		{"of another type", func(int) map[string]any { return map[string]any{"type": "AssetCreated", "from": "Defect"} }},
		{"with a filter memory decides", func(i int) map[string]any {
			return map[string]any{"type": "AssetCreated", "from": "Story", "filter": []any{"Estimate>'" + strconv.Itoa(100+i) + "'"}}
		}},
		{"with a filter over a relation", func(i int) map[string]any {
			return map[string]any{"type": "AssetCreated", "from": "Story", "filter": []any{"Scope.Name='Project " + strconv.Itoa(i) + "'"}}
		}},
	} {
		for i := range 999 { // at most 1,000 can be enabled
			remove, err := b.s.subscribe("http://127.0.0.1:9", 0, kind.definition(i))
			if err != nil {
				return err
			}
			defer func() { _ = remove() }()
		}
		with, err := b.send(b.o.changes, 1, 0)
		if err != nil {
			return err
		}
		b.say("unmatched: 999 subscriptions %s: %s against %s from the answer, %s against %s from the request: ratio %.2f",
			kind.name, with.took.Round(time.Millisecond), without.took.Round(time.Millisecond), with.whole.Round(time.Millisecond),
			without.whole.Round(time.Millisecond), with.whole.Seconds()/without.whole.Seconds())
		if _, err := b.s.Admin.Exec(context.Background(), "DELETE FROM "+b.s.Name+".webhook_subscription"); err != nil {
			return err
		}
		if err := b.touch(); err != nil {
			return err
		}
	}
	return nil
}

// touch makes the workers read the subscriptions again.
func (b *bench) touch() error {
	remove, err := b.s.subscribe("http://127.0.0.1:9", 0, created)
	if err != nil {
		return err
	}
	return remove()
}

func (b *bench) workers(context.Context) error {
	one, err := b.send(b.o.changes, 10, 0)
	if err != nil {
		return err
	}
	single, err := b.send(b.o.singles, 4, 1)
	if err != nil {
		return err
	}
	if err := b.s.Start("second worker", "worker"); err != nil {
		return err
	}
	defer b.s.Stop("second worker")
	time.Sleep(3 * time.Second)
	two, err := b.send(b.o.changes, 10, 0)
	if err != nil {
		return err
	}
	double, err := b.send(b.o.singles, 4, 1)
	if err != nil {
		return err
	}
	b.say("workers: two against one: %d changes to 10 subscriptions %.0f against %.0f events/s (%.2f); %d one by one to 4 %.0f against %.0f (%.2f)",
		b.o.changes, two.rate(), one.rate(), two.rate()/one.rate(), b.o.singles, double.rate(), single.rate(), double.rate()/single.rate())
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// at returns the value that is larger than a share of the values. share is from 0 to 1. The list all
// is sorted afterwards.
func at(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(share*float64(len(all))))]
}
