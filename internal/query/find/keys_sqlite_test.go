package find

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestKeysOfSomeServeAsThoseOfAll checks queries along relations that most assets do not have. The
// keys of these relations contain only assets that have the relation. SQLite must make the same
// plans as with keys of all assets, with and without statistics.
func TestKeysOfSomeServeAsThoseOfAll(t *testing.T) {
	d := testdb.SQLite(t)
	m := meta.Default()
	fillSome(t, d, m)
	f := New(d, m)
	for _, when := range []string{"without statistics", "with statistics"} {
		some := plansByRelation(t, f)
		for _, name := range []string{"parent", "super", "timebox", "team"} {
			change(t, d, "DROP INDEX asset_"+name, "CREATE INDEX asset_"+name+" ON asset ("+name+"_id, order_key)")
		}
		all := plansByRelation(t, f)
		if diff := cmp.Diff(all, some); diff != "" {
			t.Errorf("%s, plans by keys of all (-), of some (+):\n%s", when, diff)
		}
		for _, key := range []string{"asset_super", "asset_team"} {
			if !strings.Contains(some[key], "INDEX "+key+" ") {
				t.Errorf("%s, %s is not used: %s", when, key, some[key])
			}
		}
		for _, name := range []string{"parent", "super", "timebox", "team"} {
			change(t, d, "DROP INDEX asset_"+name, "CREATE INDEX asset_"+name+" ON asset ("+name+"_id, order_key) WHERE "+name+"_id IS NOT NULL")
		}
		if err := d.GatherStatistics(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// plansByRelation returns the plans of the queries of testdata/keys.txt along relations that most
// assets do not have, by the name of the key.
func plansByRelation(t *testing.T, f *Finder) map[string]string {
	t.Helper()
	plans := map[string]string{}
	for _, line := range linesOf(t, "testdata/keys.txt") {
		key, body, _ := strings.Cut(strings.TrimPrefix(line, "asset "), " | ")
		switch key {
		case "asset_parent", "asset_super", "asset_timebox", "asset_team":
		default:
			continue
		}
		_, b, err := ask(t, f, "admin", strings.TrimSuffix(body, "}")+`,"explain":true}`)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		var details []string
		for _, st := range b.Explain {
			for _, step := range st.Plan {
				details = append(details, fmt.Sprint(step["detail"]))
			}
		}
		plans[key] = strings.Join(details, "\n")
	}
	return plans
}

func change(t *testing.T, d *db.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := d.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// fillSome writes 5,000 stories and 500 tasks. One story in a hundred has a super, a timebox
// and a team.
func fillSome(t *testing.T, d *db.DB, m *meta.Model) {
	t.Helper()
	code := map[string]int{}
	for _, name := range []string{"Story", "Epic", "Task", "Timebox", "Team"} {
		typ, _ := m.Type(name)
		code[name] = typ.Code
	}
	const head = "WITH RECURSIVE d(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < %d) INSERT INTO asset (id, type, state, moment, audit_id, created_moment," +
		" created_at, created_by, changed_at, changed_by, name, scope_id, parent_id, super_id, timebox_id, team_id, order_key)" +
		" SELECT %d + n, %d, 64, %d + n, 1, 1, 0, 20, 0, 20, 'x' || n, 0, %s, n FROM d"
	for _, s := range []string{
		fmt.Sprintf(head, 49, 101_900, code["Timebox"], 101_900, "NULL, NULL, NULL, NULL"),
		fmt.Sprintf(head, 49, 101_700, code["Team"], 101_700, "NULL, NULL, NULL, NULL"),
		fmt.Sprintf(head, 99, 102_000, code["Epic"], 102_000, "NULL, NULL, NULL, NULL"),
		fmt.Sprintf(head, 4999, 120_000, code["Story"], 120_000, "NULL, IIF(n % 100 = 0, 102000 + n / 100, NULL), IIF(n % 100 = 0, 101900 + n / 100, NULL), IIF(n % 100 = 0, 101700 + n / 100, NULL)"),
		fmt.Sprintf(head, 499, 140_000, code["Task"], 140_000, "120000 + n, NULL, NULL, NULL"),
	} {
		change(t, d, s)
	}
}
