package find

import (
	"context"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestARequestWhoseTimeIsUp ends a query of several statements at every stage. The query returns
// the whole answer, or the error that the time is up. The stages are chosen only by time limits.
func TestARequestWhoseTimeIsUp(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		r, err := fromJSON([]byte(`{"from": "Scope", "select": ["Name", {"from": "Workitems", "select": ["Name", {"from": "Owners", "select": ["Name", "Username"]}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		finder := New(d, f.m)
		whole := 20 * time.Millisecond
		for range 5 { // the first query also makes the plan
			began := time.Now()
			if _, err := finder.Rows(t.Context(), nil, auth.System, r, nil); err != nil {
				t.Fatal(err)
			}
			whole = min(whole, time.Since(began))
		}
		moments := 300
		if testing.Short() {
			moments = 60
		}
		for i := range moments {
			at := whole * time.Duration(i) * 3 / 2 / time.Duration(moments)
			ctx, cancel := context.WithTimeout(t.Context(), at)
			_, err := finder.Rows(ctx, nil, auth.System, r, nil)
			cancel()
			if err != nil && fault.KindOf(err) != fault.Transient {
				t.Errorf("ended after %v: %v", at, err)
			}
		}
	})
}
