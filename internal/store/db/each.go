package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Scanner is one row; Scan copies its columns.
type Scanner interface {
	Scan(dest ...any) error
}

// Each runs a reading statement and calls fn for each row. fn must not run a statement of the same
// transaction. Errors: the error of fn, which also ends the reading.
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
			return sqlerror.Fault(err)
		}
	}
	return sqlerror.Fault(rows.Err())
}

// Collect runs a reading statement and returns the results of scan for all rows; nil for no
// rows.
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

// maxRemoved is the maximum number of bytes that one transaction removes when old rows are pruned.
// A larger row is removed alone. Servers of a cluster send removed rows to each other, with a limit
// per transaction.
const maxRemoved = 32 << 20

// Removable runs a statement that returns ids and their sizes in bytes. It returns the first ids,
// as many as one transaction may remove. more is true if the statement returns further ids.
func Removable(ctx context.Context, q Querier, query string, args ...any) (ids []string, more bool, err error) {
	left := int64(maxRemoved)
	err = Each(ctx, q, query, args, func(row Scanner) error {
		var id string
		var size int64
		if err := row.Scan(&id, &size); err != nil {
			return err
		}
		if left -= size; left < 0 && len(ids) > 0 {
			more = true
			return errEnough
		}
		ids = append(ids, id)
		return nil
	})
	if more {
		err = nil
	}
	return ids, more, err
}

// errEnough stops reading when enough rows were read.
var errEnough = errors.New("enough was read")

// Column runs a reading statement of one column and returns its values.
func Column[T any](ctx context.Context, q Querier, query string, args ...any) ([]T, error) {
	return Collect(ctx, q, query, args, func(row Scanner) (v T, err error) {
		err = row.Scan(&v)
		return v, err
	})
}
