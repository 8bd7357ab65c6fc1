package webhook

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestWhatWaitsIsCounted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		if _, err := d.Exec(t.Context(), `DELETE FROM audit`); err != nil {
			t.Fatal(err)
		}
		for id, state := range []int{0, 0, 1, 2} {
			_, err := d.Exec(t.Context(), `INSERT INTO audit (id, request_id, actor_id, at, first_moment, last_moment, generation, fan_state, fan_lease) VALUES (?, ?, 20, ?, 1, 1, 0, ?, ?)`,
				id+1, id+1, 100+id, state, 10-id)
			if err != nil {
				t.Fatal(err)
			}
		}
		waiting, setAside, err := Backlog(t.Context(), d)
		if err != nil || waiting.Count != 2 || waiting.Oldest != 100 || setAside.Count != 1 || setAside.Oldest != 103 {
			t.Errorf("%+v, %+v, %v", waiting, setAside, err)
		}
	})
}
