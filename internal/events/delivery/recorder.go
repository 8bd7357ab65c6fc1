package delivery

import (
	"context"
	"log/slog"
	"time"
)

// The recorder stores a group of results groupWait after its first result, or when the group has
// groupSize results.
const (
	groupWait = 5 * time.Millisecond
	groupSize = 250
)

// recorder stores results in groups. After it has stored a failure, it plans the next attempt.
// After the last failure of a delivery it calls Subscriptions.DeliveryFailed.
type recorder struct {
	s        *Sender
	answered *answered
	results  chan *result
	flushes  chan chan struct{}
	stopping chan struct{} // closed at shutdown; after that, a group that cannot be stored is dropped
}

func newRecorder(s *Sender) *recorder {
	return &recorder{
		s: s, answered: newAnswered(), results: make(chan *result, 4*groupSize),
		flushes: make(chan chan struct{}), stopping: make(chan struct{}),
	}
}

// add passes a result to the recorder. It blocks while too many results wait to be stored.
func (r *recorder) add(res *result) { r.results <- res }

// stopRetrying ends the retries for groups that cannot be stored. After that, such a group is
// dropped.
func (r *recorder) stopRetrying() { close(r.stopping) }

// flush stores all results that were added before. It returns when they are stored or dropped.
func (r *recorder) flush() {
	done := make(chan struct{})
	r.flushes <- done
	<-done
}

// run stores results until ctx ends.
func (r *recorder) run(ctx context.Context) {
	tick := time.NewTicker(answeredEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.storeAnswered(ctx, r.s.now(), false)
		case first := <-r.results:
			r.record(ctx, r.group(first))
		case done := <-r.flushes:
			for len(r.results) > 0 {
				r.record(ctx, r.group(<-r.results))
			}
			r.storeAnswered(ctx, r.s.now(), true)
			close(done)
		}
	}
}

func (r *recorder) storeAnswered(ctx context.Context, now time.Time, all bool) {
	for at, ids := range r.answered.due(now, all) {
		r.s.storeAnswered(ctx, at, ids)
	}
}

// group collects results until the group has groupSize results, or until groupWait is over.
func (r *recorder) group(first *result) []*result {
	all := []*result{first}
	timer := time.NewTimer(groupWait)
	defer timer.Stop()
	for len(all) < groupSize {
		select {
		case res := <-r.results:
			all = append(all, res)
		case <-timer.C:
			return all
		}
	}
	return all
}

// record stores a group of results. If this fails, it tries again until it succeeds or the recorder
// stops. While the database is unreachable, the leases of the group may end, but no other sender
// can claim the deliveries.
func (r *recorder) record(ctx context.Context, all []*result) {
	pause := 50 * time.Millisecond
	var backoffs map[string]time.Duration
	for {
		var err error
		if backoffs, err = r.s.store(ctx, all); err == nil {
			break
		}
		r.s.metrics.recordErrors.Inc()
		r.s.log.Warn("results not stored", "count", len(all), "err", err)
		if !r.wait(ctx, pause) {
			break
		}
		pause = min(2*pause, time.Second)
	}
	for id, wait := range backoffs {
		r.s.queues.release(id)
		r.wakeAt(id, wait)
	}
	for _, res := range all {
		r.s.queues.settled(res.d)
	}
	for _, res := range all {
		if res.d.Asset != 0 && res.outcome != Retry {
			r.s.queues.moreIsDue(res.d.Subscription)
		}
	}
	for _, res := range all {
		r.follow(ctx, res)
	}
}

// wait waits for the pause and returns true. It returns false at once if the recorder has to stop.
func (r *recorder) wait(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.stopping:
		return false
	case <-time.After(pause):
		return true
	}
}

// follow counts and logs a stored result. After a failure it plans the next attempt. After the last
// failure of a delivery, or after a 410, it calls Subscriptions.DeliveryFailed.
func (r *recorder) follow(ctx context.Context, res *result) {
	m := r.s.metrics
	switch res.outcome {
	case Delivered:
		m.events.Add(float64(res.d.Events))
		if res.d.attempts == 0 {
			m.latency.Observe(time.Since(time.UnixMicro(res.d.since)).Seconds())
		}
		m.deliveries.WithLabelValues("delivered").Inc()
		if r.s.log.Enabled(ctx, slog.LevelDebug) {
			r.s.log.Debug("delivered", "delivery", res.d.ID, "subscription", res.d.Subscription, "write", res.d.Write,
				"events", res.d.Events, "attempt", res.d.attempts+1, "status", res.status, "duration_ms", res.duration.Milliseconds())
		}
		return
	case Retry:
		r.wakeAt(res.d.Subscription, res.wait)
	case Exhausted:
		m.deliveries.WithLabelValues("exhausted").Inc()
		r.disable(ctx, res.d)
	case Gone:
		m.deliveries.WithLabelValues("gone").Inc()
		r.disable(ctx, res.d)
	}
	r.s.log.Info("delivery attempt failed", "delivery", res.d.ID, "subscription", res.d.Subscription, "write", res.d.Write,
		"url", redactedURL(res.receiver.url), "attempt", res.d.attempts+1, "status", res.status,
		"outcome", res.outcome.String(), "duration_ms", res.duration.Milliseconds(), "err", res.failure)
}

// maxTimer is the longest wait for which this process uses a timer.
const maxTimer = time.Minute

// wakeAt wakes the queue of a subscription after a wait. It always calls Options.WakeAt. If the
// wait is at most maxTimer, it also starts a timer in this process.
func (r *recorder) wakeAt(id string, wait time.Duration) {
	if wait <= maxTimer {
		r.s.after(wait, func() { r.s.queues.wake(id) })
	}
	r.s.o.WakeAt(id, r.s.now().Add(wait))
}

func (r *recorder) disable(ctx context.Context, d *Delivery) {
	// If this call fails, webhook.Service.Prune disables the subscription later.
	if err := r.s.subscriptions.DeliveryFailed(ctx, d.Subscription, d.Write); err != nil {
		r.s.log.Warn("subscription not disabled", "subscription", d.Subscription, "write", d.Write, "err", err)
	}
}
