package migrate_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// fresh opens n handles to one database without tables.
func fresh(t *testing.T, dialect string, n int) []*db.DB {
	t.Helper()
	return handles(t, testdb.EmptyURL(t, dialect), n)
}

// migrated opens n handles to one database whose schema is current.
func migrated(t *testing.T, dialect string, n int) []*db.DB {
	t.Helper()
	return handles(t, testdb.URL(t, dialect), n)
}

func handles(t *testing.T, url string, n int) []*db.DB {
	t.Helper()
	all := make([]*db.DB, n)
	for i := range all {
		d, err := db.Open(context.Background(), url, db.Options{MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		all[i] = d
	}
	return all
}

func onBoth(t *testing.T, test func(t *testing.T, dialect string)) {
	t.Helper()
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) { test(t, dialect) })
	}
}

func exec(t *testing.T, d *db.DB, statement string, args ...any) {
	t.Helper()
	if _, err := d.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func wantRefusal(t *testing.T, what string, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: got %v, want %q", what, err, words)
	}
}

func TestMigrateTwiceIsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		ctx := context.Background()
		d := fresh(t, dialect, 1)[0]
		wantRefusal(t, "an empty database", d.SchemaIsCurrent(ctx), "run `api migrate`")
		for range 2 {
			if err := d.Migrate(ctx); err != nil {
				t.Fatal(err)
			}
			if err := d.SchemaIsCurrent(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestMigrateAtOnceFromSeveralSides(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		all := fresh(t, dialect, 4)
		var wg sync.WaitGroup
		for _, d := range all {
			wg.Go(func() {
				if err := d.Migrate(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var n int
		err := all[0].QueryRow(context.Background(), "SELECT COUNT(*) FROM schema_migration WHERE applied_at > 0").Scan(&n)
		if err != nil || n != len(*all[0].Steps()) {
			t.Errorf("%d steps recorded of %d, %v", n, len(*all[0].Steps()), err)
		}
	})
}

func TestOtherSchemasAreRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		ctx := context.Background()
		d := migrated(t, dialect, 1)[0]
		all := *d.Steps()

		changed := slices.Clone(all)
		changed[3].Checksum = strings.Repeat("0", 64)
		*d.Steps() = changed
		wantRefusal(t, "migrate with a changed file", d.Migrate(ctx), "was applied to this database with other contents")
		wantRefusal(t, "start with a changed file", d.SchemaIsCurrent(ctx), "was applied to this database with other contents")

		next := all[len(all)-1]
		next.Version, next.Name, next.Text = 9999, "more", "CREATE TABLE IF NOT EXISTS more (id INTEGER)"
		*d.Steps() = append(slices.Clone(all), next)
		wantRefusal(t, "start on an old schema", d.SchemaIsCurrent(ctx), "1 of")
		if err := d.Migrate(ctx); err != nil {
			t.Error(err)
		}
		if err := d.SchemaIsCurrent(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestMigrateGoesOnAfterACrash checks a step that has run but was not recorded. If its statement
// runs again, it fails because the column exists. This error counts as success.
func TestMigrateGoesOnAfterACrash(t *testing.T) {
	ctx := context.Background()
	d := migrated(t, "mysql", 1)[0]
	next := (*d.Steps())[0]
	next.Version, next.Name, next.Text = 9999, "column", "ALTER TABLE session ADD COLUMN more INT"
	*d.Steps() = append(*d.Steps(), next)
	for _, statement := range []string{
		next.Text,
		"INSERT INTO schema_migration (version, name, checksum, applied_at) VALUES (9999, 'column', '', 0)",
	} {
		if _, err := d.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	wantRefusal(t, "a step that is only begun", d.SchemaIsCurrent(ctx), "run `api migrate`")
	if err := d.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.SchemaIsCurrent(ctx); err != nil {
		t.Error(err)
	}
}

func TestFailedStepStopsAndIsTold(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		d := migrated(t, dialect, 1)[0]
		next := (*d.Steps())[0]
		next.Version, next.Name, next.Text = 9999, "broken", "CREATE NONSENSE"
		*d.Steps() = append(*d.Steps(), next)
		wantRefusal(t, "a broken step", d.Migrate(context.Background()), "migration 9999_broken")
	})
}
