package check

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/migrate"
	"github.com/alds-dev/alds/internal/store/tables"
)

// refilled are the tables whose rows can be computed from other rows or are temporary. If such a
// table is missing, a repair creates it. Later rules fill it.
var refilled = []string{
	"scope_closure", "scope_hidden", "moment_stamp", "tree_lock", "write_lock", "member_write",
	"process", "session", "system_check",
}

// tables reports missing tables and columns. The migrations of this build determine which tables
// and columns must exist.
func (c *checker) tables(ctx context.Context) error {
	have, err := tables.All(ctx, c.tx, c.tx.Dialect())
	if err != nil {
		return err
	}
	want, err := expected(ctx)
	if err != nil {
		return err
	}
	for _, t := range want.tables {
		i := slices.IndexFunc(have, func(h tables.Table) bool { return h.Name == t.Name })
		if i >= 0 {
			err = c.columnsOf(t, have[i])
		} else {
			err = c.missing(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missing reports a missing table, with a statement that creates it if its rows can be computed.
func (c *checker) missing(t tables.Table) error {
	if slices.Contains(refilled, t.Name) {
		statement, err := migrate.MakeTable(c.tx.Dialect().Name, t.Name)
		if err != nil {
			return err
		}
		c.mends = append(c.mends, Statement{SQL: statement, Alters: true})
		if slices.Contains(t.Names(), db.LockCount) && !strings.Contains(statement, db.LockCount) {
			c.mendLockCount(t.Name)
		}
	}
	return c.report(t.Name, 0, "the table is missing")
}

// mendLockCount adds a statement that adds the column for counting locks to a table. The statement
// that creates a table may lack this column, because a later migration adds the column. Any value
// in the column is valid.
func (c *checker) mendLockCount(table string) {
	const column = " ADD COLUMN " + db.LockCount + " BIGINT NOT NULL DEFAULT 0"
	c.mends = append(c.mends, Statement{SQL: "ALTER TABLE " + c.tx.Dialect().Quote(table) + column, Alters: true})
}

// columnsOf reports the columns that are in the table want, but not in the table have.
func (c *checker) columnsOf(want, have tables.Table) error {
	for _, column := range want.Names() {
		if !slices.Contains(have.Names(), column) {
			if column == db.LockCount && want.Name != "write_lock" {
				c.mendLockCount(want.Name)
			}
			if err := c.report(want.Name, 0, "the column %s is missing", column); err != nil {
				return err
			}
		}
	}
	return nil
}

// keys reports missing keys (indexes). The migrations of this build determine which keys must
// exist. The database may have more keys. If a newer release has migrated the database, keys checks
// nothing, because that release may have removed keys.
func (c *checker) keys(ctx context.Context) error {
	if newer, err := c.isNewer(ctx); err != nil || newer {
		return err
	}
	have, err := tables.Keys(ctx, c.tx, c.tx.Dialect())
	if err != nil {
		return err
	}
	want, err := expected(ctx)
	if err != nil {
		return err
	}
	for _, t := range want.tables {
		for _, key := range want.keys[t.Name] {
			if slices.ContainsFunc(have[t.Name], key.Equal) {
				continue
			}
			for _, statement := range key.Make(c.tx.Dialect(), t.Name, have[t.Name]) {
				c.mends = append(c.mends, Statement{SQL: statement, Alters: true})
			}
			err := c.report(t.Name, 0, "the key %s of (%s) is missing", key.Name, strings.Join(key.Columns, ", "))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// isNewer reports whether a newer release has migrated the database.
func (c *checker) isNewer(ctx context.Context) (bool, error) {
	mine, err := migrate.Newest(c.tx.Dialect().Name)
	if err != nil {
		return false, err
	}
	var last sql.NullInt64
	err = c.each(ctx, func(scan row) error { return scan(&last) }, `SELECT MAX(version) FROM schema_migration`)
	return last.Int64 > int64(mine), err
}

// built is the schema that the migrations of this build create.
type built struct {
	tables []tables.Table
	keys   map[string][]tables.Key // by table
	rows   [][][]string            // the rows of each table of migratedRows, as values of its columns
}

// migratedRows are the tables into which migrations insert rows that the service needs. The first
// column of each table is its key.
var migratedRows = []struct {
	table   string
	columns []string
}{
	{"tree_lock", []string{"name"}},
	{"system_check", []string{"id", "state"}},
	{"sequence", []string{"name", "value", "stamped_at"}},
}

// known stores the result of expected, which is the same for all checks of a process.
var known struct {
	sync.Mutex
	*built // nil: not computed yet
}

// expected returns the schema that the migrations of this build create.
func expected(ctx context.Context) (*built, error) {
	known.Lock()
	defer known.Unlock()
	if known.built != nil {
		return known.built, nil
	}
	var b built
	err := db.Built(ctx, func(q db.Querier, d *db.Dialect) (err error) {
		if b.tables, err = tables.All(ctx, q, d); err != nil {
			return err
		}
		if b.keys, err = tables.Keys(ctx, q, d); err != nil {
			return err
		}
		for _, t := range migratedRows {
			query := `SELECT ` + strings.Join(t.columns, ", ") + ` FROM ` + t.table + ` ORDER BY 1`
			rows, err := db.Collect(ctx, q, query, nil, func(r db.Scanner) ([]string, error) {
				values, into := make([]string, len(t.columns)), make([]any, len(t.columns))
				for i := range values {
					into[i] = &values[i]
				}
				return values, r.Scan(into...)
			})
			if err != nil {
				return err
			}
			b.rows = append(b.rows, rows)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	known.built = &b
	return &b, nil
}

// counting has the names of sequences whose values can be computed from other rows. The check
// "sequences" reports and fixes these sequences.
var counting = []string{"id", "audit", "moment", "webhook", "feed"}

// given has the keys of rows that cannot be computed from other rows. These are the sequences of
// codes, because deleted attributes may have used codes, and the rows that record how far history
// was removed.
var given = []string{"custom type", "custom relation", "horizon", "horizon feed", "pruned"}

// migrated reports missing rows that migrations insert and the service needs.
func (c *checker) migrated(ctx context.Context) error {
	want, err := expected(ctx)
	if err != nil {
		return err
	}
	for i, t := range migratedRows {
		have := map[string]bool{}
		err := c.each(ctx, func(scan row) error {
			var key string
			err := scan(&key)
			have[key] = true
			return err
		}, `SELECT `+t.columns[0]+` FROM `+t.table)
		if err != nil {
			return err
		}
		for _, values := range want.rows[i] {
			key := values[0]
			if have[key] || slices.Contains(counting, key) {
				continue
			}
			if !slices.Contains(given, key) {
				args := make([]any, len(values))
				for i, v := range values {
					args[i] = v
				}
				c.mend(`INSERT INTO `+t.table+` (`+strings.Join(t.columns, ", ")+`)`+
					` VALUES (?`+strings.Repeat(", ?", len(args)-1)+`)`, args...)
			}
			if err := c.report(t.table, 0, "the row %q is missing", key); err != nil {
				return err
			}
		}
	}
	return nil
}
