package sql

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/release"
)

func TestDialectsHaveTheSameSteps(t *testing.T) {
	mysql, err := Migrations("mysql")
	if err != nil {
		t.Fatal(err)
	}
	sqlite, err := Migrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	if len(mysql) != len(sqlite) || len(mysql) == 0 {
		t.Fatalf("mysql has %d steps, sqlite %d", len(mysql), len(sqlite))
	}
	for i := range mysql {
		if mysql[i].Version != sqlite[i].Version || mysql[i].Name != sqlite[i].Name {
			t.Errorf("step %d is %04d_%s for mysql and %04d_%s for sqlite", i,
				mysql[i].Version, mysql[i].Name, sqlite[i].Version, sqlite[i].Name)
		}
	}
}

// A database keeps what a migration says, and processes of older releases go by it.
func TestEveryMigrationNamesTheOldestRelease(t *testing.T) {
	steps, err := Migrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]bool{}
	for _, m := range steps {
		known[m.Version] = true
		if oldest[m.Version] == "" && m.Version > inFirst {
			t.Errorf("%04d_%s: say in oldest.go which release is the oldest that works with it", m.Version, m.Name)
		}
		if rank := release.Rank(m.Oldest); rank == 0 || rank > release.Rank(release.Number) {
			t.Errorf("%04d_%s works with %q and later; this is %s", m.Version, m.Name, m.Oldest, release.Number)
		}
	}
	for version := range oldest {
		if !known[version] {
			t.Errorf("%04d is no migration", version)
		}
	}
}

func TestMySQLFilesHoldOneStatementThatMayRunAgain(t *testing.T) {
	steps, err := Migrations("mysql")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range steps {
		if m.Run != nil {
			continue
		}
		if strings.Contains(m.Text, ";") {
			t.Errorf("%04d_%s holds more than one statement", m.Version, m.Name)
		}
		repeatable := false
		for _, start := range []string{
			"CREATE TABLE IF NOT EXISTS", "INSERT IGNORE", "ALTER TABLE", "DROP TABLE IF EXISTS", "CREATE INDEX",
			"UPDATE `asset_version` v JOIN `rank_carried`", "UPDATE `asset` a JOIN `rank_carried`",
			"UPDATE `asset_link` SET `relation` = 5 ",
			"UPDATE `asset_version` SET `state` = COALESCE((", "UPDATE `asset` SET `state` = COALESCE((",
		} {
			repeatable = repeatable || strings.HasPrefix(m.Text, start)
		}
		if !repeatable {
			t.Errorf("%04d_%s does not start like a statement that may run again", m.Version, m.Name)
		}
	}
}

func TestUnknownDialectIsRefused(t *testing.T) {
	if _, err := Migrations("oracle"); err == nil {
		t.Error("no error for a dialect without files")
	}
}
