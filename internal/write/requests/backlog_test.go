package requests

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestWhatWaitsIsCounted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		if _, err := d.Exec(t.Context(), `DELETE FROM bulk_request`); err != nil {
			t.Fatal(err)
		}
		for id, status := range map[string]int{"a": waiting, "b": waiting, "c": answered, "d": refused} {
			_, err := d.Exec(t.Context(), `INSERT INTO bulk_request (id, actor_id, body_hash, status, created_at, expires_at) VALUES (?, 20, 'h', ?, ?, 1)`, id, status, id[0])
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Backlog(t.Context(), d); err != nil || got.Count != 2 || got.Oldest != 'a' {
			t.Errorf("%+v %v", got, err)
		}
	})
}
