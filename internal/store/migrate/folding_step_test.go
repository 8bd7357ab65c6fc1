package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	schema "github.com/alds-dev/alds/sql"
)

// apart is 한 written with three characters. The collation treats it as different from 한 in one
// character.
const apart = "\u1112\u1161\u11ab"

// before0060 fills the tables as they were before folded forms were stored.
var before0060 = []string{
	`INSERT INTO audit (id, request_id, actor_id, at, comment, first_moment, last_moment, generation) VALUES (1, 'a', 20, 1, 'plain', 1, 1, 1), (2, 'b', 20, 1, 'ÜBER', 2, 2, 1)`,
	`INSERT INTO asset_value (attribute, from_type, from_id, value, since_moment, until_moment) VALUES
		(1, 4, 1001, 'UX', 1, 5), (1, 4, 1001, 'UX', 6, 9223372036854775807), (1, 4, 1001, '😀', 1, 9223372036854775807),
		(1, 4, 1002, '한', 1, 4), (1, 4, 1002, '<apart>', 3, 9223372036854775807), (1, 4, 1003, 'É', 1, 9223372036854775807)`,
	`INSERT INTO credential (member_id, username, password_hash, version, disabled) VALUES
		(20, 'Admin', 'h', 3, 0), (1010, '한', 'i', 1, 1), (1011, '<apart>', NULL, 1, 0), (1012, 'ÉVA', NULL, 2, 0)`,
}

const oldAsset = `INSERT INTO %s (id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, name, description, attrs%s) VALUES
	(1001, 4, 64, 1, 1, 1, 1, 20, 1, 20, 'Plain größe', NULL, '{"Reference": "R", "Estimate": 1.5}'%[3]s),
	(1002, 4, 64, 1, 1, 1, 1, 20, 1, 20, 'ÄNDERUNG', 'Σ', '{"Reference": "É\nx", "Done": true, "Plain": "x"}'%[3]s)`

// after0069 has the expected rows after the migration, and the queries that read them.
var after0069 = []struct{ want, query string }{
	{"1: , 2: über", `SELECT id, COALESCE(folded, '') FROM audit ORDER BY id`},
	{"1001:UX: ux 1, 1001:UX: ux 6, 1001:😀: 😀 1, 1002:한: 한 1, 1003:É: é 1", `SELECT CONCAT(from_id, ':', value), CONCAT(folded, ' ', since_moment) FROM asset_value ORDER BY from_id, folded, since_moment`},
	{"1001: 5, 1001: 9223372036854775807, 1001: 9223372036854775807, 1002: 9223372036854775807, 1003: 9223372036854775807", `SELECT from_id, until_moment FROM asset_value ORDER BY from_id, folded, since_moment`},
	{"Admin: admin h 3 0, ÉVA: éva  2 0, " + apart + ": 한\x001011  1 0, 한: 한 i 1 1", `SELECT username, CONCAT(folded, ' ', COALESCE(password_hash, ''), ' ', version, ' ', disabled) FROM credential ORDER BY username, member_id`},
}

// This function migrates a database up to migration 0059 and fills the database. It returns all
// migrations.
func old(t *testing.T, d *db.DB) (all []schema.Migration) {
	t.Helper()
	ctx := context.Background()
	all = *d.Steps()
	*d.Steps() = slices.DeleteFunc(slices.Clone(all), func(s schema.Migration) bool { return s.Version >= 60 })
	if err := d.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	statements := append(slices.Clone(before0060), fmt.Sprintf(oldAsset, "asset", "", ""),
		fmt.Sprintf(oldAsset, "asset_version", ", until_moment, linked", ", 9223372036854775807, 0"))
	for i := range 700 { // more than a batch
		statements = append(statements, fmt.Sprintf(`INSERT INTO asset_version (id, type, state, moment, until_moment, linked, audit_id, created_moment, created_at, created_by, changed_at, changed_by, name)
			VALUES (%d, 4, 64, %d, 9, 0, 1, 1, 1, 20, 1, 20, 'Ö%[2]d')`, 2000+i/400, i))
	}
	if err := d.Write(ctx, func(tx *db.Tx) error {
		for _, s := range statements {
			if d.Dialect.Name == "mysql" {
				s = strings.ReplaceAll(s, `\n`, `\\n`)
			}
			if _, err := tx.Exec(ctx, strings.ReplaceAll(s, "<apart>", apart)); err != nil {
				return fmt.Errorf("%.80s: %w", s, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOldTextsAreFolded migrates a filled database. The first attempt is interrupted when the step
// has done its work, but before this is recorded.
func TestOldTextsAreFolded(t *testing.T) {
	onBoth(t, func(t *testing.T, dialect string) {
		ctx := context.Background()
		d := fresh(t, dialect, 1)[0]
		all := old(t, d)
		*d.Steps() = interrupted(all)
		wantRefusal(t, "an interrupted step", d.Migrate(ctx), "0065_folded_texts: enough")
		wantRefusal(t, "a step that is only begun", d.SchemaIsCurrent(ctx), "run `api migrate`")
		*d.Steps() = all
		if err := d.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		if err := d.SchemaIsCurrent(ctx); err != nil {
			t.Error(err)
		}
		for _, c := range after0069 {
			if got := pairsOf(t, d, c.query); got != c.want {
				t.Errorf("%s\ngot  %q\nwant %q", c.query, got, c.want)
			}
		}
		for _, table := range []string{"asset", "asset_version"} {
			json := d.Dialect.JSONText
			got := pairsOf(t, d, "SELECT id, CONCAT_WS('|', "+json("folded", "name")+", "+json("folded", "description")+", "+json("folded", "Reference")+
				", "+json("folded", "Plain")+") FROM "+table+" WHERE id < 2000 ORDER BY id")
			if want := "1001: , 1002: änderung|σ|é\nx"; got != want {
				t.Errorf("%s: got %q, want %q", table, got, want)
			}
		}
		var n int
		err := d.QueryRow(ctx, "SELECT COUNT(*) FROM asset_version WHERE "+d.Dialect.JSONText("folded", "name")+" = CONCAT('ö', moment)").Scan(&n)
		if err != nil || n != 700 {
			t.Errorf("%d of 700 versions are folded, %v", n, err)
		}
	})
}

// interrupted returns the steps, with an error at the end of each program.
func interrupted(all []schema.Migration) []schema.Migration {
	broken := slices.Clone(all)
	for i, s := range broken {
		if s.Run != nil {
			broken[i].Run = func(ctx context.Context, r schema.Runner) error {
				if err := s.Run(ctx, r); err != nil {
					return err
				}
				return errors.New("enough")
			}
		}
	}
	return broken
}

// pairsOf lists the rows of a query with two columns.
func pairsOf(t *testing.T, d *db.DB, query string) string {
	t.Helper()
	rows, err := d.Query(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var list []string
	for rows.Next() {
		var a, b string
		if err := rows.Scan(&a, &b); err != nil {
			t.Fatal(err)
		}
		list = append(list, a+": "+b)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, ", ")
}
