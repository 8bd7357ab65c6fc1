package webhook

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestAFailedAttemptIsRetried(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n < 2 {
				w.Header().Set("X-Why", "busy")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = w.Write([]byte("not now"))
			}
		})
		w := f.worker(delivery.Options{})
		sub := f.subscribe(s.URL+"/hook?token=hidden", nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(w, "the event", func() bool { return len(s.sequence()) == 1 })
		f.eventually(nil, "everything settled", f.settledAll)

		receipts, err := f.s.Status(t.Context(), f.who, sub.ID)
		if err != nil {
			t.Fatal(err)
		}
		var statuses, retries []int
		for _, r := range receipts {
			statuses, retries = append(statuses, r.Status), append(retries, r.RetryCount)
		}
		if !slices.Equal(statuses, []int{200, 500, 500}) || !slices.Equal(retries, []int{2, 1, 0}) {
			t.Errorf("receipts have the statuses %v and retry counts %v", statuses, retries)
		}
		oldest := receipts[2]
		if oldest.Response != "not now" || oldest.Headers["X-Why"] != "busy" || !oldest.WasReceived ||
			oldest.URL != s.URL+"/hook" || oldest.DeliveryID != receipts[0].DeliveryID {
			t.Errorf("the oldest receipt is %+v", oldest)
		}
		list, err := f.s.List(t.Context(), f.who, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := list.Results[0]; got.RetryCount != 2 || got.LastResponseAt == delivery.Instant(0) {
			t.Errorf("retryCount %d, lastResponseAt %s", got.RetryCount, got.LastResponseAt)
		}
		ids := map[string]bool{}
		for _, h := range s.headers {
			ids[h.Get("Webhook-Id")] = true
		}
		if len(ids) != 1 {
			t.Errorf("attempts of one delivery came with %d ids", len(ids))
		}
	})
}

func TestFailuresDisableASubscription(t *testing.T) {
	tests := []struct {
		name   string
		status int
		events int // number of changes; each change has one delivery
		reason string
	}{
		{"a receiver that is gone", http.StatusGone, 1, "410"},
		{"five deliveries in a row exhausted", http.StatusTeapot, 5, "5 deliveries"},
		{"a redirect is no success", http.StatusFound, 5, "5 deliveries"},
	}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				f := newFixtureOn(t, d)
				elsewhere := newSink(t, nil)
				s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", elsewhere.URL)
					w.WriteHeader(tt.status)
				})
				w := f.worker(delivery.Options{Schedule: []time.Duration{time.Millisecond, time.Millisecond}})
				sub := f.subscribe(s.URL, nil)
				id := f.story("a")
				for i := range tt.events {
					f.rename(id, strings.Repeat("b", i+1))
					f.fanOut(w)
				}
				var got Subscription
				f.eventually(w, "disabled", func() bool {
					got = f.read(sub.ID)
					return !got.Enabled
				})
				if !strings.Contains(got.DisabledReason, tt.reason) {
					t.Errorf("the reason is %q", got.DisabledReason)
				}
				if elsewhere.requests() != 0 {
					t.Error("a redirect was followed")
				}
				f.eventually(w, "nothing waits", f.settledAll)
				if got := f.update(sub.ID, map[string]any{"enabled": true}); got.DisabledReason != "" || !got.Enabled {
					t.Errorf("after enabling: %+v", got)
				}
			})
		}
	})
}

func TestASuccessResetsExhaustedDeliveries(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
			if n%5 != 0 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		w := f.worker(delivery.Options{Schedule: []time.Duration{}})
		sub := f.subscribe(s.URL, nil)
		id := f.story("a")
		for i := range 4 * 5 {
			f.rename(id, strings.Repeat("x", i+1))
			f.fanOut(w)
			f.eventually(w, "settled", f.settledAll)
		}
		if !f.read(sub.ID).Enabled {
			t.Error("the subscription was disabled")
		}
	})
}

func TestAHangingReceiverDelaysNoOther(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		over := make(chan struct{})
		defer close(over)
		hanging := newSink(t, func(int, http.ResponseWriter, *http.Request) { <-over })
		healthy := newSink(t, nil)
		w := f.worker(delivery.Options{Timeout: 2 * maxWait})
		f.subscribe(hanging.URL, nil)
		f.subscribe(healthy.URL, nil)
		id := f.story("a")
		for i := range 20 {
			f.rename(id, strings.Repeat("b", i+1))
			f.fanOut(w)
		}
		f.eventually(nil, "all events at the healthy receiver", func() bool { return len(healthy.sequence()) == 20 })
		if n := hanging.requests(); n > 1 {
			t.Errorf("%d requests to the hanging receiver at once", n)
		}
	})
}

func TestASlowAnswerIsAccepted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		hanging := newSink(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		w := f.worker(delivery.Options{Timeout: 50 * time.Millisecond, Schedule: []time.Duration{time.Hour}})
		sub := f.subscribe(hanging.URL, nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(nil, "a receipt without an answer", func() bool {
			receipts, err := f.s.Status(t.Context(), f.who, sub.ID)
			return err == nil && len(receipts) > 0 && receipts[0].Status == 0 && !receipts[0].WasReceived &&
				receipts[0].Response == "no answer in time"
		})
	})
}

func TestALongAnswerIsTruncated(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat("é\x00", 64<<10))); err != nil {
					return
				}
			}
		})
		w := f.worker(delivery.Options{})
		sub := f.subscribe(s.URL, nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(nil, "settled", f.settledAll)
		receipts, err := f.s.Status(t.Context(), f.who, sub.ID)
		if err != nil || len(receipts) != 1 {
			t.Fatal(len(receipts), err)
		}
		if n := len(receipts[0].Response); n > 16<<10 || n < 16<<10-3 {
			t.Errorf("%d bytes kept", n)
		}
	})
}

func TestNonPublicTargetsAreRefused(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.s.NewWorker(delivery.Options{Schedule: []time.Duration{}})
		f.start(w)
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
		sub := f.subscribe("http://localhost:"+port, nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(nil, "a receipt", func() bool {
			receipts, err := f.s.Status(t.Context(), f.who, sub.ID)
			return err == nil && len(receipts) == 1 && strings.Contains(receipts[0].Response, "not a public one")
		})
		if s.requests() != 0 {
			t.Error("a loopback address was called")
		}
	})
}
