package webhook

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestAChangeArrivesAsAnEvent(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		id := f.story("before")
		f.subscribe(s.URL, map[string]any{
			"authorizationHeader": "Bearer xyz",
			"eventTypes": []any{
				map[string]any{"type": "AssetChanged", "from": "Workitem", "attributes": []any{"Name"}, "select": []any{"Name"}},
				map[string]any{"type": "AssetCreated", "from": "Story"},
			},
		})
		f.rename(id, "after <b>")
		f.write(20, edit{asset: id, set: map[string]any{"estimate": 3.0}}) // not an attribute in the definition
		created := f.story("born")
		f.fanOut(w)
		f.eventually(nil, "two events", func() bool { return len(s.sequence()) == 2 })
		f.eventually(nil, "everything settled", f.settledAll)

		s.mu.Lock()
		defer s.mu.Unlock()
		if got := s.headers[0].Get("Authorization"); got != "Bearer xyz" {
			t.Errorf("Authorization is %q", got)
		}
		if got := s.headers[0].Get("User-Agent"); got != "alds" {
			t.Errorf("User-Agent is %q", got)
		}
		event := s.events[0]
		delete(event, "timestamp")
		var write string
		if err := d.QueryRow(t.Context(), "SELECT request_id FROM audit WHERE first_moment = ?", f.born[id]+1).Scan(&write); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"webhookId": "mine", "sequenceId": float64(f.born[id] + 1), "eventType": "AssetChanged", "requestId": write,
			"instigator": map[string]any{
				"_oid": "Member:20", "href": "http://alds.test/alds/assetdetail.v1?oid=Member:20",
				"name": "Ann", "nickName": "an", "email": "ann@alds.test", "role": nil, "avatar": nil,
			},
			"targetAsset": map[string]any{
				"_oid": "Story:3001:1003", "assetType": "Story", "href": "http://alds.test/alds/assetdetail.v1?oid=Story:3001",
			},
			"changes":  []any{map[string]any{"name": "Name", "old": "before", "new": "after <b>", "act": "Set"}},
			"snapshot": []any{map[string]any{"_oid": "Story:3001", "Name": "after <b>"}},
		}
		if diff := cmp.Diff(want, event); diff != "" {
			t.Error(diff)
		}
		if got := s.events[1]["eventType"]; got != "AssetCreated" || s.events[1]["sequenceId"] != float64(f.born[created]) {
			t.Errorf("the second event is %v", s.events[1])
		}
	})
}

func TestASubscriptionGetsOnlyLaterChanges(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		id := f.story("one")
		f.rename(id, "before the subscription")
		sub := f.subscribe(s.URL, nil)
		f.rename(id, "after it")
		after := f.moment
		f.fanOut(w)
		f.eventually(nil, "the event", func() bool { return slices.Equal(s.sequence(), []int64{after}) })

		f.update(sub.ID, map[string]any{"enabled": false})
		f.rename(id, "while it is disabled")
		f.update(sub.ID, map[string]any{"enabled": true})
		f.rename(id, "enabled again")
		again := f.moment
		f.fanOut(w)
		f.eventually(nil, "the second event", func() bool { return slices.Equal(s.sequence(), []int64{after, again}) })

		f.update(sub.ID, map[string]any{"paused": true})
		f.rename(id, "while it is paused")
		paused := f.moment
		f.fanOut(w)
		f.update(sub.ID, map[string]any{"paused": false})
		f.eventually(w, "the event kept", func() bool { return slices.Equal(s.sequence(), []int64{after, again, paused}) })
	})
}
