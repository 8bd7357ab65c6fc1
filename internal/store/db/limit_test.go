package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestServerEndsLongStatements runs a statement that would take hours, with a context without a
// deadline. The server must end the statement.
func TestServerEndsLongStatements(t *testing.T) {
	d, err := db.Open(context.Background(), testdb.URL(t, "mysql"), db.Options{WriteLimit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	var n int64
	err = d.QueryRow(context.Background(), "SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS c").Scan(&n)
	if answer, ok := errors.AsType[*mysql.MySQLError](err); !ok || fault.KindOf(err) != fault.Transient {
		t.Errorf("%v, %v: want it ended by the server", err, answer)
	}
}
