package tables

import (
	"context"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/store/db"
)

// Key is an index of a table.
type Key struct {
	Name    string // the constant primary for the primary key
	Columns []string
	Unique  bool
	SQL     string // the statement that created it; SQLite only
}

// primary is the name of primary keys.
const primary = "PRIMARY"

// constraints has the names of keys that a constraint has created. SQLite gives such a key no name.
// The map is by table name.
var constraints = map[string]string{"webhook_delivery": "webhook_delivery_once", "blob_content": "blob_hash"}

// Equal reports whether two keys have the same name, the same columns and the same value of Unique.
func (k Key) Equal(o Key) bool {
	return k.Name == o.Name && k.Unique == o.Unique && slices.Equal(k.Columns, o.Columns)
}

// Make returns the statements that create the key k in a table. have lists the keys that the table
// has. If one of them has the same name, the statements also drop it.
func (k Key) Make(d *db.Dialect, table string, have []Key) []string {
	i := slices.IndexFunc(have, func(h Key) bool { return h.Name == k.Name })
	if !isServer(d) {
		if i >= 0 {
			return []string{"DROP INDEX " + d.Quote(k.Name), k.SQL}
		}
		return []string{k.SQL}
	}
	add := "ADD KEY " + d.Quote(k.Name)
	switch {
	case k.Name == primary:
		add = "ADD PRIMARY KEY"
	case k.Unique:
		add = "ADD UNIQUE KEY " + d.Quote(k.Name)
	}
	add = "ALTER TABLE " + d.Quote(table) + " " + add + " (" + list(d, k.Columns) + ")"
	if i >= 0 {
		add += ", DROP KEY " + d.Quote(k.Name)
	}
	return []string{add}
}

const mysqlKeys = `SELECT table_name, index_name, 1 - non_unique, COALESCE(column_name, ''), '', seq_in_index FROM information_schema.statistics
 WHERE table_schema = DATABASE() AND table_name <> 'migration_lock' ORDER BY table_name, index_name, seq_in_index`

const sqliteKeys = `SELECT t.name, i.name, i."unique", c.name, COALESCE(s.sql, ''), c.seqno FROM sqlite_master t
  JOIN pragma_index_list(t.name) i JOIN pragma_index_info(i.name) c
  LEFT JOIN sqlite_master s ON s.type = 'index' AND s.name = i.name
 WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND i.origin <> 'pk'
 UNION ALL SELECT t.name, '` + primary + `', 1, c.name, '', c.pk FROM sqlite_master t JOIN pragma_table_info(t.name) c
 WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND c.pk > 0 ORDER BY 1, 2, 6`

// Keys returns the keys of all tables, by table name.
func Keys(ctx context.Context, q db.Querier, d *db.Dialect) (map[string][]Key, error) {
	query := sqliteKeys
	if isServer(d) {
		query = mysqlKeys
	}
	keys := map[string][]Key{}
	err := db.Each(ctx, q, query, nil, func(row db.Scanner) error {
		var table, column string
		var k Key
		var place int
		if err := row.Scan(&table, &k.Name, &k.Unique, &column, &k.SQL, &place); err != nil {
			return err
		}
		if strings.HasPrefix(k.Name, "sqlite_") {
			k.Name = constraints[table]
		}
		all := keys[table]
		if n := len(all); n == 0 || all[n-1].Name != k.Name {
			all = append(all, k)
		}
		last := &all[len(all)-1]
		last.Columns = append(last.Columns, column)
		keys[table] = all
		return nil
	})
	return keys, err
}
