package db

import (
	"context"
	"strings"
)

// maxArgs bounds the placeholders of one statement: SQLite's limit is 32,766,
// MySQL's 65,535.
const maxArgs = 32000

// maxBytes bounds the values of one statement: MariaDB takes packets of 16 MiB
// by default.
const maxBytes = 4 << 20

// Execer runs a statement: a *Tx or a *DB.
type Execer interface {
	Exec(ctx context.Context, query string, args ...any) (Result, error)
	dialect() *Dialect
}

// Insert writes rows into table with prepared multi-row INSERT statements. Each
// row holds one value per column. The rows are split into a few fixed chunk
// sizes, so that few statement shapes exist.
// Errors: fault.Conflict on a duplicate key; rows of earlier chunks are written
// by then, so call it within a transaction.
func Insert(ctx context.Context, tx Execer, table string, columns []string, rows [][]any) error {
	return InsertN(ctx, tx, table, columns, len(rows), func(i int) []any { return rows[i] })
}

// InsertN is Insert with the rows made by row(0) to row(n-1); each result is
// used up before the next call, so one slice may serve all.
func InsertN(ctx context.Context, tx Execer, table string, columns []string, n int, row func(i int) []any) error {
	d := tx.dialect()
	var args []any
	for i := 0; i < n; {
		size := chunk(n-i, d.InsertRows, len(columns))
		if cap(args) < size*len(columns) {
			args = make([]any, 0, size*len(columns))
		}
		args = args[:0]
		for range size {
			args = append(args, row(i)...)
			i++
		}
		if err := insertAll(ctx, tx, table, columns, args); err != nil {
			return err
		}
	}
	return nil
}

// insertAll writes the rows in args with one statement, or where they have more
// bytes than a server takes at once, half by half.
func insertAll(ctx context.Context, tx Execer, table string, columns []string, args []any) error {
	rows := len(args) / len(columns)
	if rows > 1 && weigh(args) > maxBytes {
		half := rows / 2 * len(columns)
		if err := insertAll(ctx, tx, table, columns, args[:half]); err != nil {
			return err
		}
		return insertAll(ctx, tx, table, columns, args[half:])
	}
	_, err := tx.Exec(ctx, tx.dialect().insertSQL(table, columns, rows), args...)
	return err
}

// weigh returns about how many bytes the arguments have.
func weigh(args []any) int {
	n := 0
	for _, a := range args {
		switch v := a.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		case *string:
			if v != nil {
				n += len(*v)
			}
		default:
			n += 8
		}
	}
	return n
}

// chunk returns how many of the n rows left go into the next statement.
func chunk(n, most, columns int) int {
	most = max(1, min(most, maxArgs/max(columns, 1)))
	for size := most; size > 1; size /= 5 {
		if n >= size {
			return size
		}
	}
	return 1
}

func (d *Dialect) insertSQL(table string, columns []string, rows int) string {
	one := "(" + strings.Repeat("?,", len(columns)-1) + "?)"
	var b strings.Builder
	b.Grow(64 + 16*len(columns) + rows*(len(one)+1))
	b.WriteString("INSERT INTO " + d.Quote(table) + " (" + d.list(columns) + ") VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(one)
	}
	return b.String()
}
