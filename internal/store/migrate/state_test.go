package migrate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/db"
	schema "github.com/alds-dev/alds/sql"
)

// migrateAsNewer applies migrations of a later release, one for each element of oldest. An element
// is the oldest release that works with its migration.
func migrateAsNewer(t *testing.T, d *db.DB, oldest ...string) {
	t.Helper()
	all := *d.Steps()
	defer func() { *d.Steps() = all }()
	*d.Steps() = slices.Clone(all)
	for i, release := range oldest {
		*d.Steps() = append(*d.Steps(), schema.Migration{
			Version: 9000 + i, Name: "more", Text: "CREATE TABLE IF NOT EXISTS more (id INTEGER)", Checksum: strings.Repeat("0", 64), Oldest: release,
		})
	}
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// recorded returns what a database records about its migrations and its release.
func recorded(t *testing.T, d *db.DB) string {
	t.Helper()
	var all []string
	err := db.Each(t.Context(), d, "SELECT CONCAT(version, ' ', applied_at, ' ', checksum, ' ', oldest_release, ' ', (SELECT value FROM sequence WHERE name = 'release')) FROM schema_migration ORDER BY version",
		nil, func(row db.Scanner) error {
			var text string
			err := row.Scan(&text)
			all = append(all, text)
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// The oldest release that is recorded for each newer migration decides whether this release works
// with a database. Whether it works or refuses, this release changes nothing.
func TestNewerSchemas(t *testing.T) {
	next := release.Of(release.Rank(release.Number) + 1)
	for _, c := range []struct {
		name    string
		oldest  []string
		refusal string
	}{
		{"this release works", []string{release.Number}, ""},
		{"older ones work as well", []string{"0.0.1", "0.0.9"}, ""},
		{"the next is the oldest", []string{next}, "the oldest release that works with it is " + next + " (schema migration 9000_more); this is " + release.Number + ": run " + next},
		{"the newest of them counts", []string{"0.0.1", next, "9.0.0", release.Number}, "the oldest release that works with it is 9.0.0 (schema migration 9002_more)"},
		{"one says nothing", []string{release.Number, ""}, "schema migration 9001_more), and it is unknown which older releases work with it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, dialect string) {
				d := migrated(t, dialect, 1)[0]
				migrateAsNewer(t, d, c.oldest...)
				before := recorded(t, d)
				s, err := d.SchemaState(t.Context())
				if err == nil && (!s.OfNewer() || len(s.Newer) != len(c.oldest) || len(s.Missing) > 0 || s.Release != release.Number) {
					t.Errorf("%+v", s)
				}
				for what, err := range map[string]error{"look": err, "start": d.SchemaIsCurrent(t.Context()), "migrate": d.Migrate(t.Context())} {
					if c.refusal != "" {
						wantRefusal(t, what, err, c.refusal)
					} else if err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
				if after := recorded(t, d); after != before {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
			})
		})
	}
}

// While a newer release migrates, older processes continue if their release works with the
// migration. All other processes stop.
func TestNewerSchemaThatHasOnlyBegun(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		d := migrated(t, dialect, 1)[0]
		migrateAsNewer(t, d, release.Number, "9.0.0")
		exec(t, d, "UPDATE schema_migration SET applied_at = 0 WHERE version >= 9000")
		wantRefusal(t, "one that does not work", d.SchemaIsCurrent(t.Context()), "9.0.0")
		exec(t, d, "DELETE FROM schema_migration WHERE version = 9001")
		if err := d.SchemaIsCurrent(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// This release refuses a database that has newer migrations, but lacks a migration of this release.
func TestNewerSchemaOfAnotherLine(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		d := migrated(t, dialect, 1)[0]
		migrateAsNewer(t, d, release.Number)
		exec(t, d, "DELETE FROM schema_migration WHERE version = 122")
		for what, err := range map[string]error{"start": d.SchemaIsCurrent(t.Context()), "migrate": d.Migrate(t.Context())} {
			wantRefusal(t, what, err, "(schema migration 9000_more), but lacks 0122_delivery_head, which this build has")
		}
	})
}

// Old databases get the column for the oldest release. Only later migrations have a value in this
// column. A build that does not have the column can still write rows of schema_migration.
func TestOldDatabasesLearnOfTheOldestRelease(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		d := fresh(t, dialect, 1)[0]
		all := *d.Steps()
		*d.Steps() = slices.DeleteFunc(slices.Clone(all), func(s schema.Migration) bool { return s.Version >= schema.RecordsOldest })
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		*d.Steps() = all
		s, err := d.SchemaState(t.Context())
		if err != nil || s.Release != "" || s.Empty || s.OfNewer() || len(s.Missing) < 2 {
			t.Errorf("before: %+v, %v", s, err)
		}
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err = d.SchemaState(t.Context())
		if err != nil || s.Release != release.Number || s.OfNewer() || len(s.Missing) > 0 {
			t.Errorf("after: %+v, %v", s, err)
		}
		for version, want := range map[int]string{1: "", 122: "", 123: "", 124: schema.First} {
			var got string
			if err := d.QueryRow(t.Context(), "SELECT oldest_release FROM schema_migration WHERE version = ?", version).Scan(&got); err != nil || got != want {
				t.Errorf("%04d: %q %v, want %q", version, got, err, want)
			}
		}
		exec(t, d, "UPDATE schema_migration SET oldest_release = '0.1.0' WHERE version = 136")
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var raised string
		if err := d.QueryRow(t.Context(), "SELECT oldest_release FROM schema_migration WHERE version = 136").Scan(&raised); err != nil || raised != schema.First {
			t.Errorf("a build that knew less said 0.1.0, and now it is %q, %v", raised, err)
		}
		exec(t, d, "INSERT INTO schema_migration (version, name, checksum, applied_at) VALUES (9000, 'more', 'x', 1)")
		wantRefusal(t, "a row that says nothing", d.SchemaIsCurrent(t.Context()), "it is unknown which older releases work with it")
	})
}

// The release of a database never decreases.
func TestTheNewestReleaseIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		d := fresh(t, dialect, 1)[0]
		s, err := d.SchemaState(t.Context())
		if err != nil || !s.Empty || s.Release != "" || s.OfNewer() {
			t.Errorf("empty: %+v, %v", s, err)
		}
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		exec(t, d, fmt.Sprintf("UPDATE sequence SET value = %d WHERE name = 'release'", release.Rank("9.8.7")))
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err := d.SchemaState(t.Context()); err != nil || s.Release != "9.8.7" || !s.OfNewer() || d.SchemaIsCurrent(t.Context()) != nil {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
