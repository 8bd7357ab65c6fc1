package sql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
)

// Runner is the connection for a migration that is a Go program. Nothing else uses the connection
// while the program runs.
type Runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// programs returns the migrations that are Go programs, because SQL cannot express them.
func programs(dialect string) []Migration {
	return []Migration{
		program(65, "folded_texts", folder{inTx: dialect == "mysql"}.run),
		program(101, "blob_rows", mover{folder{inTx: dialect == "mysql"}, dialect}.run),
		program(118, "keys_of_some", keyMaker{partial: dialect == "sqlite"}.run),
		program(164, "asset_column_order", columnOrder{ordered: dialect == "sqlite"}.run),
	}
}

// program returns a migration without a file. Its checksum is the checksum of its number and name.
func program(version int, name string, run func(context.Context, Runner) error) Migration {
	sum := sha256.Sum256(fmt.Appendf(nil, "%04d_%s", version, name))
	return Migration{Version: version, Name: name, Checksum: hex.EncodeToString(sum[:]), Run: run}
}

// batch is the maximum number of rows in a batch. A batch also ends when its folded forms have
// batchBytes bytes in total.
const (
	batch      = 500
	batchBytes = 4 << 20
)

// folder stores the folded forms of texts, because older releases have stored the texts without
// them. It writes each batch in one transaction, and may run again from the start.
type folder struct {
	inTx bool // true: each batch is a transaction; false: the whole migration is one transaction
}

func (f folder) run(ctx context.Context, r Runner) error {
	for _, step := range []func(context.Context, Runner) error{f.assets, f.versions, f.comments, f.values, f.logins} {
		if err := step(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (f folder) assets(ctx context.Context, r Runner) error {
	return f.fill(ctx, r, table{
		read:  "SELECT id, 0, name, number, description, attrs FROM asset WHERE id > ? ORDER BY id LIMIT ?",
		write: "UPDATE asset SET folded = ? WHERE id = ?",
		scan:  scanAsset,
	})
}

func (f folder) versions(ctx context.Context, r Runner) error {
	return f.fill(ctx, r, table{
		read: "SELECT id, moment, name, number, description, attrs FROM asset_version" +
			" WHERE id >= ? AND (id > ? OR moment > ?) ORDER BY id, moment LIMIT ?",
		write: "UPDATE asset_version SET folded = ? WHERE id = ? AND moment = ?",
		pairs: true,
		scan:  scanAsset,
	})
}

func (f folder) comments(ctx context.Context, r Runner) error {
	return f.fill(ctx, r, table{
		read:  "SELECT id, 0, comment FROM audit WHERE id > ? AND comment IS NOT NULL ORDER BY id LIMIT ?",
		write: "UPDATE audit SET folded = ? WHERE id = ?",
		scan:  scanComment,
	})
}

// table describes a table whose rows get their folded forms.
type table struct {
	read  string // SELECT that returns the next rows after a key, in the order of the keys
	write string
	pairs bool // true: the key of a row is id and moment; false: only id
	scan  func(*sql.Rows) (row, error)
}

// row has the key of a row, and the folded form to be stored in the row. An empty folded form is
// not stored.
type row struct {
	id, moment int64
	folded     string
}

func (t table) reading(at row) []any {
	if t.pairs {
		return []any{at.id, at.id, at.moment, batch}
	}
	return []any{at.id, batch}
}

func (t table) writing(w row) []any {
	if t.pairs {
		return []any{w.folded, w.id, w.moment}
	}
	return []any{w.folded, w.id}
}

// fill stores the folded forms of all rows of a table.
func (f folder) fill(ctx context.Context, r Runner, t table) error {
	for last, done := (row{id: -1 << 62}), false; !done; {
		var all []row
		var err error
		if all, last, done, err = t.next(ctx, r, last); err == nil {
			err = f.together(ctx, r, len(all), func(i int) error {
				_, err := r.ExecContext(ctx, t.write, t.writing(all[i])...)
				return err
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next reads a batch of rows. The parameter from is the last row of the batch before it. next
// returns the rows that need a folded form, the last row of the batch, and whether this is the last
// batch.
func (t table) next(ctx context.Context, r Runner, from row) (all []row, last row, done bool, err error) {
	rows, err := r.QueryContext(ctx, t.read, t.reading(from)...)
	if err != nil {
		return nil, from, false, err
	}
	defer func() { _ = rows.Close() }()
	read, bytes := 0, 0
	for last = from; bytes < batchBytes && rows.Next(); read++ {
		if last, err = t.scan(rows); err != nil {
			return nil, last, false, err
		}
		if last.folded != "" {
			all = append(all, last)
			bytes += len(last.folded)
		}
	}
	return all, last, read < batch && bytes < batchBytes, rows.Err()
}

// together calls write for each i from 0 to n-1. If f.inTx is true, all calls are in one
// transaction.
func (f folder) together(ctx context.Context, r Runner, n int, write func(i int) error) (err error) {
	if n == 0 {
		return nil
	}
	if f.inTx {
		if _, err := r.ExecContext(ctx, "START TRANSACTION"); err != nil {
			return err
		}
		defer func() {
			end := "COMMIT"
			if err != nil {
				end = "ROLLBACK"
			}
			_, ended := r.ExecContext(context.WithoutCancel(ctx), end)
			err = errors.Join(err, ended)
		}()
	}
	for i := range n {
		if err := write(i); err != nil {
			return err
		}
	}
	return nil
}
