package db

import (
	"context"
	"math/bits"
	"strings"
)

// maxArgs is the maximum number of placeholders in one statement. The limit of SQLite is
// 32,766, that of MySQL 65,535.
const maxArgs = 32000

// maxBytes is the maximum size of the values of one statement. MariaDB accepts packets of 16
// MiB by default.
const maxBytes = 4 << 20

// Execer runs a statement: a *Tx or a *DB.
type Execer interface {
	Exec(ctx context.Context, query string, args ...any) (Result, error)
	dialect() *Dialect
}

// Insert writes rows into table with prepared multi-row INSERT statements. Each row has one
// value per column.
// Errors: fault.Conflict on a duplicate key. Rows of earlier chunks are written
// by then, so call Insert within a transaction.
func Insert(ctx context.Context, tx Execer, table string, columns []string, rows [][]any) error {
	return InsertN(ctx, tx, table, columns, len(rows), func(i int) []any { return rows[i] })
}

// InsertN is like Insert, but calls row(0) to row(n-1) for the rows. It copies each result before
// the next call, so row may return the same slice each time.
func InsertN(ctx context.Context, tx Execer, table string, columns []string, n int, row func(i int) []any) error {
	return insertN(ctx, tx, target{table: table, columns: columns}, n, row)
}

// UpsertN is like InsertN, but a row with the same keys may exist. Then the columns with the names
// in update get the new values. The parameter columns must contain all columns without a default,
// even if every row exists.
func UpsertN(ctx context.Context, tx Execer, table string, columns, keys, update []string, n int, row func(i int) []any) error {
	return insertN(ctx, tx, target{table, columns, tx.dialect().Upsert(keys, update)}, n, row)
}

// target is a table, its columns, and the clause after the values.
type target struct {
	table   string
	columns []string
	clause  string
}

func insertN(ctx context.Context, tx Execer, to target, n int, row func(i int) []any) error {
	d, width := tx.dialect(), len(to.columns)
	var args []any
	for i := 0; i < n; {
		size := chunk(n-i, d.InsertRows, width)
		if cap(args) < size*width {
			args = make([]any, 0, size*width)
		}
		args = args[:0]
		for range size {
			args = append(args, row(i)...)
			i++
		}
		if err := insertAll(ctx, tx, to, args); err != nil {
			return err
		}
	}
	return nil
}

// insertAll writes the rows in args with one statement. If they have more than maxBytes, it
// writes each half separately.
func insertAll(ctx context.Context, tx Execer, to target, args []any) error {
	rows := len(args) / len(to.columns)
	if rows > 1 && weigh(args) > maxBytes {
		half := rows / 2 * len(to.columns)
		if err := insertAll(ctx, tx, to, args[:half]); err != nil {
			return err
		}
		return insertAll(ctx, tx, to, args[half:])
	}
	_, err := tx.Exec(ctx, tx.dialect().insertSQL(to, rows), args...)
	return err
}

// weigh returns the approximate size of the arguments in bytes.
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

// chunk returns how many of the remaining n rows the next statement writes. This is the maximum for
// one statement. If fewer rows remain, it is a power of two. So there are few different statements,
// and few statements in total.
func chunk(n, most, columns int) int {
	most = max(1, min(most, maxArgs/max(columns, 1)))
	if n >= most {
		return most
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

func (d *Dialect) insertSQL(to target, rows int) string {
	one := "(" + strings.Repeat("?,", len(to.columns)-1) + "?)"
	var b strings.Builder
	b.Grow(64 + 16*len(to.columns) + rows*(len(one)+1) + len(to.clause))
	b.WriteString("INSERT INTO " + d.Quote(to.table) + " (" + d.list(to.columns) + ") VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(one)
	}
	b.WriteString(to.clause)
	return b.String()
}
