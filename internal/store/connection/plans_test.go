package connection_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// nodes creates the table node with n assets, at least 7. Assets 4 and 5 are children of asset 1,
// and asset 7 is a child of asset 6.
func nodes(t *testing.T, d *db.DB, n int) {
	t.Helper()
	run := func(query string) {
		if _, err := d.Exec(context.Background(), query); err != nil {
			t.Fatal(err)
		}
	}
	run(`CREATE TABLE node (id BIGINT PRIMARY KEY, type INT NOT NULL, state INT NOT NULL, scope_id BIGINT, parent_id BIGINT, name VARCHAR(100) NOT NULL, KEY node_parent (parent_id), KEY node_type (type, id, state, scope_id))`)
	t.Cleanup(func() { run(`DROP TABLE node`) })
	run(`INSERT INTO node VALUES (1, 4, 0, 0, NULL, ''), (2, 4, 0, 0, NULL, ''), (3, 4, 0, 0, NULL, ''), (4, 4, 0, 0, 1, ''), (5, 4, 0, 0, 1, ''), (6, 5, 0, 0, NULL, ''), (7, 5, 0, 0, 6, '')`)
	for from := 8; from <= n; from += 1000 {
		var rows []string
		for id := from; id < from+1000 && id <= n; id++ {
			rows = append(rows, fmt.Sprintf("(%d, %d, 0, 0, NULL, '%s')", id, id%7, strings.Repeat("long ", 10)))
		}
		run("INSERT INTO node VALUES " + strings.Join(rows, ", "))
	}
	run("ANALYZE TABLE node")
}

// TestConditionsInDerivedTables checks that alds avoids a defect of MySQL 9.7.4, which moves a
// condition on a derived table into this table. If the statement is prepared and the derived table
// is in a WITH, rows are missing. The same statement sent as text finds these rows.
func TestConditionsInDerivedTables(t *testing.T) {
	d := testdb.MySQL(t)
	nodes(t, d, 7)
	const list = `(WITH RECURSIVE r(root, id) AS (SELECT a.id, a.id FROM node a WHERE a.id IN (1,2,3) UNION SELECT e.parent_id, e.id FROM node e WHERE e.parent_id IN (1,2,3)) SELECT root, id FROM r)`
	const found = `WITH RECURSIVE w1(id) AS (SELECT t1.id FROM ` + list + ` t0 JOIN node t1 ON t1.id = t0.id AND t1.scope_id NOT IN (?,?,?,?) WHERE t0.root IN (?,?,?,?)),` +
		` w2(root, id) AS (SELECT a.id, a.id FROM node a WHERE a.id IN (SELECT id FROM w1) UNION SELECT r.root, e.parent_id FROM w2 r JOIN node e ON e.id = r.id WHERE e.parent_id IS NOT NULL),` +
		` w5(k) AS (SELECT w1.id FROM w1 WHERE EXISTS (SELECT 1 FROM w2 t0 WHERE t0.root = w1.id))` +
		` SELECT t1.id FROM ` + list + ` t0 JOIN node t1 ON t1.id = t0.id WHERE t0.root IN (1,2,3) AND (t1.id IN (SELECT k FROM w5)) IS NOT TRUE ORDER BY t1.id`
	err := d.Read(t.Context(), func(tx *db.Tx) error {
		for range 3 {
			ids, err := db.Collect(t.Context(), tx, found, []any{10, 11, 12, 13, 1, 2, 3, 3}, func(row db.Scanner) (id int64, err error) {
				return id, row.Scan(&id)
			})
			if len(ids) > 0 || err != nil {
				t.Errorf("not in a list that has all: %d, %v", ids, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestConditionsOfJoins checks that alds avoids a defect of MySQL 9.7.4. If MySQL converts a
// sub-select in the ON of a LEFT JOIN to a join with materialized rows, it loses the conditions of
// the sub-select. A sub-select that is compared with 1 is not converted.
func TestConditionsOfJoins(t *testing.T) {
	d := testdb.MySQL(t)
	nodes(t, d, 7)
	server, err := d.Server(t.Context())
	if err != nil || d.Dialect.TestsInON != strings.HasPrefix(server, "MySQL") {
		t.Errorf("%s: sub-selects in ON are tests: %t, %v", server, d.Dialect.TestsInON, err)
	}
	const below = `SELECT /*+ SET_VAR(optimizer_switch='firstmatch=off,duplicateweedout=off,loosescan=off') */ a.id, COALESCE(b.id, 0) FROM node a LEFT JOIN node b ON b.id = a.parent_id AND (%s) = 1 WHERE a.parent_id IS NOT NULL ORDER BY a.id`
	for _, c := range []struct{ on, want string }{
		{"EXISTS (SELECT 1 FROM node c WHERE c.scope_id = b.scope_id AND c.state = 5)", "[4 0 5 0 7 0]"},
		{"EXISTS (SELECT 1 FROM node c WHERE c.scope_id = b.scope_id AND c.state = 0)", "[4 1 5 1 7 6]"},
		{"b.scope_id IN (SELECT c.scope_id FROM node c WHERE c.state = 5)", "[4 0 5 0 7 0]"},
		{"NOT EXISTS (SELECT 1 FROM node c WHERE c.scope_id = b.scope_id AND c.state = 5)", "[4 1 5 1 7 6]"},
	} {
		err := d.Read(t.Context(), func(tx *db.Tx) error {
			rows, err := texts(t, tx, fmt.Sprintf(below, c.on))
			if got := fmt.Sprint(rows); err == nil && got != c.want {
				t.Errorf("%s: %s, want %s", c.on, got, c.want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlansAreKept checks that alds avoids a defect of MariaDB 10.11. A prepared statement that
// joins a table with itself first read only an index. After another statement of this kind had run
// on the connection, the first statement read the rows, or the whole table.
func TestPlansAreKept(t *testing.T) {
	d := testdb.MySQL(t)
	nodes(t, d, 20_000)
	const count = `EXPLAIN SELECT (SELECT COUNT(*) FROM node t0 WHERE t0.type = 4 AND t0.state < 255), t0.name FROM node t0 WHERE t0.id = ?`
	const other = `SELECT t0.name FROM (SELECT id FROM node t0 WHERE t0.type = 4 AND t0.state < ? ORDER BY t0.id LIMIT 1) p JOIN node t0 ON t0.id = p.id`
	err := d.Read(t.Context(), func(tx *db.Tx) error {
		for n := range 4 {
			plan, err := texts(t, tx, count, 5)
			if err != nil {
				return err // Read may begin again
			}
			if !slices.ContainsFunc(plan, func(row string) bool {
				return strings.Contains(row, "node_type") && (strings.HasSuffix(row, "Using index") || strings.Contains(row, "Covering index"))
			}) {
				t.Errorf("time %d: all of a type are not counted by their key:\n%s", n+1, strings.Join(plan, "\n"))
			}
			if n > 0 {
				if _, err := texts(t, tx, other, 255); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// texts returns the rows of a query, each as one text.
func texts(t *testing.T, tx *db.Tx, query string, args ...any) (all []string, err error) {
	t.Helper()
	rows, err := tx.Query(t.Context(), query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row := make([]*string, len(columns))
		to := make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		var text []string
		for _, v := range row {
			if v != nil {
				text = append(text, *v)
			}
		}
		all = append(all, strings.Join(text, " "))
	}
	return all, rows.Err()
}
