package tables

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/store/db"
)

// Kind is the type of the values of a column.
type Kind int

// The kinds of columns.
const (
	Text Kind = iota
	Integer
	Float
	Bytes
	JSON
)

// Column is a column of a table.
type Column struct {
	Name   string
	Kind   Kind
	folded bool // true if the column does not sort by bytes
	key    int  // its place in the primary key, from 1; 0 if it is not in the key
}

// String returns the column in the form that tests print.
func (c Column) String() string {
	kinds := [...]string{"text", "integer", "float", "bytes", "json"}
	return fmt.Sprintf("%s:%s:%d", c.Name, kinds[c.Kind], c.key)
}

// Table is a table and its columns: those of the primary key in key order, then the others by
// name. A release has the same tables on every database.
type Table struct {
	Name    string
	Columns []Column
}

// Names returns the names of the columns.
func (t Table) Names() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// SelectAll returns a statement that reads all rows of a table, with its columns in order,
// sorted by primary key. It sorts texts by their bytes, so that every database returns the
// rows in the same order.
func (t Table) SelectAll(d *db.Dialect) string {
	var by []string
	for _, c := range t.Columns {
		if c.key == 0 {
			continue
		}
		name := d.Quote(c.Name)
		if c.folded {
			prefix, suffix := d.Bytes()
			name = prefix + name + suffix
		}
		by = append(by, name)
	}
	return "SELECT " + list(d, t.Names()) + " FROM " + d.Quote(t.Name) + " ORDER BY " + strings.Join(by, ", ")
}

// Key returns how many columns the primary key has. They are the first columns of the table. byKey
// is true if the primary key sorts the rows as SelectAll does. Then SelectPart can read the rows in
// that order.
func (t Table) Key() (columns int, byKey bool) {
	byKey = true
	for _, c := range t.Columns {
		if c.key > 0 {
			columns, byKey = columns+1, byKey && !c.folded
		}
	}
	return columns, byKey
}

// SelectPart returns a statement that reads rows after a given row, in the order of the primary
// key. In these rows, the first columns of the key have the same values as in the given row; equal
// is the number of these columns. The next column of the key has a greater value than in the given
// row. The arguments are the values of the given row in these equal+1 columns, and then the maximum
// number of rows. If equal is -1, the statement reads the first rows of the table, and the only
// argument is the maximum number of rows.
func (t Table) SelectPart(d *db.Dialect, equal int) string {
	n, _ := t.Key()
	names := t.Names()
	var where []string
	for i := range equal + 1 {
		sign := " = ?"
		if i == equal {
			sign = " > ?"
		}
		where = append(where, d.Quote(names[i])+sign)
	}
	text := "SELECT " + list(d, names) + " FROM " + d.Quote(t.Name)
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return text + " ORDER BY " + list(d, names[:n]) + " LIMIT ?"
}

// documents are the columns of JSON documents, which MySQL normalizes.
var documents = []string{"asset.attrs", "asset.folded", "asset_version.attrs", "asset_version.folded"}

const mysqlColumns = `SELECT c.table_name, c.column_name, c.data_type, COALESCE(c.collation_name, ''), COALESCE(s.seq_in_index, 0)
  FROM information_schema.columns c
  LEFT JOIN information_schema.statistics s ON s.table_schema = c.table_schema AND s.table_name = c.table_name
   AND s.column_name = c.column_name AND s.index_name = 'PRIMARY'
 WHERE c.table_schema = DATABASE() AND c.table_name <> 'migration_lock'`

const sqliteColumns = `SELECT t.name, c.name, c.type, '', c.pk FROM sqlite_master t, pragma_table_info(t.name) c
 WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'`

// All returns the tables of the database, by name, without the table of the migration
// lease, which only a server has.
func All(ctx context.Context, q db.Querier, d *db.Dialect) ([]Table, error) {
	query := sqliteColumns
	if isServer(d) {
		query = mysqlColumns
	}
	columns := map[string][]Column{}
	err := db.Each(ctx, q, query, nil, func(row db.Scanner) error {
		var table, declared, collation string
		var c Column
		if err := row.Scan(&table, &c.Name, &declared, &collation, &c.key); err != nil {
			return err
		}
		c.Kind = kindOf(table+"."+c.Name, strings.ToLower(declared))
		c.folded = c.Kind == Text && (!isServer(d) || collation != "" && !strings.HasSuffix(collation, "_bin"))
		columns[table] = append(columns[table], c)
		return nil
	})
	var all []Table
	for name, of := range columns {
		slices.SortFunc(of, byKey)
		all = append(all, Table{name, of})
	}
	slices.SortFunc(all, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

func byKey(a, b Column) int {
	switch {
	case a.key > 0 && b.key > 0:
		return a.key - b.key
	case a.key > 0:
		return -1
	case b.key > 0:
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// kindOf returns the kind of a column. name is the table and the column, such as asset.attrs, and
// declared is the declared type in lower case.
func kindOf(name, declared string) Kind {
	switch {
	case strings.Contains(declared, "int"):
		return Integer
	case declared == "double" || declared == "real":
		return Float
	case strings.Contains(declared, "blob") || declared == "binary":
		return Bytes
	case slices.Contains(documents, name):
		return JSON
	}
	return Text // also VARBINARY, for text that is compared byte by byte
}

// isServer reports whether a dialect is that of MySQL and MariaDB, and not of SQLite.
func isServer(d *db.Dialect) bool { return d.Name == "mysql" }

// list returns names in the server's quotes, separated by commas.
func list(d *db.Dialect, names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = d.Quote(name)
	}
	return strings.Join(quoted, ", ")
}
