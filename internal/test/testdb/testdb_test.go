package testdb

import (
	"context"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

func TestMain(m *testing.M) { Main(m) }

func TestEachHandsOutEmptyDatabases(t *testing.T) {
	for range 2 { // the second time MySQL returns the same database, emptied
		Each(t, func(t *testing.T, d *db.DB) {
			ctx := context.Background()
			if err := d.SchemaIsCurrent(ctx); err != nil {
				t.Fatal(err)
			}
			var value int64
			if err := d.QueryRow(ctx, "SELECT value FROM sequence WHERE name = ?", "id").Scan(&value); err != nil || value != 1000 {
				t.Fatalf("sequence id = %d, %v; want 1000", value, err)
			}
			if _, err := d.Exec(ctx, "UPDATE sequence SET value = 5 WHERE name = ?", "id"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestRedisHandsOutDatabasesOfTheirOwn(t *testing.T) {
	a, b := Redis(t), Redis(t)
	if a == b || !strings.HasPrefix(a, "redis://") {
		t.Errorf("got %s and %s", a, b)
	}
}

func TestURLIsMigrated(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			d, err := db.Open(context.Background(), URL(t, dialect), db.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			if err := d.SchemaIsCurrent(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestServersAreNamedByTheirVersions(t *testing.T) {
	for version, want := range map[string]string{
		"9.7.4-2":                      "MySQL 9.7.4",
		"8.4.6":                        "MySQL 8.4.6",
		"10.11.19-MariaDB-0+deb12u1":   "MariaDB 10.11.19",
		"11.8.9-MariaDB-4 from Debian": "MariaDB 11.8.9",
	} {
		if got := product(version); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}
