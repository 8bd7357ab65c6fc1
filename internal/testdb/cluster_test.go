package testdb

import (
	"context"
	"testing"

	"github.com/alds-dev/alds/internal/db"
)

func TestANodeOfGaleraIsKilledAndJoinsAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three servers")
	}
	joinsAgain(t, Galera(t))
}

// joinsAgain kills a node, writes to another, and reads it from the first once it is
// back.
func joinsAgain(t *testing.T, c *Cluster) {
	t.Helper()
	c.CreateDatabase("joins")
	must := func(o *Own, statements ...string) {
		t.Helper()
		if err := o.execute(statements...); err != nil {
			t.Fatal(err)
		}
	}
	must(c.Nodes[0], "CREATE TABLE joins.t (n BIGINT PRIMARY KEY)", "INSERT INTO joins.t VALUES (1)")
	c.Settle()
	c.Nodes[2].Kill()
	must(c.Nodes[0], "INSERT INTO joins.t VALUES (2)")
	c.Nodes[2].Start()
	must(c.Nodes[0], "INSERT INTO joins.t VALUES (3)")
	c.Settle()
	var n int
	err := c.Nodes[2].ask(func(ctx context.Context, d *db.DB) error {
		return d.QueryRow(ctx, "SELECT COUNT(*) FROM joins.t").Scan(&n)
	})
	if err != nil || n != 3 {
		t.Errorf("the node has %d rows, %v; want 3", n, err)
	}
}
