package requests_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/requests"
)

// TestPlans keeps the newest plans of a member, as long as they are not too large together, and deletes those
// whose time is over.
func TestPlans(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b := requests.New(d)
		b.MaxPlansSize = 1000
		plan := func(member int64, size int, keep time.Duration) string {
			t.Helper()
			id, _, err := b.Plan(t.Context(), member, []byte("{}"), []byte(strings.Repeat("x", size-2)), keep)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		all := []string{
			plan(1, 500, time.Hour), plan(2, 900, time.Hour), plan(1, 300, time.Hour), plan(1, 300, time.Hour), plan(1, 400, time.Hour),
			plan(3, 10, -time.Second),
		}
		for i, has := range []bool{false, true, true, true, true, false} {
			p, err := b.FindPlan(t.Context(), []int64{1, 2, 1, 1, 1, 3}[i], all[i])
			if has && err != nil || !has && fault.KindOf(err) != fault.NotFound {
				t.Errorf("plan %d: %+v %v", i, p, err)
			}
		}
		if _, err := b.Find(t.Context(), all[1]); fault.KindOf(err) != fault.NotFound {
			t.Errorf("a plan is found as a request: %v", err)
		}
		if err := requests.DeleteExpired(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT COUNT(*) FROM bulk_request`).Scan(&n); err != nil || n != 4 {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}
