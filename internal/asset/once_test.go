package asset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/testdb"
)

// An answer is kept for its time and no longer, and Forget deletes only what is
// over.
func TestAnswersAreForgotten(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		runs := 0
		send := func(key string) {
			t.Helper()
			once := asset.Once{Key: key, Hash: strings.Repeat("0", 64)}
			_, err := w.e.Answer(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, once, func(*asset.Session) ([]byte, error) {
				runs++
				return []byte("{}"), nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		rows := func() (n int) {
			t.Helper()
			if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM bulk_request`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		send("kept")
		send("kept")
		if runs != 1 {
			t.Errorf("a request with a key that is known ran %d times", runs)
		}
		w.e.KeepAnswers = -time.Second // over as soon as it is written
		send("over")
		if err := asset.Forget(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if n := rows(); n != 1 {
			t.Errorf("%d answers are left, want the one whose time is not over", n)
		}
		send("over")
		send("kept")
		if runs != 3 {
			t.Errorf("%d runs, want 3: the forgotten key anew, the other not", runs)
		}
	})
}
