package webhook

import (
	"testing"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestFanOutStates(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		w := f.worker(delivery.Options{})
		f.story("a")
		done := f.audit
		f.fanOut(w)
		f.story("b")
		failed := f.audit
		f.exec("UPDATE audit SET fan_error = 'no such table' WHERE id = ?", failed)
		f.story("c")
		aside := f.audit
		f.exec("UPDATE audit SET fan_state = 2, fan_error = 'claimed 5 times' WHERE id = ?", aside)
		states, err := w.FanOutStates(t.Context(), []int64{done, failed, aside, aside + 1})
		if err != nil || len(states) != 3 {
			t.Fatalf("%+v: %v", states, err)
		}
		for _, got := range states {
			want := map[int64]FanOutState{
				done: {Done: true}, failed: {Error: "no such table"}, aside: {SetAside: true, Error: "claimed 5 times"},
			}[got.Audit]
			want.Audit, want.Versions = got.Audit, 1
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}
