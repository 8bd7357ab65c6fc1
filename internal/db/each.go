package db

import (
	"context"
	"database/sql"
)

// Scanner is one row; Scan copies its columns.
type Scanner interface {
	Scan(dest ...any) error
}

// Each runs a reading statement and calls fn for each row. fn runs no statement
// of the same transaction. Errors: that of fn, which ends the reading.
func Each(ctx context.Context, q Querier, query string, args []any, fn func(Scanner) error) error {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, fn)
}

func eachRow(rows *sql.Rows, fn func(Scanner) error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return Fault(err)
		}
	}
	return Fault(rows.Err())
}

// Collect runs a reading statement and returns what scan makes of each row; nil
// for no rows.
func Collect[T any](ctx context.Context, q Querier, query string, args []any, scan func(Scanner) (T, error)) ([]T, error) {
	var all []T
	err := Each(ctx, q, query, args, func(row Scanner) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Column runs a reading statement of one column and returns its values.
func Column[T any](ctx context.Context, q Querier, query string, args ...any) ([]T, error) {
	return Collect(ctx, q, query, args, func(row Scanner) (v T, err error) {
		err = row.Scan(&v)
		return v, err
	})
}
