package db_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	schema "github.com/alds-dev/alds/sql"
)

// A migration for a TiDB makes the same changes, with changes of keys as separate statements.
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
		if got := db.AsTiDB(text); !slices.Equal(got, want) {
			t.Errorf("%s\nis %q\nwant %q", text, got, want)
		}
	}
	steps, err := schema.Migrations("mysql")
	if err != nil {
		t.Fatal(err)
	}
	spread := 0
	for _, s := range steps {
		for _, text := range db.AsTiDB(s.Text) {
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

// A read on a server that reports to be a TiDB is still one snapshot, and its lists are
// written into the statement.
func TestReadsAsOnTiDB(t *testing.T) {
	url, recorded := testdb.AsTiDB(t)
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for range 2 {
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if e, err := d.Engine(t.Context()); err != nil || e.Server != "TiDB 8.5.0" || !e.Writes {
		t.Errorf("the engine is %+v: %v", e, err)
	}
	err = d.Read(t.Context(), func(tx *db.Tx) error {
		var before, after int
		const count = "SELECT COUNT(*) FROM tree_lock WHERE name = 'more'"
		if err := tx.QueryRow(t.Context(), count).Scan(&before); err != nil {
			return err
		}
		if _, err := d.Exec(t.Context(), "INSERT INTO tree_lock (name) VALUES (?)", "more"); err != nil {
			return err
		}
		if err := tx.QueryRow(t.Context(), count).Scan(&after); err != nil || before != after {
			t.Errorf("a snapshot changed from %d to %d: %v", before, after, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	ids, args := d.Dialect.IDs([]int64{1, -2, 3})
	pairs, more := d.Dialect.Pairs("a", [][2]int64{{1, 2}, {3, -4}})
	if ids != "(1,-2,3)" || pairs != "(a.id, a.moment) IN ((1,2),(3,-4))" || len(args)+len(more) > 0 {
		t.Errorf("lists are %s %v and %s %v", ids, args, pairs, more)
	}
	if none, _ := d.Dialect.IDs(nil); none != "(NULL)" {
		t.Errorf("no ids are %s", none)
	}
	for _, broken := range recorded.Broken(true) {
		t.Error(broken)
	}
}
