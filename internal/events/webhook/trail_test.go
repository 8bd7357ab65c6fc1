package webhook

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestSubscriptionsLeaveEvents checks that the audit trail has an entry for each action on a
// subscription. The entries must not contain a secret or the path of the URL.
func TestSubscriptionsLeaveEvents(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		ctx := trail.With(t.Context(), trail.Origin{Address: "192.0.2.1"})
		body := `{"url": "https://hooks.example.org/t0ken?key=t0ken", "secret": "whsec_` + strings.Repeat("s3cr", 8) + `", "authorizationHeader": "Bearer t0ken",
			"eventTypes": [{"type": "AssetCreated", "from": "Story"}]}`
		sub, err := f.s.Create(ctx, f.who, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.s.Update(ctx, f.who, sub.ID, []byte(`{"id": "read only", "paused": true, "description": "d"}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.s.Update(ctx, f.who, sub.ID, []byte(`{"paused": "maybe"}`)); err == nil {
			t.Error("no refusal")
		}
		f.exec("UPDATE webhook_subscription SET gone = 1 WHERE id = ?", sub.ID)
		if err := f.s.DeliveryFailed(t.Context(), sub.ID, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := f.s.Delete(ctx, f.who, sub.ID); err != nil {
			t.Fatal(err)
		}
		p, err := trail.New(d, model, trail.Options{}).Events(t.Context(), trail.Sight{All: true}, trail.Query{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range slices.Backward(p.Results) {
			got = append(got, strings.Join([]string{string(v.Kind), v.Actor, v.Address, v.URL, strings.Join(v.Changed, ","), v.Reason}, " "))
			if v.Subscription != sub.ID {
				t.Errorf("of subscription %s", v.Subscription)
			}
		}
		want := []string{
			"SubscriptionCreated Member:20 192.0.2.1 https://hooks.example.org authorizationHeader,eventTypes,secret,url ",
			"SubscriptionChanged Member:20 192.0.2.1 https://hooks.example.org description,paused ",
			"SubscriptionChanged  server  enabled the receiver answered 410",
			"SubscriptionDeleted Member:20 192.0.2.1 https://hooks.example.org  ",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if text, _ := json.Marshal(p); strings.Contains(string(text), "t0ken") || strings.Contains(string(text), "s3cr") {
			t.Errorf("a secret: %s", text)
		}
	})
}
