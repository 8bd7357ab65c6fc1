package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestEqualSubscriptionsShareTheirPayloads checks that subscriptions with the same definitions
// share stored payloads. Each of them must get the same bytes as a subscription that does not share
// payloads.
func TestEqualSubscriptionsShareTheirPayloads(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		alone, third := newSink(t, nil), newSink(t, nil)
		both := []*sink{newSink(t, nil), newSink(t, nil)}
		w := f.worker(delivery.Options{})
		other := map[string]any{"webhookId": "first", "eventTypes": []any{
			map[string]any{"type": "AssetCreated", "from": "Defect"},
			map[string]any{"type": "AssetChanged", "from": "Story", "select": []any{"Name"}},
		}}
		same := func(webhookID string) map[string]any {
			return map[string]any{"webhookId": webhookID, "eventTypes": []any{
				map[string]any{"type": "AssetChanged", "from": "Story", "select": []any{"Name"}},
			}}
		}
		f.subscribe(alone.URL, other)
		first := f.subscribe(both[0].URL, same("first"))
		f.subscribe(both[1].URL, same("\"second\" \x01"))
		id := f.story("a")
		for i := range 5 {
			f.rename(id, fmt.Sprint("\x01 ", i))
		}
		f.subscribe(third.URL, same("third"))
		for i := range 5 {
			f.rename(id, fmt.Sprint("again ", i))
		}
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)

		if n := f.count("SELECT COUNT(*) FROM webhook_payload"); n != 2 {
			t.Errorf("%d shared payloads: one for two subscriptions, one for three", n)
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE payload_id IS NOT NULL AND LENGTH(payload) = 0"); n != 5 {
			t.Errorf("%d deliveries share their payloads", n)
		}
		if n := len(third.sequence()); n != 5 || third.events[0]["webhookId"] != "third" {
			t.Errorf("%d events to %v", n, third.events[0]["webhookId"])
		}
		for i, s := range both {
			if !slices.Equal(s.sequence(), alone.sequence()) {
				t.Errorf("%d got %v, not %v", i, s.sequence(), alone.sequence())
			}
		}
		if got := both[1].events[0]["webhookId"]; got != "\"second\" \x01" {
			t.Errorf("the second gets events of %q", got)
		}
		if got, want := eventsOf(both[0]), eventsOf(alone); got != want {
			t.Errorf("it got\n%s\nand alone\n%s", got, want)
		}

		// A redelivery must send the same bytes, and Delivery must return them.
		sent := slices.Clone(both[0].bodies)
		if n := f.redeliver(first.ID, `{"since":"2020-01-01T00:00:00Z"}`); n != 2 {
			t.Fatalf("%d deliveries again", n)
		}
		f.eventually(w, "settled", f.settledAll)
		if got := both[0].bodies[len(sent):]; !slices.EqualFunc(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(sent)), strings.EqualFold) {
			t.Errorf("again came %s", got)
		}
		list, err := f.s.Deliveries(t.Context(), f.who, first.ID, DeliveryQuery{State: "delivered"})
		if err != nil || len(list.Results) != 2 {
			t.Fatal(len(list.Results), err)
		}
		if found, err := f.s.Delivery(t.Context(), f.who, list.Results[0].ID); err != nil || !slices.Contains(sent, string(found.Request)) {
			t.Errorf("the delivery shows %s, %v", found.Request, err)
		}
	})
}

// eventsOf returns the events of all received bodies as one text.
func eventsOf(s *sink) string {
	var all strings.Builder
	for _, body := range s.bodies {
		all.WriteString(strings.TrimSuffix(strings.TrimPrefix(body, `{"events":[`), "]}") + ",")
	}
	return all.String()
}

// TestSharedPayloadsArePruned checks that a shared payload is removed together with the last of its
// deliveries.
func TestSharedPayloadsArePruned(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		f.subscribe(s.URL, nil)
		f.subscribe(s.URL, nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		payloads := func() int { return f.count("SELECT COUNT(*) FROM webhook_payload") }
		prune := func() {
			t.Helper()
			if err := f.s.deliveries.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		f.exec("UPDATE webhook_payload SET created_at = 0")
		if prune(); payloads() != 1 {
			t.Fatalf("%d payloads while their deliveries are kept", payloads())
		}
		f.exec("UPDATE webhook_delivery SET due = 0 WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM webhook_delivery) m)")
		if prune(); payloads() != 1 || f.count("SELECT COUNT(*) FROM webhook_delivery") != 1 {
			t.Fatalf("%d payloads while one delivery is kept", payloads())
		}
		f.exec("UPDATE webhook_delivery SET due = 0")
		if prune(); payloads() != 0 {
			t.Errorf("%d payloads without a delivery", payloads())
		}
	})
}
