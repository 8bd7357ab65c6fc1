package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestATestEventIsMarked(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		sub := f.subscribe(s.URL, map[string]any{"secret": "generate"})
		queued, err := f.s.Test(t.Context(), f.who, sub.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.eventually(w, "the test event", func() bool { return len(s.sequence()) == 1 })
		event := s.events[0]
		by, _ := event["instigator"].(map[string]any)
		if event["eventType"] != "Test" || event["webhookId"] != "mine" || by["_oid"] != "Member:20" || by["name"] != "Ann" {
			t.Errorf("the event is %v", event)
		}
		if !s.verifies(t, 0, sub.Secret) || s.headers[0].Get("Webhook-Id") != queued.DeliveryID {
			t.Errorf("headers: %v", s.headers[0])
		}
	})
}

// redeliver requests deliveries again and returns their number.
func (f *fixture) redeliver(id, body string) int64 {
	f.Helper()
	queued, err := f.s.Redeliver(f.Context(), f.who, id, []byte(body))
	if err != nil {
		f.Fatalf("%s: %v", body, err)
	}
	return queued.Deliveries
}

func TestRedelivery(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		sub, other := f.subscribe(s.URL, map[string]any{"maxBatch": 1}), f.subscribe(s.URL, nil)
		id := f.story("a")
		before := time.Now()
		for i := range 3 {
			f.rename(id, fmt.Sprint(i))
		}
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		sent := s.requests()
		receipts, err := f.s.Status(t.Context(), f.who, sub.ID)
		if err != nil || len(receipts) != 3 {
			t.Fatal(len(receipts), err)
		}
		for _, tt := range []struct {
			what, body string
			want       int
		}{
			{"a delivery", `{"delivery":"` + receipts[0].DeliveryID + `"}`, 1},
			{"a receipt", `{"receipt":"` + receipts[1].ID + `"}`, 1},
			{"a range", `{"since":"` + before.UTC().Format(time.RFC3339Nano) + `"}`, 3},
			{"a range that ends", `{"since":"2020-01-01T00:00:00Z","until":"2020-01-02T00:00:00+02:00"}`, 0},
		} {
			if n := f.redeliver(sub.ID, tt.body); n != int64(tt.want) {
				t.Errorf("%s: %d deliveries", tt.what, n)
			}
			sent += tt.want
			f.eventually(w, tt.what, func() bool { return s.requests() == sent && f.settledAll() })
		}
		ids := map[string]bool{}
		for _, h := range s.headers {
			ids[h.Get("Webhook-Id")] = true
		}
		if len(ids) != 4 {
			t.Errorf("%d ids: a delivery sent again keeps its own", len(ids))
		}
		for what, body := range map[string]string{
			"of another subscription": `{"delivery":"` + receipts[0].DeliveryID + `"}`,
			"a receipt of another":    `{"receipt":"` + receipts[0].ID + `"}`,
			"unknown":                 `{"delivery":"` + uuid.NewString() + `"}`,
		} {
			if _, err := f.s.Redeliver(t.Context(), f.who, other.ID, []byte(body)); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestAnExhaustedDeliveryIsRedelivered(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		well := false
		s := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			if !well {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		w := f.worker(delivery.Options{Schedule: []time.Duration{}})
		sub := f.subscribe(s.URL, nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(w, "exhausted", f.settledAll)
		list, err := f.s.Deliveries(t.Context(), f.who, sub.ID, DeliveryQuery{State: "exhausted"})
		if err != nil || len(list.Results) != 1 {
			t.Fatal(list, err)
		}
		got := list.Results[0]
		if got.LastStatus != 500 || got.Attempts != 1 || got.Why != "" || got.SettledAt == "" {
			t.Errorf("exhausted: %+v", got)
		}
		well = true
		f.redeliver(sub.ID, `{"delivery":"`+got.ID+`"}`)
		f.eventually(w, "sent again", f.settledAll)
		if len(s.sequence()) != 1 {
			t.Error("it did not arrive")
		}
	})
}

// TestLatencyOfARedelivery checks that the latency of a redelivery is measured from the request to
// deliver again. It must not be measured from the change, which may be days old.
func TestLatencyOfARedelivery(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		sub := f.subscribe(s.URL, nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(w, "sent", f.settledAll)
		const hour = int64(3600e6)
		f.exec("UPDATE webhook_delivery SET committed_at = committed_at - ?, created_at = created_at - ?, settled_at = settled_at - ?", hour, hour, hour)
		health := func() *float64 {
			got, err := f.s.Subscription(t.Context(), f.who, sub.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got.Health.LastLatency
		}
		before := health()
		list, err := f.s.Deliveries(t.Context(), f.who, sub.ID, DeliveryQuery{State: "delivered"})
		if err != nil || len(list.Results) != 1 {
			t.Fatal(list, err)
		}
		first := list.Results[0]
		if first.Since != first.CommittedAt {
			t.Errorf("the first is awaited since %s, committed at %s", first.Since, first.CommittedAt)
		}
		f.redeliver(sub.ID, `{"delivery":"`+first.ID+`"}`)
		f.eventually(w, "sent again", f.settledAll)
		if after := health(); before == nil || after == nil || *before > 600 || *after > 600 {
			t.Errorf("latencies in seconds: %v, and sent again %v", before, after)
		}
		if list, err = f.s.Deliveries(t.Context(), f.who, sub.ID, DeliveryQuery{State: "delivered"}); err != nil || list.Results[0].Since <= first.Since {
			t.Errorf("sent again: %+v %v", list.Results, err)
		}
	})
}

func TestWaitingDeliveriesHaveAReason(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
		w := f.worker(delivery.Options{Schedule: []time.Duration{time.Hour}})
		failing := f.subscribe(s.URL, nil)
		paused := f.subscribe(s.URL, map[string]any{"paused": true})
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		why := func(id string) delivery.View {
			list, err := f.s.Deliveries(t.Context(), f.who, id, DeliveryQuery{Page: "5,0"})
			if err != nil || list.Total != 1 || len(list.Results) != 1 {
				t.Fatal(list, err)
			}
			return list.Results[0]
		}
		f.eventually(w, "a failed attempt", func() bool { return why(failing.ID).Attempts == 1 })
		if d := why(failing.ID); d.Why != "retry" || d.LastStatus != 500 || d.LastError == "" || d.State != "waiting" {
			t.Errorf("after a failed attempt: %+v", d)
		}
		if d := why(paused.ID); d.Why != "paused" || d.Events != 1 || d.First != f.moment || d.Attempts != 0 {
			t.Errorf("of a paused subscription: %+v", d)
		}
	})
}

func TestInvalidRedeliveries(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub := f.subscribe("http://a.test", nil)
		off := f.subscribe("http://a.test", map[string]any{"enabled": false})
		id := uuid.NewString()
		for body, want := range map[string]string{
			`{}`: "must name a delivery",
			`{"delivery":"` + id + `","receipt":"` + id + `"}`:         "must name a delivery",
			`{"until":"2026-01-01T00:00:00Z"}`:                         "must name a delivery",
			`{"delivery":"` + id + `","until":"2026-01-01T00:00:00Z"}`: "must name a delivery",
			`{"delivery":7}`:        "delivery must be the id of one",
			`{"receipt":"mine"}`:    "receipt must be the id of one",
			`{"since":"yesterday"}`: "since must be a time",
			`{"since":"2026-01-02T00:00:00Z","until":"2026-01-01T00:00:00Z"}`: "since must not be later",
			`{"all":true}`: "Invalid key at node(s): root->all",
			`[]`:           "one object",
		} {
			_, err := f.s.Redeliver(t.Context(), f.who, sub.ID, []byte(body))
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", body, err, want)
			}
		}
		ask := map[string]func(who auth.Actor, id string) error{
			"test": func(who auth.Actor, id string) error { _, err := f.s.Test(t.Context(), who, id); return err },
			"redeliver": func(who auth.Actor, id string) error {
				_, err := f.s.Redeliver(t.Context(), who, id, []byte(`{"since":"2026-01-02T00:00:00Z"}`))
				return err
			},
			"deliveries": func(who auth.Actor, id string) error {
				_, err := f.s.Deliveries(t.Context(), who, id, DeliveryQuery{})
				return err
			},
		}
		for name, ask := range ask {
			if err := ask(f.who, id); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s of an unknown subscription: %v", name, err)
			}
			if err := ask(auth.Actor{Member: 21}, sub.ID); fault.KindOf(err) != fault.Denied {
				t.Errorf("%s by a member without rights: %v", name, err)
			}
			if name == "deliveries" {
				continue // the deliveries of a disabled subscription can be listed
			}
			if err := ask(f.who, off.ID); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s of a disabled subscription: %v", name, err)
			}
		}
		for _, bad := range [][2]string{{"lost", ""}, {"", "x"}, {"", "-1,0"}} {
			if _, err := f.s.Deliveries(t.Context(), f.who, sub.ID, DeliveryQuery{State: bad[0], Page: bad[1]}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}
