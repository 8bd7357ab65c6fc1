package delivery

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestWhatWaitsIsCounted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		exec := func(query string, args ...any) {
			if _, err := d.Exec(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec(`DELETE FROM webhook_delivery`)
		exec(`DELETE FROM webhook_subscription`)
		for i, c := range []struct{ state, due int64 }{{waiting, 7}, {waiting, 5}, {waiting, db.Forever}, {delivered, 1}, {setAside, 1}} {
			exec(`INSERT INTO webhook_delivery (id, subscription_id, first_moment, last_moment, events, payload, state, due, committed_at, created_at)`+
				` VALUES (?, 's', ?, ?, 1, 'x', ?, ?, 1, 1)`, string(rune('a'+i)), i, i, c.state, c.due)
		}
		for i, c := range []struct{ enabled, paused, until int64 }{{1, 1, db.Forever}, {1, 0, db.Forever}, {1, 0, 1}, {0, 1, db.Forever}, {1, 1, 0}} {
			exec(`INSERT INTO webhook_subscription (id, url, enabled, paused, breaker_until, event_types, created_at, updated_at, created_by, since_generation, generation)`+
				` VALUES (?, 'u', ?, ?, ?, '[]', 1, 1, 20, 0, 0)`, string(rune('a'+i)), c.enabled, c.paused, c.until)
		}
		due, later, err := Backlog(t.Context(), d, d.Dialect)
		if want := (lease.Backlog{Count: 2, Oldest: 5}); err != nil || due != want || later != (lease.Backlog{Count: 1, Oldest: db.Forever}) {
			t.Errorf("%+v, %+v, %v", due, later, err)
		}
		if paused, resting, err := Receivers(t.Context(), d, d.Dialect); err != nil || paused != 2 || resting != 1 {
			t.Errorf("%d paused, %d resting: %v", paused, resting, err)
		}
		exec(`DELETE FROM webhook_subscription`)
		if paused, resting, err := Receivers(t.Context(), d, d.Dialect); err != nil || paused+resting != 0 {
			t.Errorf("of none %d paused, %d resting: %v", paused, resting, err)
		}
	})
}
