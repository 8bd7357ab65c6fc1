package sql

import (
	"context"
	"fmt"
	"strings"
)

// columnOrder copies the table asset into a table with the same columns in another order: the long
// texts come last. SQLite stores a long row in a chain of pages. To read a column, it reads all pages
// before that column. When scope_id came after description, a long description made every read of
// scope_id slow.
type columnOrder struct {
	ordered bool // true if the order matters to the database; otherwise run does nothing
}

// smallColumns returns the columns of the table asset that have short values, with their types.
func smallColumns() []string {
	all := []string{
		"id INTEGER PRIMARY KEY", "type INTEGER NOT NULL", "state INTEGER NOT NULL", "moment INTEGER NOT NULL",
		"audit_id INTEGER NOT NULL", "created_moment INTEGER NOT NULL", "created_at INTEGER NOT NULL", "created_by INTEGER NOT NULL",
		"changed_at INTEGER NOT NULL", "changed_by INTEGER NOT NULL", "scope_id INTEGER", "parent_id INTEGER", "super_id INTEGER",
		"timebox_id INTEGER", "team_id INTEGER", "status_id INTEGER", "priority_id INTEGER", "source_id INTEGER", "category_id INTEGER",
		"order_key INTEGER", "estimate REAL", "todo REAL", "detail_estimate REAL", "value REAL", "begin_date INTEGER", "end_date INTEGER",
		"lock_count INTEGER NOT NULL DEFAULT 0", "number TEXT COLLATE ALDS", "name TEXT COLLATE ALDS",
		"description_hash BLOB", "attrs_hash BLOB", "folded_hash BLOB",
	}
	for _, kind := range []string{"number_%d REAL", "date_%d INTEGER", "text_%d TEXT COLLATE ALDS"} {
		for n := range 8 {
			all = append(all, "custom_"+fmt.Sprintf(kind, n+1))
		}
	}
	return all
}

// longColumns are the columns of the table asset that may have long texts, with their types.
var longColumns = []string{"attrs TEXT", "folded TEXT", "description TEXT COLLATE ALDS"}

// run copies the table in the transaction of the migration.
func (c columnOrder) run(ctx context.Context, r Runner) error {
	if !c.ordered {
		return nil
	}
	indexes, err := statementsOf(ctx, r, "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'asset' AND sql IS NOT NULL")
	if err != nil {
		return err
	}
	columns := append(smallColumns(), longColumns...)
	names := make([]string, len(columns))
	for i, column := range columns {
		name, kind, _ := strings.Cut(column, " ")
		names[i], columns[i] = `"`+name+`"`, `"`+name+`" `+kind
	}
	all := strings.Join(names, ", ")
	for _, statement := range append([]string{
		`CREATE TABLE "asset_ordered" (` + strings.Join(columns, ", ") + `)`,
		`INSERT INTO "asset_ordered" (` + all + `) SELECT ` + all + ` FROM "asset" ORDER BY "id"`,
		`DROP TABLE "asset"`,
		`ALTER TABLE "asset_ordered" RENAME TO "asset"`,
	}, indexes...) {
		if _, err := r.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// statementsOf returns the only column of the rows of a query.
func statementsOf(ctx context.Context, r Runner, query string) (all []string, err error) {
	rows, err := r.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}
