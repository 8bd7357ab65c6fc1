package find

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// ofStreams has the keys that only package activity uses. Queries do not need them.
var ofStreams = map[string]bool{
	"asset_version asset_version_of_scope": true, "asset_version asset_version_of_parent": true, "asset_version asset_version_of_super": true,
}

// TestKeysAreUsed checks that every key of the tables is used by a query of testdata/keys.txt. An
// unused key slows every write and has no benefit.
func TestKeysAreUsed(t *testing.T) {
	d := testdb.MySQL(t)
	m := meta.Default()
	fill(t, d, m)
	f := New(d, m)
	served := map[string]bool{}
	for _, line := range linesOf(t, "testdata/keys.txt") {
		key, body, _ := strings.Cut(line, " | ")
		served[key] = true
		if used := keysOf(t, f, body); !used[key] {
			t.Errorf("%s: it is not used by\n%s\nbut %v", key, body, used)
		}
	}
	rows, err := d.Query(context.Background(), `SELECT DISTINCT CONCAT(TABLE_NAME, ' ', INDEX_NAME) FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('asset', 'asset_link', 'asset_value', 'asset_version')`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		if !served[key] && !ofStreams[key] {
			t.Errorf("%s has no query that needs it", key)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// linesOf returns the lines of a file that are neither empty nor comments.
func linesOf(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var lines []string
	for s := bufio.NewScanner(file); s.Scan(); {
		if line := s.Text(); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// keysOf explains a query and returns the keys that it uses, each with its table.
func keysOf(t *testing.T, f *Finder, body string) map[string]bool {
	t.Helper()
	_, b, err := ask(t, f, "admin", strings.TrimSuffix(body, "}")+`,"explain":true}`)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	used := map[string]bool{}
	for _, st := range b.Explain {
		for _, step := range st.Plan {
			alias, key := fmt.Sprint(step["table"]), fmt.Sprint(step["key"])
			used[tableOf(st.SQL, alias)+" "+key] = true
		}
	}
	return used
}

// tableOf returns the table of an alias in a statement.
func tableOf(sql, alias string) string {
	words := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(sql))
	for i, w := range words {
		if i > 0 && w == alias {
			return words[i-1]
		}
	}
	return ""
}

// fill writes about 42,000 assets with two versions each. Scopes have the ids 1000 to 1099, members
// 1100 to 1199, timeboxes 1900 to 1949, and statuses 1950 to 1959. Epics begin at 2000, stories at
// 20,000, tasks at 40,000.
func fill(t *testing.T, d *db.DB, m *meta.Model) {
	t.Helper()
	code := func(name string) int {
		typ, ok := m.Type(name)
		if !ok {
			t.Fatalf("no type %s", name)
		}
		return typ.Code
	}
	story, _ := m.Type("Story")
	owners, _ := story.Attr("Owners")
	tagged, _ := story.Attr("TaggedWith")
	const head = "INSERT INTO asset (id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by," +
		" name, number, scope_id, parent_id, super_id, timebox_id, status_id, order_key) "
	made := func(typ string, first, n int, rest string) string {
		return fmt.Sprintf("%sWITH RECURSIVE d(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 199) "+
			"SELECT %d + n, %d, 64, 2 * (%d + n), 1, %d + n, 0, 20, 0, 20, CONCAT('x', n), %s, n "+
			"FROM (SELECT a.n * 200 + b.n AS n FROM d a JOIN d b) s WHERE n < %d", head, first, code(typ), first, first, rest, n)
	}
	statements := []string{
		made("Scope", 1000, 100, "NULL, 1000 + n, NULL, NULL, NULL, NULL"),
		made("Member", 1100, 100, "NULL, NULL, NULL, NULL, NULL, NULL"),
		made("Timebox", 1900, 50, "NULL, NULL, NULL, NULL, NULL, NULL"),
		made("StoryStatus", 1950, 10, "NULL, NULL, NULL, NULL, NULL, NULL"),
		made("Epic", 2000, 2000, "CONCAT('E-', n), 1000 + n MOD 100, NULL, NULL, NULL, NULL"),
		made("Story", 20_000, 20_000, "CONCAT('S-', 20000 + n), 1000 + n MOD 100, NULL, 2000 + n MOD 2000, IF(n MOD 10 = 0, 1900 + n DIV 10 MOD 50, NULL), IF(n MOD 50 = 0, 1950 + n DIV 50 MOD 10, NULL)"),
		made("Task", 40_000, 20_000, "CONCAT('TK-', n), 1000 + n MOD 100, 20000 + n, NULL, NULL, NULL"),
	}
	const columns = "type, state, audit_id, created_moment, created_at, created_by, changed_at, changed_by, name, number, scope_id, parent_id, super_id, timebox_id, status_id, order_key"
	for _, v := range []struct{ moment, until string }{{"id", "moment"}, {"moment", "9223372036854775807"}} {
		statements = append(statements, fmt.Sprintf("INSERT INTO asset_version (id, moment, until_moment, linked, %s) SELECT id, %s, %s, 0, %s FROM asset",
			columns, v.moment, v.until, columns))
	}
	statements = append(statements,
		fmt.Sprintf("INSERT INTO asset_link SELECT %d, type, id, 1100 + id MOD 100, moment, 9223372036854775807 FROM asset WHERE type = %d", owners.Place.Code, story.Code),
		fmt.Sprintf("INSERT INTO asset_value SELECT %d, type, id, IF(id MOD 2000 = 10, 'rare', 'often'), moment, 9223372036854775807, IF(id MOD 2000 = 10, 'rare', 'often') FROM asset WHERE type = %d", tagged.Place.Code, story.Code),
		"INSERT INTO moment_stamp (last_moment, at) VALUES (100000, 1)",
	)
	err := d.Write(context.Background(), func(tx *db.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(context.Background(), s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"asset", "asset_version", "asset_link", "asset_value"} {
		analyze(t, d, table)
	}
}

// analyze updates the statistics of a table. It also reads the rows that the server returns.
func analyze(t testing.TB, d *db.DB, table string) {
	t.Helper()
	rows, err := d.Query(t.Context(), "ANALYZE TABLE "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
