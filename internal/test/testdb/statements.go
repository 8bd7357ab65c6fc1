package testdb

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// Exec executes an SQL statement. The test fails if the statement fails.
func Exec(t testing.TB, d *db.DB, query string, args ...any) {
	t.Helper()
	if _, err := d.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Count returns the number that an SQL query selects.
func Count(t testing.TB, d *db.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := d.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// CountTables returns the number of tables in the database with a URL.
func CountTables(t testing.TB, url string) int {
	t.Helper()
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if d.Dialect.Name == "mysql" {
		return Count(t, d, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()")
	}
	return Count(t, d, "SELECT COUNT(*) FROM sqlite_master")
}

// Tick waits until the clock of the database is more than a microsecond later.
func Tick(t testing.TB, d *db.DB) {
	t.Helper()
	now := func() int { return Count(t, d, "SELECT "+d.Dialect.NowMicros) }
	for began := now(); now() <= began+1; {
	}
}
