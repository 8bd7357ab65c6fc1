package migrate

import (
	"slices"
	"strings"
	"testing"

	schema "github.com/alds-dev/alds/sql"
)

// A migration for a TiDB makes the same changes, but each change of an index is a separate
// statement.
func TestMigrationsForTiDB(t *testing.T) {
	for text, want := range map[string][]string{
		"ALTER TABLE `audit` ADD COLUMN `feed` BIGINT NULL, ADD KEY `audit_feed` (`feed`, `last_moment`)": {
			"ALTER TABLE `audit` ADD COLUMN `feed` BIGINT NULL",
			"ALTER TABLE `audit` ADD KEY `audit_feed` (`feed`, `last_moment`)",
		},
		"ALTER TABLE `asset`\n  ADD KEY `a` (`b`),\n  DROP KEY `c`": {
			"ALTER TABLE `asset`\n  ADD KEY `a` (`b`)",
			"ALTER TABLE `asset` DROP KEY `c`",
		},
		"": {""}, // a program
	} {
		if got := asTiDB(text); !slices.Equal(got, want) {
			t.Errorf("%s\nis %q\nwant %q", text, got, want)
		}
	}
	steps, err := schema.Migrations("mysql")
	if err != nil {
		t.Fatal(err)
	}
	spread := 0
	for _, s := range steps {
		for _, text := range asTiDB(s.Text) {
			if strings.Contains(text, "NONCLUSTERED") != strings.Contains(text, "SHARD_ROW_ID_BITS") {
				t.Errorf("migration %04d gives rows places by chance, or takes them from the key, but not both:\n%s", s.Version, text)
			}
			spread += strings.Count(text, "NONCLUSTERED")
		}
	}
	if spread != 2 {
		t.Errorf("%d tables have their rows spread, want audit and moment_stamp", spread)
	}
}
