package dump

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/alds-dev/alds/internal/store/db"
)

// end is the last line.
type end struct {
	Rows *int64 `json:"rows"`
}

// Bounds of the rows that are written in one transaction. Units: rows, bytes of lines.
const (
	batchRows  = 2_000
	batchBytes = 4 << 20
)

// ErrUnfinished says that a restore into the database has not ended: it has a part of
// the data.
var ErrUnfinished = errors.New("a restore into this database has not ended, so it has only a part of the data: make it anew, empty, and restore again")

// Finished returns ErrUnfinished while a restore into a database has not ended.
func Finished(ctx context.Context, q db.Querier) error {
	n, err := count(ctx, q, unfinished)
	if err == nil && n > 0 {
		err = ErrUnfinished
	}
	return err
}

func count(ctx context.Context, q db.Querier, table string) (n int64, err error) {
	err = q.QueryRow(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" LIMIT 1) t").Scan(&n) //nolint:gosec // a constant
	return n, err
}

// Read reads what Write has written into a database whose schema is current and that has
// no assets, in transactions of some thousand rows. Until it has ended, Finished says so.
// It returns how many rows there are.
// Errors: ErrUnfinished; a database that has assets; lines of another schema, or that are
// not what Write writes, or are cut off; those of writing.
func Read(ctx context.Context, d *db.DB, r io.Reader, at Progress) (rows int64, err error) {
	in := &reader{d: d, in: bufio.NewReaderSize(r, 1<<20), at: at}
	if err := in.begin(ctx); err != nil {
		return 0, err
	}
	for {
		text, err := in.next()
		if err != nil {
			return 0, err
		}
		if ended, err := in.take(ctx, text); err != nil || ended {
			if err != nil {
				return 0, fmt.Errorf("line %d: %w", in.lines, err)
			}
			return in.rows, nil
		}
	}
}

// reader is one run of Read.
type reader struct {
	d      *db.DB
	in     *bufio.Reader
	at     Progress
	lines  int64
	rows   int64
	tables map[string]db.Table

	table   db.Table // whose rows come
	ofTable int64
	batch   [][]any
	bytes   int // of the lines in batch
}

// next returns the next line.
func (r *reader) next() ([]byte, error) {
	text, err := r.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the export is cut off after line %d", r.lines)
	}
	r.lines++
	return text, err
}

// begin reads the header and prepares the database.
func (r *reader) begin(ctx context.Context) error {
	text, err := r.next()
	if err != nil {
		return err
	}
	var h header
	if json.Unmarshal(text, &h) != nil || h.ALDS != "export" {
		return errors.New("the first line is not that of an export of alds")
	}
	_, schema, err := r.d.Schema(ctx)
	switch {
	case err != nil:
		return err
	case h.Form != form || h.Schema != schema:
		return fmt.Errorf("the export is of release %s with schema %d, and this release has schema %d: restore it with that release, and migrate then", h.Release, h.Schema, schema)
	}
	return r.d.Write(ctx, func(tx *db.Tx) error { return r.prepare(ctx, tx) })
}

// prepare empties the tables of what migrations put there, in a database without assets,
// and notes that a restore has begun.
func (r *reader) prepare(ctx context.Context, tx *db.Tx) error {
	if err := Finished(ctx, tx); err != nil {
		return err
	}
	switch n, err := count(ctx, tx, "asset"); {
	case err != nil:
		return err
	case n > 0:
		return errors.New("the database is not empty: restore into a new one")
	}
	all, err := dataTables(ctx, tx, r.d.Dialect)
	if err != nil {
		return err
	}
	r.tables = map[string]db.Table{}
	for _, t := range all {
		r.tables[t.Name] = t
		if _, err := tx.Exec(ctx, "DELETE FROM "+r.d.Dialect.Quote(t.Name)); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, "INSERT INTO "+unfinished+" (id, began_at) VALUES (1, "+r.d.Dialect.NowMicros+")")
	return err
}

// take takes a line after the header and reports whether it was the last.
func (r *reader) take(ctx context.Context, text []byte) (ended bool, err error) {
	var l struct {
		Table string `json:"table"`
		end
	}
	var row map[string]json.RawMessage
	if err := json.Unmarshal(text, &row); err != nil {
		return false, err
	}
	if len(row) != 1 || row["table"] == nil && row["rows"] == nil {
		return false, r.takeRow(ctx, row, len(text))
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return false, err
	}
	if err := r.endTable(ctx); err != nil {
		return false, err
	}
	if l.Rows != nil {
		if *l.Rows != r.rows {
			return false, fmt.Errorf("there were %d rows, and the export has %d", r.rows, *l.Rows)
		}
		return true, r.d.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM "+unfinished)
			return err
		})
	}
	var known bool
	if r.table, known = r.tables[l.Table]; !known {
		return false, fmt.Errorf("there is no table %s", l.Table)
	}
	return false, nil
}

func (r *reader) takeRow(ctx context.Context, row map[string]json.RawMessage, size int) error {
	values := make([]any, len(r.table.Columns))
	found := 0
	for i, c := range r.table.Columns {
		text, ok := row[c.Name]
		if !ok {
			continue
		}
		found++
		var err error
		if values[i], err = parse(c.Kind, text); err != nil {
			return fmt.Errorf("%s.%s: %w", r.table.Name, c.Name, err)
		}
	}
	if found != len(row) {
		return fmt.Errorf("a row has a column that table %s has not", r.table.Name)
	}
	r.rows++
	r.ofTable++
	r.batch = append(r.batch, values)
	if r.bytes += size; len(r.batch) < batchRows && r.bytes < batchBytes {
		return nil
	}
	return r.flush(ctx)
}

// parse returns what a column takes.
func parse(kind db.Kind, text json.RawMessage) (any, error) {
	switch kind {
	case db.Integer:
		var n int64
		err := json.Unmarshal(text, &n)
		return n, err
	case db.Float:
		var f float64
		err := json.Unmarshal(text, &f)
		return f, err
	case db.JSON:
		return string(text), nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil || kind == db.Text {
		return s, err
	}
	return base64.StdEncoding.DecodeString(s)
}

// flush writes the rows that have been taken.
func (r *reader) flush(ctx context.Context) error {
	err := r.d.Write(ctx, func(tx *db.Tx) error {
		return db.Insert(ctx, tx, r.table.Name, r.table.Names(), r.batch)
	})
	if r.ofTable%every < int64(len(r.batch)) {
		r.at(r.table.Name, r.ofTable)
	}
	r.batch, r.bytes = r.batch[:0], 0
	return err
}

// endTable writes what is left of a table.
func (r *reader) endTable(ctx context.Context) error {
	if len(r.batch) > 0 {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	if r.table.Name != "" {
		r.at(r.table.Name, r.ofTable)
	}
	r.table, r.ofTable = db.Table{}, 0
	return nil
}
