package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/migrate"
	"github.com/alds-dev/alds/internal/store/processes"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMigrationReport(t *testing.T) {
	later := release.Of(release.Rank(release.Number) + 1)
	worksWith := func(oldest string) migrate.Migration {
		return migrate.Migration{Version: 9000, Name: "more", Oldest: oldest}
	}
	api := processes.Row{Role: "api", Version: release.Number + "+20261122.c129ddd40dd1", Host: "h", Alive: true}
	old := processes.Row{Role: "worker", Version: "v0.0.0-20261122195829-c129ddd40dd1", Host: "h", Alive: true}
	gone := old
	gone.Alive = false
	for _, c := range []struct {
		name    string
		state   migrate.State
		running []processes.Row
		want    string // a part of the output
		stop    bool
	}{
		{"empty", migrate.State{Empty: true, Missing: []migrate.Migration{worksWith(later)}}, nil, "the database is empty\nmigrations to run: 1\n", false},
		{"up to date", migrate.State{Release: release.Number}, []processes.Row{api, old}, "no migration is missing", false},
		{"newer", migrate.State{Release: later}, []processes.Row{api}, "of a newer release, which works with this one", false},
		{"newer by a migration", migrate.State{Release: release.Number, Newer: []migrate.Migration{worksWith("0.0.1")}}, nil, "of a newer release", false},
		{"compatible", migrate.State{Release: release.Number, Missing: []migrate.Migration{worksWith(release.Number), worksWith("0.0.1")}}, []processes.Row{api, gone}, "afterwards " + release.Number + " and later work with the database\nprocesses that run now: 1; all go on", false},
		{"one is too old", migrate.State{Release: release.Number, Missing: []migrate.Migration{worksWith(release.Number)}}, []processes.Row{api, old}, "  worker v0.0.0-20261122195829-c129ddd40dd1 on h, running, does not work with it", true},
		{"all are too old", migrate.State{Release: release.Number, Missing: []migrate.Migration{worksWith("0.0.1"), worksWith(later)}}, []processes.Row{api}, "  api " + api.Version + " on h", true},
		{"none runs", migrate.State{Release: release.Number, Missing: []migrate.Migration{worksWith(later)}}, []processes.Row{gone}, "processes that run now: 0", false},
		{"before releases had numbers", migrate.State{Missing: []migrate.Migration{worksWith("0.0.1")}}, nil, "whether some run cannot be seen", true},
	} {
		got, err := migrationReport(&c.state, c.running)
		if !strings.Contains(got, c.want) || errors.Is(err, errStop) != c.stop || !c.stop && err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, got)
		}
	}
}

// TestMigrateCheck checks that migrate --check changes nothing, on an empty and on a current
// database. It also checks that migrate does not change a database of a newer release.
func TestMigrateCheck(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			settings := map[string]string{"DATABASE_URL": testdb.EmptyURL(t, dialect), "ALDS_ADMIN_PASSWORD": "first"}
			migrate := func(args ...string) string {
				t.Helper()
				var out, log bytes.Buffer
				e := quiet(settings)
				e.Stderr = &log
				if err := run(t.Context(), append([]string{"migrate"}, args...), outside{e, nil, &out}, app.API); err != nil {
					t.Fatal(err)
				}
				return out.String() + log.String()
			}
			d := open(t, settings)
			if got := migrate("--check"); !strings.Contains(got, "0001_schema_migration, works with 0.2.0 and later") {
				t.Error(got)
			}
			if s, err := d.SchemaState(t.Context()); err != nil || !s.Empty {
				t.Errorf("%+v, %v", s, err)
			}
			migrate()
			if got := migrate("--check"); got != "this is "+release.Number+"; the database was migrated by "+release.Number+"\nno migration is missing\n" {
				t.Error(got)
			}
			for _, change := range []string{
				"UPDATE sequence SET value = value + 1 WHERE name IN ('release', 'metadata')",
				"UPDATE asset SET name = 'Of the next release' WHERE id = -5001",
			} {
				testdb.Exec(t, d, change)
			}
			if got := migrate(); !strings.Contains(got, "nothing is migrated") {
				t.Error(got)
			}
			var name string
			if err := d.QueryRow(t.Context(), "SELECT name FROM asset WHERE id = -5001").Scan(&name); err != nil || name != "Of the next release" {
				t.Errorf("the metadata of the next release is undone: %s, %v", name, err)
			}
		})
	}
}
