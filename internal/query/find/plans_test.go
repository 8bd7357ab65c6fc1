package find

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestPlans compares the plans of each database for the most frequent queries with the files in
// testdata/plans. A plan has the keys that the database uses, in order. The queries are in
// testdata/plans/queries.txt.
func TestPlans(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		m := meta.Default()
		fillLikeLife(t, d, m)
		f := New(d, m)
		var got strings.Builder
		for _, line := range linesOf(t, "testdata/plans/queries.txt") {
			name, body, _ := strings.Cut(line, " | ")
			got.WriteString(name + "\n")
			_, b, err := ask(t, f, "admin", strings.TrimSuffix(body, "}")+`,"explain":true}`)
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			for _, st := range b.Explain {
				got.WriteString("    statement\n")
				for _, step := range st.Plan {
					got.WriteString("        " + stepOf(d, st.SQL, step) + "\n")
				}
			}
		}
		file := filepath.Join("testdata", "plans", flavor(t, d)+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compareLines(t, string(want), got.String())
	})
}

// compareLines reports the queries whose plans differ.
func compareLines(t *testing.T, want, got string) {
	t.Helper()
	plans := func(text string) map[string]string {
		all, name := map[string]string{}, ""
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, " ") {
				name = line
			}
			all[name] += line
		}
		return all
	}
	have := plans(got)
	for name, plan := range plans(want) {
		if have[name] != plan {
			t.Errorf("want\n%sgot\n%s", plan, have[name])
		}
		delete(have, name)
	}
	for _, plan := range have {
		t.Errorf("a plan that testdata does not have:\n%s", plan)
	}
}

// flavor returns the kind of a server. If plans depend on the major version, it also contains this
// version.
func flavor(t *testing.T, d *db.DB) string {
	t.Helper()
	name, err := d.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kind, version, _ := strings.Cut(strings.ToLower(name), " ")
	if kind == "mariadb" {
		major, _, _ := strings.Cut(version, ".")
		kind += "-" + major
	}
	return kind
}

// stepOf prints one step of a plan without estimates.
func stepOf(d *db.DB, sql string, step map[string]any) string {
	if detail, ok := step["detail"]; ok {
		return fmt.Sprint(detail)
	}
	text := func(name string) string {
		if v, ok := step[name]; ok {
			return fmt.Sprint(v)
		}
		return "-"
	}
	table := text("table")
	if of := tableOf(sql, table); of != "" {
		table += " " + of
	}
	var extra []string
	for _, part := range strings.Split(text("Extra"), "; ") {
		if part = strings.TrimSpace(part); part != "-" && part != "Using where" && !strings.HasPrefix(part, "Using join buffer") {
			extra = append(extra, part)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%s, %s by %s, %s", table, text("type"), text("key"), strings.Join(extra, ", ")))
}

// fillLikeLife writes ten projects, 1000 to 1009, that were filled one after the other. Each has
// 2,000 stories (ids from 20,000) and 1,000 tasks (from 50,000). The 40 members have ids from 1100;
// the first members own most stories. Sprints have ids from 1900, statuses from 1950, teams from
// 1960, and epics from 2000. Most stories have the last status.
func fillLikeLife(t *testing.T, d *db.DB, m *meta.Model) {
	t.Helper()
	ctx := context.Background()
	typ := func(name string) *meta.Type {
		found, ok := m.Type(name)
		if !ok {
			t.Fatalf("no type %s", name)
		}
		return found
	}
	story := typ("Story")
	owners, _ := story.Attr("Owners")
	made := func(name string, first, n int, rest string) string {
		return fmt.Sprintf("INSERT INTO asset (id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by,"+
			" name, number, scope_id, parent_id, super_id, timebox_id, status_id, team_id, order_key)"+
			" WITH RECURSIVE d(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 199)"+
			" SELECT %[1]d + n, %[2]d, 64, 2 * (%[1]d + n), 1, %[1]d + n, 0, 20, 1000000 * n, 20, CONCAT('x', n), %[4]s, (n * 7919) %% 20011"+
			" FROM (SELECT a.n * 200 + b.n AS n FROM d a JOIN d b) s WHERE n < %[3]d", first, typ(name).Code, n, rest)
	}
	some := func(columns ...string) string { // number, scope, parent, super, timebox, status, team
		for len(columns) < 7 {
			columns = append(columns, "NULL")
		}
		return strings.Join(columns, ", ")
	}
	statements := []string{
		made("Scope", 1000, 10, some("NULL", "1000 + n")),
		made("Member", 1100, 40, some()),
		made("Timebox", 1900, 40, some()),
		made("StoryStatus", 1950, 5, some()),
		made("Team", 1960, 8, some()),
		made("Epic", 2000, 400, some("CONCAT('E-', n)", "1000 + (n - n % 40) / 40")),
		made("Story", 20_000, 20_000, some("CONCAT('S-', 20000 + n)", "1000 + (n - n % 2000) / 2000", "NULL", "CASE WHEN n % 3 = 0 THEN 2000 + (n - n % 50) / 50 END",
			"CASE WHEN n % 4 = 0 THEN 1900 + (n - n % 500) / 500 END",
			"CASE WHEN n % 10 < 6 THEN 1954 WHEN n % 10 < 8 THEN 1953 WHEN n % 10 < 9 THEN 1952 WHEN n % 20 = 9 THEN 1951 ELSE 1950 END",
			"CASE WHEN n % 5 > 0 THEN 1960 + (n - n % 2500) / 2500 END")),
		made("Task", 50_000, 10_000, some("CONCAT('TK-', n)", "1000 + (n - n % 1000) / 1000", "20000 + 2 * n")),
	}
	const columns = "type, state, audit_id, created_moment, created_at, created_by, changed_at, changed_by, name, number, scope_id, parent_id, super_id, timebox_id, status_id, team_id, order_key"
	for _, v := range []struct{ moment, until string }{{"id", "moment"}, {"moment", "9223372036854775807"}} {
		statements = append(statements, fmt.Sprintf("INSERT INTO asset_version (id, moment, until_moment, linked, %s) SELECT id, %s, %s, 0, %s FROM asset",
			columns, v.moment, v.until, columns))
	}
	statements = append(statements,
		fmt.Sprintf("INSERT INTO asset_link (relation, from_type, from_id, to_id, since_moment, until_moment)"+
			" SELECT %d, type, id, 1100 + CASE WHEN id %% 3 = 0 THEN id %% 5 ELSE id %% 40 END, moment, 9223372036854775807 FROM asset WHERE type = %d",
			owners.Place.Code, story.Code),
		"INSERT INTO scope_closure (ancestor_id, descendant_id, since_moment, until_moment, depth)"+
			" SELECT id, id, 1, 9223372036854775807, 0 FROM asset WHERE id >= 1000 AND id < 1010",
		"INSERT INTO moment_stamp (last_moment, at) VALUES (200000, 1)",
	)
	tables := []string{"asset", "asset_version", "asset_link", "scope_closure", "scope_hidden"}
	if d.Dialect.Name == "mysql" {
		for _, table := range tables { // statistics read all pages, so plans do not depend on a sample
			if _, err := d.Exec(ctx, "ALTER TABLE "+table+" STATS_AUTO_RECALC = 0, STATS_SAMPLE_PAGES = 10000"); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := d.Write(ctx, func(tx *db.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.GatherStatistics(ctx); err != nil {
		t.Fatal(err)
	}
	if d.Dialect.Name == "mysql" {
		for _, table := range tables {
			analyze(t, d, table)
		}
	}
}
