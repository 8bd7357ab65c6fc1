package auth

import (
	"fmt"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// A new address of a token is stored at once. A client that alternates between addresses does not
// cause a write with every request.
func TestTheLastAddressOfATokenIsStored(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		token := w.token("cara", TokenOptions{Name: "loader"})
		use := func(w *fixture, address string) string {
			t.Helper()
			if _, err := w.s.Bearer(trail.With(t.Context(), trail.Origin{Address: address}), token); err != nil {
				t.Fatal(err)
			}
			w.s.usage.writers.Wait()
			if r := w.rows(1001)[0]; r.LastAddress != nil {
				return *r.LastAddress
			}
			return ""
		}
		other := newFixtureAt(t, d, w.clock.now) // another process
		for i, c := range []struct {
			by            *fixture
			address, want string
		}{
			{w, "", ""},
			{w, "192.0.2.1", "192.0.2.1"},
			{w, "2001:db8::7", "2001:db8::/64"},
			{w, "2001:db8::8", "2001:db8::/64"},
			{w, "", "2001:db8::/64"},
			{other, "192.0.2.1", "192.0.2.1"},
			{other, "192.0.2.1", "192.0.2.1"},
			{w, "192.0.2.2", "192.0.2.2"},
			{w, "192.0.2.3", "192.0.2.2"}, // the fourth new address that this process sees
			{w, "192.0.2.4", "192.0.2.2"},
		} {
			w.clock.pass(time.Second)
			if got := use(c.by, c.address); got != c.want {
				t.Errorf("%d: used from %q, %q is known; want %q", i, c.address, got, c.want)
			}
		}
		writes, before := 0, ""
		for i := range 600 {
			w.clock.pass(time.Second)
			if got := use(w, fmt.Sprint("192.0.2.", i)); got != before {
				writes, before = writes+1, got
			}
		}
		if most := 10 * (maxMoves + 1); writes > most || writes < 10 {
			t.Errorf("ten minutes of alternating made %d writes, want %d at most", writes, most)
		}
	})
}
