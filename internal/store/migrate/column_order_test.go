package migrate_test

import (
	"context"
	"slices"
	"testing"

	schema "github.com/alds-dev/alds/sql"
)

// TestLongTextsAreTheLastColumns migrates a filled SQLite database. The first attempt is interrupted
// when the step has done its work, but before this is recorded.
func TestLongTextsAreTheLastColumns(t *testing.T) {
	ctx := context.Background()
	d := fresh(t, "sqlite", 1)[0]
	all := slices.Clone(*d.Steps())
	*d.Steps() = slices.DeleteFunc(slices.Clone(all), func(s schema.Migration) bool { return s.Version >= 164 })
	if err := d.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	exec(t, d, `INSERT INTO asset (id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, name, description, scope_id, attrs, custom_text_8)
		VALUES (2000, 4, 64, 1, 1, 1, 1, 20, 1, 20, 'n', 'long', 7, '{"Reference": "R"}', 'own')`)
	const (
		row     = `SELECT id, CONCAT(name, description, scope_id, attrs, custom_text_8, state, lock_count) FROM asset`
		indexes = `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'asset' ORDER BY name`
		last    = `SELECT cid, name FROM pragma_table_info('asset') ORDER BY cid DESC LIMIT 3`
	)
	before, keys := pairsOf(t, d, row), pairsOf(t, d, indexes)
	*d.Steps() = interrupted(all)
	wantRefusal(t, "an interrupted step", d.Migrate(ctx), "0164_asset_column_order: enough")
	*d.Steps() = all
	if err := d.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	if got := pairsOf(t, d, row); got != before {
		t.Errorf("the row is %s, was %s", got, before)
	}
	if got := pairsOf(t, d, indexes); got != keys {
		t.Errorf("indexes %s, were %s", got, keys)
	}
	if got, want := pairsOf(t, d, last), "58: description, 57: folded, 56: attrs"; got != want {
		t.Errorf("the last columns are %s, want %s", got, want)
	}
}
