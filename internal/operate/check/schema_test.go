package check_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/tables"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// altered calls test for each dialect. Each test gets its own database, whose tables it may alter.
func altered(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			d, err := db.Open(t.Context(), testdb.URL(t, dialect), db.Options{MaxConns: 8})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
			test(t, d)
		})
	}
}

// droppable returns the statement that drops a key. It returns an empty text if the database cannot
// drop the key. SQLite cannot drop the keys of constraints.
func droppable(d *db.DB, table string, k tables.Key) string {
	switch {
	case d.Dialect.Name == "mysql" && k.Name == "PRIMARY":
		return "ALTER TABLE " + table + " DROP PRIMARY KEY"
	case d.Dialect.Name == "mysql":
		return "ALTER TABLE " + table + " DROP KEY " + k.Name
	case k.SQL != "":
		return "DROP INDEX " + k.Name
	}
	return ""
}

// adminLogin inserts the login of the administrator, as the command migrate also does.
const adminLogin = `INSERT INTO credential (member_id, username, folded, version, disabled, password_hash) ` +
	`VALUES (20, 'admin', 'admin', 1, 0, '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g')`

// TestEachKeyIsMadeAgain expects that the checks find every missing key, and that a repair creates
// it again.
func TestEachKeyIsMadeAgain(t *testing.T) {
	altered(t, func(t *testing.T, d *db.DB) {
		build(t, d)
		exec(t, d, adminLogin)
		before := keys(t, d)
		var dropped []string
		for table, all := range before {
			for _, k := range all {
				if statement := droppable(d, table, k); statement != "" {
					exec(t, d, statement)
					dropped = append(dropped, fmt.Sprintf("keys: %s 0: the key %s of", table, k.Name))
				}
			}
		}
		found, err := check.Plan(t.Context(), d, present)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range dropped {
			if !slices.ContainsFunc(found, func(f check.Finding) bool { return strings.HasPrefix(f.String(), want) && len(f.Mends()) > 0 }) {
				t.Errorf("%s is not found", want)
			}
		}
		var mended []check.Finding
		left, err := mending(&mended).Do(t.Context(), d, present)
		if err != nil || len(left) > 0 || len(mended) != len(dropped) || len(dropped) < 40 {
			t.Fatalf("%d keys dropped, %d created again, %v left: %v", len(dropped), len(mended), left, err)
		}
		if after := keys(t, d); !maps.EqualFunc(before, after, sameKeys) {
			t.Errorf("the keys were %v and are %v", before, after)
		}
	})
}

// sameKeys reports whether two tables have the same keys, in any order.
func sameKeys(a, b []tables.Key) bool {
	byName := func(a, b tables.Key) int { return strings.Compare(a.Name, b.Name) }
	return slices.EqualFunc(slices.SortedFunc(slices.Values(a), byName), slices.SortedFunc(slices.Values(b), byName),
		func(a, b tables.Key) bool { return a.Equal(b) && a.SQL == b.SQL })
}

func keys(t *testing.T, d *db.DB) map[string][]tables.Key {
	t.Helper()
	all, err := tables.Keys(t.Context(), d, d.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestKeyOfOtherColumns expects that the checks find a key with the wrong columns, and that a
// repair creates it with the right columns.
func TestKeyOfOtherColumns(t *testing.T) {
	altered(t, func(t *testing.T, d *db.DB) {
		build(t, d)
		exec(t, d, adminLogin)
		before := keys(t, d)
		for _, statement := range map[string][]string{
			"mysql":  {"ALTER TABLE asset DROP KEY asset_moment, ADD KEY asset_moment (moment, id)"},
			"sqlite": {"DROP INDEX asset_moment", "CREATE INDEX asset_moment ON asset (moment, id)"},
		}[d.Dialect.Name] {
			exec(t, d, statement)
		}
		var mended []check.Finding
		left, err := mending(&mended).Do(t.Context(), d, present)
		if err != nil || len(left) > 0 || len(mended) != 1 || !maps.EqualFunc(before, keys(t, d), sameKeys) {
			t.Errorf("%v fixed, %v left: %v", mended, left, err)
		}
	})
}

// TestEachTableIsMissed expects that the checks find every missing table, and one missing column of
// every table.
func TestEachTableIsMissed(t *testing.T) {
	altered(t, func(t *testing.T, d *db.DB) {
		for _, table := range tablesOf(t, d) {
			expect := func(text string) {
				t.Helper()
				found, err := check.Schema(t.Context(), d)
				if err != nil || len(found) != 1 || found[0].Table != table.Name || found[0].Text != text {
					t.Errorf("%s: %v %v", table.Name, found, err)
				}
			}
			exec(t, d, "ALTER TABLE "+table.Name+" RENAME TO elsewhere")
			expect("the table is missing")
			exec(t, d, "ALTER TABLE elsewhere RENAME TO "+table.Name)
			column := table.Columns[len(table.Columns)-1].Name
			rename := "ALTER TABLE " + table.Name + " RENAME COLUMN %s TO %s"
			exec(t, d, fmt.Sprintf(rename, d.Dialect.Quote(column), "elsewhere"))
			expect("the column " + column + " is missing")
			exec(t, d, fmt.Sprintf(rename, "elsewhere", d.Dialect.Quote(column)))
		}
	})
}

// TestTablesAreMadeAgain expects that a repair creates missing tables, with their keys and rows, if
// their rows can be computed.
func TestTablesAreMadeAgain(t *testing.T) {
	altered(t, func(t *testing.T, d *db.DB) {
		build(t, d)
		exec(t, d, adminLogin)
		before, rows := keys(t, d), contents(t, d)
		for _, table := range []string{"scope_closure", "scope_hidden", "moment_stamp", "tree_lock", "write_lock", "member_write", "session", "system_check", "process"} {
			exec(t, d, "DROP TABLE "+table)
		}
		var mended []check.Finding
		left, err := mending(&mended).Do(t.Context(), d, present)
		if err == nil || !strings.Contains(err.Error(), "running processes") {
			t.Fatalf("%v fixed, %v left: %v", mended, left, err)
		}
		if left, err = mending(&mended).Do(t.Context(), d, present); err != nil || len(left) > 0 {
			t.Fatalf("%v fixed, %v left: %v", mended, left, err)
		}
		if after := keys(t, d); !maps.EqualFunc(before, after, sameKeys) {
			t.Errorf("the keys were %v and are %v", before, after)
		}
		if diff := difference(rows, contents(t, d), []string{"moment_stamp"}); diff != "" {
			t.Error(diff)
		}
		exec(t, d, "DROP TABLE webhook_receipt")
		if left, err := mending(&mended).Do(t.Context(), d, present); err != nil || len(left) != 1 || !strings.Contains(left[0].Do, "backup") {
			t.Errorf("%v left: %v", left, err)
		}
	})
}
