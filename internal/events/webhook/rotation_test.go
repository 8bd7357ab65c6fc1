package webhook

import (
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// verifies reports whether the Standard Webhooks library accepts the signature of request n.
func (s *sink) verifies(t *testing.T, n int, secret string) bool {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return hook.Verify([]byte(s.bodies[n]), s.headers[n]) == nil
}

func TestThePreviousSecretSignsForATime(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		sub := f.subscribe(s.URL, map[string]any{"secret": "generate"})
		id := f.story("a")
		next := func(name string) int {
			f.rename(id, name)
			f.fanOut(w)
			n := len(name)
			f.eventually(w, "delivery "+name, func() bool { return len(s.sequence()) == n })
			return n - 1
		}
		if old := sub.Secret; !s.verifies(t, next("x"), old) {
			t.Error("the first delivery is not signed with the secret")
		}
		rotated := f.update(sub.ID, map[string]any{"secret": "generate", "previousSecretValidFor": 3600})
		if rotated.Secret == sub.Secret || rotated.PreviousSecretValidFor < 3590 || rotated.PreviousSecretValidFor > 3600 {
			t.Fatalf("after the rotation: %+v", rotated)
		}
		n := next("xx")
		if !s.verifies(t, n, sub.Secret) || !s.verifies(t, n, rotated.Secret) {
			t.Error("while both are valid, one of them does not verify")
		}
		if same := f.update(sub.ID, map[string]any{"secret": rotated.Secret}); same.PreviousSecretValidFor == 0 {
			t.Error("the present secret sent again ended the one before it")
		}
		f.exec("UPDATE webhook_subscription SET previous_until = 1")
		n = next("xxx")
		if s.verifies(t, n, sub.Secret) || !s.verifies(t, n, rotated.Secret) {
			t.Error("the replaced secret still signs after its time")
		}
		third := f.update(sub.ID, map[string]any{"secret": "generate"})
		if third.PreviousSecretValidFor != overlap {
			t.Errorf("without a word the secret before is valid for %d s", third.PreviousSecretValidFor)
		}
		if ended := f.update(sub.ID, map[string]any{"previousSecretValidFor": 0}); ended.PreviousSecretValidFor != 0 {
			t.Errorf("ended at once, it is valid for %d s", ended.PreviousSecretValidFor)
		}
		n = next("xxxx")
		if s.verifies(t, n, rotated.Secret) || !s.verifies(t, n, third.Secret) {
			t.Error("a secret that was ended still signs")
		}
		if none := f.update(sub.ID, map[string]any{"secret": nil}); none.HasSecret {
			t.Error("null did not clear the secret")
		}
		if n = next("xxxxx"); s.headers[n].Get("Webhook-Signature") != "" {
			t.Error("a delivery without a secret is signed")
		}
	})
}

func TestPreviousSecretValidForIsChecked(t *testing.T) {
	f := newFixture(t, testdb.SQLite(t))
	for _, value := range []string{"-1", "1.5", `"1h"`, "true", "2592001"} {
		_, err := f.s.Create(t.Context(), f.who, []byte(`{"url":"http://a.test","previousSecretValidFor":`+value+
			`,"eventTypes":[{"type":"AssetChanged","from":"Story"}]}`))
		if err == nil || !strings.Contains(err.Error(), "previousSecretValidFor must be a number of seconds") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// TestPausedDeliveriesWaitAndDisabledOnesAreDropped checks what happens to waiting deliveries and
// to new changes when a subscription is paused, and when it is disabled.
func TestPausedDeliveriesWaitAndDisabledOnesAreDropped(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		id := f.story("a")
		paused := f.subscribe(s.URL+"/paused", map[string]any{"webhookId": "paused", "paused": true})
		disabled := f.subscribe(s.URL+"/disabled", map[string]any{"webhookId": "disabled", "paused": true})
		f.rename(id, "waits for both")
		f.fanOut(w)
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0"); n != 2 {
			t.Fatalf("%d deliveries wait", n)
		}
		f.update(disabled.ID, map[string]any{"enabled": false, "paused": false})
		f.rename(id, "while one is disabled")
		f.fanOut(w)
		f.update(disabled.ID, map[string]any{"enabled": true})
		f.update(paused.ID, map[string]any{"paused": false})
		f.rename(id, "after both")
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		got := map[any]int{}
		for _, e := range s.events {
			got[e["webhookId"]]++
		}
		if got["paused"] != 3 || got["disabled"] != 1 {
			t.Errorf("events taken: %v", got)
		}
		if f.read(disabled.ID).DisabledReason != "" {
			t.Error("switching off by hand leaves a reason")
		}
	})
}
