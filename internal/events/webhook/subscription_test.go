package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestInvalidSubscriptions(t *testing.T) {
	const events = `"eventTypes":[{"type":"AssetChanged","from":"Story"}]`
	tests := []struct {
		why, body, message, at string // at: the part of the body at the position in the error
	}{
		{"not JSON", `{"url"`, "", ""},
		{"not an object", `[]`, "The request must be one object", "["},
		{"no url", `{` + events + `}`, "url is required", ""},
		{"no events", `{"url":"http://a.test"}`, "eventTypes is required", ""},
		{"an empty list of events", `{"url":"http://a.test","eventTypes":[]}`, "eventTypes must be a list of 1 to 100", "[]"},
		{"an unknown key", `{"url":"http://a.test","uri":"x",` + events + `}`, "Invalid key at node(s): root->uri", "x"},
		{"a url without a host", `{"url":"http:///x",` + events + `}`, "it names no host", "http:///x"},
		{"a url of another scheme", `{"url":"file:///etc/passwd",` + events + `}`, `the scheme is "file"`, "file"},
		{"a url with a line break", `{"url":"http://a.test/\n",` + events + `}`, "it cannot be read", "http"},
		{
			"a header with a line break", `{"url":"http://a.test","authorizationHeader":"a\r\nX: y",` + events + `}`,
			"authorizationHeader must be one line", `a\r`,
		},
		{"a url with a port that is none", `{"url":"http://a.test:99999/",` + events + `}`, "the port is no number from 1 to 65535", "http"},
		{"enabled as text", `{"url":"http://a.test","enabled":"yes",` + events + `}`, "enabled must be true or false", "yes"},
		{"a batch of none", `{"url":"http://a.test","maxBatch":0,` + events + `}`, "maxBatch must be a number from 1 to 100", "0"},
		{"a short secret", `{"url":"http://a.test","secret":"whsec_YWJj",` + events + `}`, "secret must be", "whsec"},
		{
			"an unknown event", `{"url":"http://a.test","eventTypes":[{"type":"AssetGone","from":"Story"}]}`,
			"type must be AssetCreated or AssetChanged", "AssetGone",
		},
		{
			"an event of no type of asset", `{"url":"http://a.test","eventTypes":[{"type":"AssetCreated","from":"Tale"}]}`,
			"Unknown AssetType: Tale", "Tale",
		},
		{
			"an event without from", `{"url":"http://a.test","eventTypes":[{"type":"AssetCreated"}]}`,
			"eventTypes[0]: from is required", `{"type"`,
		},
		{
			"an unknown key of an event", `{"url":"http://a.test","eventTypes":[{"type":"AssetCreated","from":"Story","whre":1}]}`,
			"Invalid key at node(s): root->eventTypes[0]->whre", "1}",
		},
		{
			"an unknown attribute", `{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","attributes":["Name","Nope"]}]}`,
			"Unknown AttributeDefinition: Story.Nope", "Nope",
		},
		{
			"an unknown attribute in a filter", `{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","filter":["Super.Nope='x'"]}]}`,
			"Unknown AttributeDefinition: Story.Nope", "Nope",
		},
		{
			"an unknown attribute to select", `{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","select":["Nope"]}]}`,
			"Unknown AttributeDefinition: Story.Nope", "Nope",
		},
		{
			"a variable that is not given", `{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","filter":["Name=$a"],"with":{"$b":"x"}}]}`,
			"Unknown variable $a", "$a",
		},
		{
			"a context that is no member", `{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","userContext":"Story:1"}]}`,
			"Invalid OID token: Story:1", "Story:1",
		},
		{
			"a context that names nobody", `{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","userContext":"Member:4711"}]}`,
			"Invalid OID token: Member:4711", "Member:4711",
		},
		{
			"a context that names another asset", `{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story"},{"type":"AssetChanged","from":"Story","userContext":"Member:4712"}]}`,
			"Invalid OID token: Member:4712", "Member:4712",
		},
		{
			"a context that names a deleted member", `{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","userContext":"Member:4713"}]}`,
			"Invalid OID token: Member:4713", "Member:4713",
		},
	}
	f := newFixture(t, testdb.SQLite(t))
	f.write(20, edit{asset: 4712, typ: "Story"}, edit{asset: 4713, typ: "Member", set: map[string]any{"state": 255}})
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			_, err := f.s.Create(t.Context(), f.who, []byte(tt.body))
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), tt.message) {
				t.Fatalf("the fault is %v", err)
			}
			if at := fault.Place(err); tt.at != "" && (at < 0 || !strings.HasPrefix(tt.body[at:], tt.at)) {
				t.Errorf("the place is %d, not at %s", at, tt.at)
			}
		})
	}
}

func TestSubscriptionsAreCreatedUpdatedAndDeleted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		f.s.maxEnabled = 27
		var all []Subscription
		for i := range 27 {
			all = append(all, f.subscribe("https://a.test/"+fmt.Sprint(i), map[string]any{"description": "d", "authorizationHeader": "s3cret"}))
		}
		_, err := f.s.Create(t.Context(), f.who, []byte(`{"url":"https://a.test","eventTypes":[{"type":"AssetCreated","from":"Story"}]}`))
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("one more than the bound: %v", err)
		}
		disabled := f.subscribe("https://a.test/off", map[string]any{"enabled": false})
		if _, err := f.s.Update(t.Context(), f.who, disabled.ID, []byte(`{"enabled":true}`)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("enabling one more than the bound: %v", err)
		}

		list, err := f.s.List(t.Context(), f.who, "")
		if err != nil || list.Total != 28 || len(list.Results) != 25 || list.PageSize != 25 || list.PageStart != 0 {
			t.Errorf("the first page: %d of %d, %v", len(list.Results), list.Total, err)
		}
		list, err = f.s.List(t.Context(), f.who, "5,26")
		if err != nil || len(list.Results) != 2 || list.Results[0].URL != "https://a.test/26" || list.PageStart != 26 {
			t.Errorf("the last page: %+v, %v", list, err)
		}
		for _, page := range []string{"x", "1,y", "-1,0", "1,2,3"} {
			if _, err := f.s.List(t.Context(), f.who, page); fault.KindOf(err) != fault.Invalid {
				t.Errorf("page %s: %v", page, err)
			}
		}

		got := f.update(all[0].ID, map[string]any{"url": "https://b.test/", "description": nil, "id": "ignored"})
		if got.URL != "https://b.test/" || got.Description != "" || got.WebhookID != "mine" || !got.Enabled || got.ID != all[0].ID {
			t.Errorf("after an update: %+v", got)
		}
		if text := string(asJSON(t, got)); strings.Contains(text, "s3cret") || strings.Contains(strings.ToLower(text), "authorization") {
			t.Errorf("the authorization header is shown: %s", text)
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_subscription WHERE authorization LIKE '%s3cret%'"); n != 0 {
			t.Error("the authorization header is stored in the clear")
		}

		gone, err := f.s.Delete(t.Context(), f.who, all[0].ID)
		if err != nil || gone.ID != all[0].ID {
			t.Errorf("delete: %+v, %v", gone, err)
		}
		for _, id := range []string{all[0].ID, "x", ""} {
			_, err1 := f.s.Delete(t.Context(), f.who, id)
			_, err2 := f.s.Status(t.Context(), f.who, id)
			_, err3 := f.s.Update(t.Context(), f.who, id, []byte(`{}`))
			for _, err := range []error{err1, err2, err3} {
				if fault.KindOf(err) != fault.NotFound {
					t.Errorf("%q: %v", id, err)
				}
			}
		}
		if _, err := f.s.List(t.Context(), auth.Actor{Member: 21}, ""); fault.KindOf(err) != fault.Denied {
			t.Errorf("a member without rights: %v", err)
		}
	})
}

func TestDeliveriesAreSigned(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		sub := f.subscribe(s.URL, map[string]any{"secret": "generate"})
		if !sub.HasSecret || !strings.HasPrefix(sub.Secret, delivery.SecretPrefix) {
			t.Fatalf("no secret was made: %+v", sub)
		}
		if again := f.read(sub.ID); again.Secret != "" || !again.HasSecret {
			t.Errorf("the secret is shown again: %+v", again)
		}
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(nil, "the event", func() bool { return len(s.sequence()) == 1 })
		hook, err := standardwebhooks.NewWebhook(sub.Secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := hook.Verify([]byte(s.bodies[0]), s.headers[0]); err != nil {
			t.Error(err)
		}
	})
}

func TestFiltersUserContextsAndSeveralDefinitions(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		id := f.story("a")
		f.write(20, edit{asset: 21, typ: "Member"}, edit{asset: 999, typ: "Member"})
		sub := func(name string, definitions ...any) {
			f.subscribe(s.URL, map[string]any{"webhookId": name, "eventTypes": definitions})
		}
		sub("filter", map[string]any{"type": "AssetChanged", "from": "Story", "filter": []any{"Name=$n"}, "with": map[string]any{"$n": "b"}})
		sub("member", map[string]any{"type": "AssetChanged", "from": "Story", "userContext": "Member:21"})
		sub("nobody", map[string]any{"type": "AssetChanged", "from": "Story", "userContext": "Member:999"})
		sub("other type", map[string]any{"type": "AssetChanged", "from": "Defect"})
		sub("created", map[string]any{"type": "AssetCreated", "from": "Story"})
		sub("twice",
			map[string]any{"type": "AssetChanged", "from": "BaseAsset", "select": []any{"Name"}},
			map[string]any{"type": "AssetChanged", "from": "Story", "filter": []any{"Name='c'"}},
			map[string]any{"type": "AssetChanged", "from": "BaseAsset", "select": []any{"Name"}, "attributes": []any{"Name"}},
		)
		f.rename(id, "b")
		f.rename(id, "c")
		f.write(20, edit{asset: id, set: map[string]any{"name": "secret", "scope_id": 1}})
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		got := map[string][]string{}
		for _, e := range s.events {
			rows, _ := e["snapshot"].([]any)
			text := fmt.Sprintf("%v x%d", e["sequenceId"], len(rows))
			name, _ := e["webhookId"].(string)
			got[name] = append(got[name], text)
		}
		m := f.moment
		want := map[string][]string{ // the last change hides the story from the member
			"filter": {fmt.Sprintf("%v x1", float64(m-2))},
			"member": {fmt.Sprintf("%v x1", float64(m-2)), fmt.Sprintf("%v x1", float64(m-1)), fmt.Sprintf("%v x0", float64(m))},
			"twice":  {fmt.Sprintf("%v x1", float64(m-2)), fmt.Sprintf("%v x2", float64(m-1)), fmt.Sprintf("%v x1", float64(m))},
		}
		for name := range got {
			slices.Sort(got[name])
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

func TestPruneLeavesTwentyReceipts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		kept, gone := f.subscribe(s.URL, map[string]any{"maxBatch": 1}), f.subscribe(s.URL, map[string]any{"maxBatch": 1})
		id := f.story("a")
		for i := range 45 {
			f.rename(id, fmt.Sprint(i))
		}
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		before, err := f.s.Status(t.Context(), f.who, kept.ID)
		if err != nil || len(before) != 20 {
			t.Fatal(len(before), err)
		}
		if _, err := f.s.Delete(t.Context(), f.who, gone.ID); err != nil {
			t.Fatal(err)
		}
		f.exec("UPDATE webhook_delivery SET due = 1 WHERE first_moment = ?", f.moment)
		for range 2 {
			if err := f.s.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_receipt"); n != 20 {
			t.Errorf("%d receipts left", n)
		}
		after, err := f.s.Status(t.Context(), f.who, kept.ID)
		if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("pruning changed what is shown, %v", err)
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery"); n != 88 {
			t.Errorf("%d deliveries left", n)
		}
	})
}
