package db_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// besideSetting is the number of connections in addition to ALDS_DB_CONNS, according to
// docs/capacity.md.
const besideSetting = 7

// TestConnections compares the maximum number of connections of a process in docs/capacity.md with
// the number in the server's list.
func TestConnections(t *testing.T) {
	for _, conns := range []int{12, 20, 40} {
		t.Run(fmt.Sprint(conns), func(t *testing.T) {
			address := testdb.EmptyURL(t, "mysql")
			d, err := db.Open(t.Context(), address, db.Options{MaxConns: conns})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			for _, pool := range d.AllPools() {
				for range pool.Stats().MaxOpenConnections {
					c, err := pool.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
				}
			}
			if got := listed(t, address); got != conns+besideSetting {
				t.Errorf("the server lists %d connections with ALDS_DB_CONNS=%d, want %d", got, conns, conns+besideSetting)
			}
		})
	}
}

// listed counts the connections to a database in the server's list.
func listed(t *testing.T, address string) (n int) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := u.Path[1:]
	u.Path = "/information_schema"
	d, err := db.Open(t.Context(), u.String(), db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	// MySQL refuses the list while it contains a statement with binary bytes, for example a
	// statement of another test that runs at the same time.
	for range 100 {
		err = d.QueryRow(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE db = ?", name).Scan(&n)
		if err == nil {
			return n
		}
	}
	t.Fatal(err)
	return 0
}
