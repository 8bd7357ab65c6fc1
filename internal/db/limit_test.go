package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/testdb"
)

// TestServerEndsLongStatements asks for work of hours without any deadline of
// its own: the server must end it.
func TestServerEndsLongStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the limit")
	}
	d, err := db.Open(context.Background(), testdb.URL(t, "mysql"), db.Options{WriteLimit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	began := time.Now()
	var n int64
	err = d.QueryRow(context.Background(), "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c").Scan(&n)
	if took := time.Since(began); fault.KindOf(err) != fault.Transient || took > 20*time.Second {
		t.Errorf("after %v: %v, want it ended within seconds", took, err)
	}
}
