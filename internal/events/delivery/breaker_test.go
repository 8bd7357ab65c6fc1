package delivery

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestBackoff(t *testing.T) {
	schedule := []time.Duration{4 * time.Second}
	tests := []struct {
		name     string
		failures int
		slowed   bool
		asked    time.Duration
		chance   float64
		want     time.Duration
	}{
		{"nothing failed", 0, false, 0, .5, 0},
		{"four failures are not enough", 4, false, 0, .5, 0},
		{"the fifth", 5, false, 0, .5, 4 * time.Second},
		{"a failed probe doubles it", 6, false, 0, .5, 8 * time.Second},
		{"up to a bound", 500, false, 0, .5, 256 * time.Second},
		{"spread by a fifth", 5, false, 0, 1, 4800 * time.Millisecond},
		{"429 slows at once", 1, true, 0, .5, 4 * time.Second},
		{"and more every time", 3, true, 0, .5, 16 * time.Second},
		{"never before the time the receiver asks for", 1, true, time.Minute, 0, time.Minute},
		{"it asks for more than the bound", 1, true, 48 * time.Hour, 0, maxRetryAfter},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := backoff(tt.failures, schedule, tt.slowed, tt.asked, tt.chance); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	if got := backoff(5, nil, false, 0, .5); got != firstBackoff {
		t.Errorf("without a schedule: %s", got)
	}
}

func TestAsksForLess(t *testing.T) {
	for status, want := range map[int]bool{429: true, 502: true, 504: true, 500: false, 503: false, 0: false, 200: false} {
		if got := asksForLess(status, 0); got != want {
			t.Errorf("%d slows: %t", status, got)
		}
	}
	if !asksForLess(503, time.Second) || asksForLess(200, time.Second) {
		t.Error("a failure that asks for a pause slows, a success does not")
	}
}

func TestTheBreakerOpensAndAProbeClosesIt(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		t.Parallel() // the test spends most of its time waiting
		f := newFixture(t, d)
		var well atomic.Bool
		s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			if !well.Load() {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		sender := f.sender(Options{Schedule: []time.Duration{time.Hour, time.Hour}, InFlight: 8})
		sub := f.subscribe(s.URL)
		f.enqueue(sender, sub, 40)
		f.eventually(nil, "the breaker opens", func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_subscription WHERE breaker_state = 1") == 1
		})
		if n := s.requests(); n != openAfter {
			t.Errorf("%d requests before the breaker opened", n)
		}

		f.eventually(nil, "what is queued goes back", func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_delivery WHERE owner IS NOT NULL") == 0
		})
		if len(sender.queues.slots.healthy)+len(sender.queues.slots.slow)+len(sender.queues.slots.failing) != 0 {
			t.Error("a receiver with an open breaker holds slots")
		}
		rests := func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_subscription WHERE breaker_until > "+d.Dialect.NowMicros) == 1
		}
		goOn := func() {
			f.exec("UPDATE webhook_delivery SET due = 1 WHERE state = 0")
			f.exec("UPDATE webhook_subscription SET breaker_until = 0 WHERE breaker_until > 0")
		}
		goOn()
		f.eventually(sender, "a probe after which it rests again", func() bool { return s.requests() > openAfter && rests() })
		f.enqueue(sender, sub, 1)
		if err := sender.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.eventually(nil, "no queue", func() bool { return sender.queues.capacity().queues == sender.queues.maxQueues() })
		if n := s.requests(); n != openAfter+1 {
			t.Errorf("%d requests, want one probe", n-openAfter)
		}
		well.Store(true)
		goOn()
		f.eventually(sender, "everything after the probe that succeeds", func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 1") == 41
		})
		if f.count("SELECT COUNT(*) FROM webhook_subscription WHERE breaker_state = 0 AND failures_in_row = 0") != 1 {
			t.Error("the breaker is not closed")
		}
	})
}

func TestAProbeIsADeliveryWithAttempts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub := f.subscribe("http://127.0.0.1:1")
		f.enqueue(f.idleSender(), sub, 20)
		f.exec("UPDATE webhook_subscription SET failures_in_row = ?", openAfter)
		f.exec("UPDATE webhook_delivery SET attempts = 2 WHERE first_moment = ?", f.moment)
		all, _ := f.claimed(f.idleSender(), sub)
		if len(all) != 1 || all[0].First != f.moment {
			t.Errorf("the probe is %d deliveries, the first of them %d", len(all), all[0].First)
		}
	})
}

func TestAnAnswerThatAsksForLessOpensTheBreaker(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		t.Parallel() // the test waits for the time that the receiver asks for
		f := newFixture(t, d)
		now := func() (micros int64) {
			if err := d.QueryRow(t.Context(), "SELECT "+d.Dialect.NowMicros).Scan(&micros); err != nil {
				t.Error(err)
			}
			return micros
		}
		var asked, later atomic.Int64
		s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			switch n {
			case 0:
				asked.Store(now())
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			case 1:
				later.Store(now())
			}
		})
		n := f.sender(Options{})
		sub := f.subscribe(s.URL)
		f.enqueue(n, sub, 10)
		f.eventually(n, "all of them", func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 1") == 10
		})
		if after := later.Load() - asked.Load(); after < time.Second.Microseconds() {
			t.Errorf("the next one came %d µs by the clock of the database after the receiver had asked for 1 s", after)
		}
	})
}

func TestPausingReleasesPendingDeliveries(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		t.Parallel() // the test spends most of its time waiting
		f := newFixture(t, d)
		goOn := make(chan struct{})
		s := newSink(t, func(int, http.ResponseWriter, *http.Request) { <-goOn })
		n := f.sender(Options{Timeout: 2 * maxWait})
		sub := f.subscribe(s.URL)
		f.enqueue(n, sub, 10)
		f.eventually(nil, "the first request", func() bool { return s.requests() == 1 })
		f.exec("UPDATE webhook_subscription SET paused = 1")
		f.eventually(nil, "nine given back", func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0 AND owner IS NULL") == 9
		})
		close(goOn)
		f.eventually(n, "the first settled", func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 1") == 1
		})
		if n := s.requests(); n != 1 {
			t.Errorf("%d requests to a paused subscription", n-1)
		}
		f.exec("UPDATE webhook_subscription SET paused = 0")
		f.eventually(n, "the rest", func() bool { return s.requests() == 10 })
	})
}

// TestHangingReceiversHoldNoHealthySlots uses receivers that hang. Each of them must have only one
// request in flight, and this request must use no slot for healthy receivers.
func TestHangingReceiversHoldNoHealthySlots(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		var most, now atomic.Int64
		hanging := newSink(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-r.Context().Done()
			now.Add(-1)
		})
		broken := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
		n := f.sender(Options{Slots: 8, InFlight: 4, Timeout: 2 * maxWait})
		n.isSlow = func(*result) bool { return false } // a process that stands still makes healthy receivers seem slow
		bad := []string{f.subscribe(hanging.URL), f.subscribe(hanging.URL), f.subscribe(broken.URL)}
		for _, id := range bad {
			f.enqueue(n, id, 30)
		}
		var healthy []*sink
		for range 18 {
			s := newSink(t, nil)
			healthy = append(healthy, s)
			f.enqueue(n, f.subscribe(s.URL), 30)
		}
		f.eventually(n, "all deliveries to the healthy", func() bool {
			for _, s := range healthy {
				if s.requests() < 30 {
					return false
				}
			}
			return true
		})
		f.eventually(nil, "no steady slot is held by one that hangs", func() bool {
			return len(n.queues.slots.healthy) == 0 && len(n.queues.slots.slow) == 2
		})
		if most.Load() != 2 {
			t.Errorf("%d requests hung at once, want one of each subscription", most.Load())
		}
	})
}
