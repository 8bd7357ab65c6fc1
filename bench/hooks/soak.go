package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// soakSettings limit the life of all temporary data to minutes. A subscription is disabled, and
// its deliveries are deleted, after one delivery has failed in every attempt. All attempts take
// 14 seconds together, which is longer than the failing phase of the receiver that flaps.
var soakSettings = []string{
	"ALDS_WEBHOOK_KEEP=1m", "ALDS_WEBHOOK_RETRY_SCHEDULE=2s,4s,8s", "ALDS_WEBHOOK_DISABLE_AFTER=1",
}

// flapping is the period of the receiver that fails half of the time.
const flapping = 20 * time.Second

// definitions are the event definitions of every soak subscription.
var definitions = []map[string]any{created, {"type": "AssetChanged", "from": "Story", "select": []any{"Name", "Estimate"}}}

// soak makes changes at a fixed rate and checks that the measures in slack do not grow.
func (b *bench) soak(ctx context.Context) error {
	healthy, failing, err := b.soakReceivers()
	if err != nil {
		return err
	}
	defer func() {
		for _, r := range healthy {
			_ = r.server.Close()
		}
	}()
	w, err := newWatch(b)
	if err != nil {
		return err
	}
	defer w.close()
	every := min(15*time.Second, b.o.soak/24)
	b.say("soak: %d changes/s for %s to two healthy receivers, one that answers 500 for %s of every %s, and one that always does and is enabled again with each sample; a sample every %s; load %s",
		b.o.rate, b.o.soak, flapping/2, flapping, every, rig.Load())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	written := make(chan error, 1)
	go func() { written <- b.write(ctx, w, began.Add(b.o.soak)) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case err := <-written:
			if err != nil {
				return err
			}
			return b.soaked(w, healthy)
		case <-tick.C:
			if err := w.sample(ctx, time.Since(began)); err != nil {
				return err
			}
			if err := b.s.Post("/api/webhook/"+failing, map[string]any{"enabled": true}, &struct{}{}); err != nil && !errors.Is(err, rig.ErrBusy) {
				return err
			}
		}
	}
}

// soaked waits for the last events and then judges the samples.
func (b *bench) soaked(w *watch, healthy []*receiver) error {
	changes := w.changes.Load()
	for _, r := range healthy {
		if _, ok := r.await(changes); !ok {
			return fmt.Errorf("%d of %d events came", r.events.Load(), changes)
		}
		b.say("a healthy receiver got %d events of %d changes", r.events.Load(), changes)
	}
	b.say("%d requests were answered 503; load %s", w.refused.Load(), rig.Load())
	return w.judge()
}

// soakReceivers subscribes four receivers. Two of them answer 200: the first gets single
// events, the second batches. The third fails half of the time and the fourth always. It
// returns the first two, and the id of the last subscription.
func (b *bench) soakReceivers() (healthy []*receiver, failing string, err error) {
	fails := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	flaps := func(w http.ResponseWriter, r *http.Request) {
		if time.Now().UnixMilli()%flapping.Milliseconds() < flapping.Milliseconds()/2 {
			fails(w, r)
		}
	}
	for _, of := range []struct {
		answer http.HandlerFunc
		batch  int
	}{{nil, 1}, {nil, 100}, {flaps, 100}, {fails, 100}} {
		r, err := newReceiver(of.answer, false)
		if err != nil {
			return nil, "", err
		}
		if failing, err = b.s.subscription(r.url, of.batch, definitions...); err != nil {
			return nil, "", err
		}
		if of.answer == nil {
			healthy = append(healthy, r)
		}
	}
	return healthy, failing, nil
}

// soakWriters is the number of writers that share the rate. With several writers, a slow
// answer does not lower the rate.
const soakWriters = 4

// write makes changes at the rate until the given time.
func (b *bench) write(ctx context.Context, w *watch, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	tick := time.NewTicker(time.Second / time.Duration(b.o.rate))
	defer tick.Stop()
	ended := make(chan error, soakWriters)
	for range soakWriters {
		go func() { ended <- b.writeOn(ctx, w, tick.C) }()
	}
	var errs []error
	for range soakWriters {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

// writeOn makes one change per tick. One in ten creates a story, the others change one of the
// newest stories.
func (b *bench) writeOn(ctx context.Context, w *watch, tick <-chan time.Time) error {
	var newest []string
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		name := "Soak " + strconv.Itoa(i)
		command := story(name)
		if len(newest) > 0 && i%10 != 0 {
			command = map[string]any{"from": newest[rand.N(len(newest))], "update": map[string]any{"Name": name + " again", "Estimate": i}}
		}
		var answer struct {
			AssetsCreated   struct{ OIDTokens []string } `json:"assetsCreated"`
			CommandFailures struct{ Count int }          `json:"commandFailures"`
		}
		err := b.s.Post("/api/asset", command, &answer)
		if errors.Is(err, rig.ErrBusy) {
			w.refused.Add(1)
			continue
		}
		if err == nil && answer.CommandFailures.Count != 0 {
			err = fmt.Errorf("change %q failed", name)
		}
		if err != nil {
			return err
		}
		newest = append(newest, answer.AssetsCreated.OIDTokens...)
		newest = newest[max(0, len(newest)-100):]
		w.changes.Add(1)
	}
}
