package check_test

import (
	"slices"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	schema "github.com/alds-dev/alds/sql"
)

// TestMigratedFromBefore checks the migrations for the data of earlier releases. These releases had
// no table scope_hidden. When they undeleted a closed timebox, it became active. The migrations
// must also work if each of them runs twice.
func TestMigratedFromBefore(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		build(t, d)
		e := bulk.New(asset.New(d, model, logins{}, nil), find.New(d, model))
		for _, body := range []string{
			`{"from": "Timebox:1010", "execute": "Close"}`, `{"from": "Timebox:1010", "execute": "Delete"}`,
			`{"oid": "Timebox:1010", "execute": "Undelete"}`, `{"from": "Timebox:1010", "update": {"Name": "later"}}`,
		} {
			if _, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
		}
		before := hidden(t, d)
		exec(t, d, `DELETE FROM scope_hidden`)
		exec(t, d, `UPDATE asset SET state = 64 WHERE id = 1010`)
		exec(t, d, `UPDATE asset_version SET state = 64 WHERE id = 1010 AND moment > (SELECT m FROM (SELECT MAX(moment) AS m FROM asset_version WHERE id = 1010 AND state = 255) x)`)
		if n := len(must(check.Run(t.Context(), d, model))); n < 2 {
			t.Fatalf("%d findings in the data of an earlier release, want at least 2", n)
		}
		steps, err := schema.Migrations(d.Dialect.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if s.Version > 75 && s.Version <= 78 {
				exec(t, d, s.Text)
				exec(t, d, s.Text)
			}
		}
		for _, f := range must(check.Run(t.Context(), d, model)) {
			t.Errorf("after the migrations: %s", f)
		}
		if after := hidden(t, d); !slices.Equal(before, after) {
			t.Errorf("hidden projects are %v, were %v", after, before)
		}
		var closed int
		err = d.QueryRow(t.Context(), `SELECT COUNT(*) FROM asset_version WHERE id = 1010 AND state = 128`).Scan(&closed)
		if err != nil || closed != 3 {
			t.Errorf("%d closed versions of the timebox, want 3: %v", closed, err)
		}
	})
}

func exec(t *testing.T, d *db.DB, statement string) {
	t.Helper()
	if _, err := d.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// hidden returns the rows of scope_hidden. If the spans of two rows with the same projects touch,
// hidden joins the rows.
func hidden(t *testing.T, d *db.DB) []int64 {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT by_id, scope_id, since_moment, until_moment FROM scope_hidden ORDER BY 1, 2, 3`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []int64
	for rows.Next() {
		var by, scope, since, until int64
		if err := rows.Scan(&by, &scope, &since, &until); err != nil {
			t.Fatal(err)
		}
		if n := len(all); n > 0 && all[n-4] == by && all[n-3] == scope && all[n-1] == since {
			all[n-1] = until
			continue
		}
		all = append(all, by, scope, since, until)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
