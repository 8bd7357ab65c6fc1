package asset_test

import (
	"strconv"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestRoundTrips checks how many round trips to the database server a write needs. Each of them
// costs the latency of the network.
func TestRoundTrips(t *testing.T) {
	to, trips := testdb.Counted(t, testdb.URL(t, "mysql"))
	d, err := db.Open(t.Context(), to, db.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	w := newHarness(t, d)
	n := 0
	for _, c := range []struct {
		what  string
		write func()
		want  int64 // including the round trip of COMMIT
	}{
		{"a create", func() { w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0")) }, 4},
		{"an update", func() { n++; w.must(update("Story:1001", "Estimate", strconv.Itoa(n))) }, 4},
		{"an update of a relation", func() { n++; w.must(update("Story:1001", "Super", [...]string{"Epic:1002", "Epic:1003"}[n%2])) }, 7},
		{"a task", func() { w.must(create("Task", "@t", "Name", "T", "Parent", "Story:1001")) }, 4},
	} {
		t.Run(c.what, func(t *testing.T) {
			if n == 0 {
				w.must(create("Story", "@first", "Name", "S", "Scope", "Scope:0"), create("Epic", "@a", "Name", "A", "Scope", "Scope:0"), create("Epic", "@b", "Name", "B", "Scope", "Scope:0"))
				n++
			}
			c.write() // the first write also reserves ids and prepares statements
			before := trips.Load()
			c.write()
			if got := trips.Load() - before; got != c.want {
				t.Errorf("%d round trips, want %d", got, c.want)
			}
		})
	}
}
