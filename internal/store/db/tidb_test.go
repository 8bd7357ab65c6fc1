package db_test

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// A read on a server that reports to be a TiDB is still one snapshot, and the values of its lists
// are written into the statement.
func TestReadsAsOnTiDB(t *testing.T) {
	url, recorded := testdb.AsTiDB(t)
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for range 2 {
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if e, err := d.Engine(t.Context()); err != nil || e.Server != "TiDB 8.5.0" || !e.Writes {
		t.Errorf("the engine is %+v: %v", e, err)
	}
	err = d.Read(t.Context(), func(tx *db.Tx) error {
		var before, after int
		const count = "SELECT COUNT(*) FROM tree_lock WHERE name = 'more'"
		if err := tx.QueryRow(t.Context(), count).Scan(&before); err != nil {
			return err
		}
		if _, err := d.Exec(t.Context(), "INSERT INTO tree_lock (name) VALUES (?)", "more"); err != nil {
			return err
		}
		if err := tx.QueryRow(t.Context(), count).Scan(&after); err != nil || before != after {
			t.Errorf("a snapshot changed from %d to %d: %v", before, after, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	ids, args := d.Dialect.IDs([]int64{1, -2, 3})
	pairs, more := d.Dialect.Pairs("a", [][2]int64{{1, 2}, {3, -4}})
	if ids != "(1,-2,3)" || pairs != "(a.id, a.moment) IN ((1,2),(3,-4))" || len(args)+len(more) > 0 {
		t.Errorf("lists are %s %v and %s %v", ids, args, pairs, more)
	}
	if none, _ := d.Dialect.IDs(nil); none != "(NULL)" {
		t.Errorf("no ids are %s", none)
	}
	for _, broken := range recorded.Broken(true) {
		t.Error(broken)
	}
}
