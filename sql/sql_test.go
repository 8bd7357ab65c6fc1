package sql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/release"
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

// Older processes compare their release with the oldest release of each migration, which the
// database stores. So every migration must have an oldest release.
func TestEveryMigrationNamesTheOldestRelease(t *testing.T) {
	steps, err := Migrations("sqlite")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range promises(steps, oldest, reads, release.Number) {
		t.Error(text)
	}
}

// promises checks the oldest release of each migration against the maps oldest and reads. It
// returns a text for each mistake. number is the current release.
func promises(steps []Migration, oldest, reads map[int]string, number string) (wrong []string) {
	say := func(m Migration, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%04d_%s: ", m.Version, m.Name)+fmt.Sprintf(format, args...))
	}
	known := map[int]bool{}
	for _, m := range steps {
		known[m.Version] = true
		if rank := release.Rank(m.Oldest); rank < release.Rank(First) || rank > release.Rank(number) {
			say(m, "it works with %q and later; releases are from %s to %s", m.Oldest, First, number)
		}
		if m.Version <= inFirst {
			continue
		}
		if oldest[m.Version] == "" {
			say(m, "say in oldest.go which release is the oldest that works with it")
		}
		by, named := reads[m.Version]
		switch {
		case !named && changesData(m):
			say(m, "say in oldest.go which release first reads what is stored by it")
		case release.Rank(m.Oldest) < release.Rank(by):
			say(m, "%s is to work with it, but the first release that reads what is stored by it is %s", m.Oldest, by)
		}
	}
	for _, names := range []map[int]string{oldest, reads} {
		for version := range names {
			if !known[version] {
				wrong = append(wrong, fmt.Sprintf("%04d is no migration", version))
			}
		}
	}
	return wrong
}

// changesData reports whether data may be stored at another place or in another form after a
// migration. It returns false for a migration that only adds a table, an index or rows.
func changesData(m Migration) bool {
	if m.Run != nil {
		return true
	}
	words := strings.ToUpper(strings.ReplaceAll(m.Text, "`", ""))
	switch {
	case strings.HasPrefix(words, "CREATE TABLE"), strings.HasPrefix(words, "CREATE INDEX"), strings.HasPrefix(words, "CREATE UNIQUE INDEX"):
		return strings.Contains(words, "SELECT ")
	case strings.HasPrefix(words, "INSERT "):
		return strings.Contains(words, "SELECT ")
	}
	return true
}

// TestPromisesOfReleases checks which release may be the oldest one of a migration. If a migration
// moves data, it does not work with releases that do not read the new place. Migrations 0135 to
// 0137 moved long texts from asset to asset_text. They once said, wrongly, that all builds work
// with them.
func TestPromisesOfReleases(t *testing.T) {
	steps, err := Migrations("mysql")
	if err != nil {
		t.Fatal(err)
	}
	next := func(version int, text, oldest string) []Migration {
		return append(slices.Clone(steps), Migration{Version: version, Name: "next", Text: text, Oldest: oldest})
	}
	of := func(version int) string {
		return steps[slices.IndexFunc(steps, func(m Migration) bool { return m.Version == version })].Text
	}
	const older, newer = First, "9.0.0"
	table, columns := of(135), of(136)
	for _, c := range []struct {
		name          string
		steps         []Migration
		oldest, reads map[int]string
		want          string
	}{
		{"nothing new", steps, nil, nil, ""},
		{"a table", next(9000, table, older), map[int]string{9000: older}, nil, ""},
		{"a table of which nothing is said", next(9000, table, newer), nil, nil, "9000_next: say in oldest.go which release is the oldest"},
		{"columns that may hold what was elsewhere", next(9000, columns, older), map[int]string{9000: older}, nil, "9000_next: say in oldest.go which release first reads"},
		{"columns that the next release reads", next(9000, columns, older), map[int]string{9000: older}, map[int]string{9000: newer}, "the first release that reads what is stored by it is " + newer},
		{"and that say so", next(9000, columns, newer), map[int]string{9000: newer}, map[int]string{9000: newer}, ""},
		{"columns that were read before", next(9000, columns, older), map[int]string{9000: older}, map[int]string{9000: older}, ""},
		{"a copy", next(9000, "INSERT IGNORE INTO a SELECT * FROM b", older), map[int]string{9000: older}, nil, "first reads"},
		{"rows", next(9000, of(127), older), map[int]string{9000: older}, nil, ""},
		{"a build before the first release", next(9000, table, "0.1.0"), map[int]string{9000: "0.1.0"}, nil, `it works with "0.1.0" and later`},
		{"a later release", next(9000, table, "10.0.0"), map[int]string{9000: "10.0.0"}, nil, "releases are from"},
		{"no migration", steps, map[int]string{9000: older}, nil, "9000 is no migration"},
	} {
		got := strings.Join(promises(c.steps, c.oldest, c.reads, newer), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
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
