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
	"github.com/alds-dev/alds/internal/store/tables"
)

// end is the last line of an export.
type end struct {
	Rows *int64 `json:"rows"`
}

// A restore writes a batch of rows in one transaction when the batch reaches one of these limits.
const (
	batchRows  = 2_000
	batchBytes = 4 << 20
)

// ErrUnfinished means that a restore into the database was interrupted or is still running. Until
// it has finished, the database has only part of the data.
var ErrUnfinished = errors.New("a restore into this database has not finished, so it has only part of the data: " +
	"create the database again, empty, and restore again")

// Finished returns ErrUnfinished if a restore into the database has not finished. It also returns
// errors of the database.
func Finished(ctx context.Context, q db.Querier) error {
	n, err := count(ctx, q, unfinished)
	if err == nil && n > 0 {
		err = ErrUnfinished
	}
	return err
}

// count returns 1 if a table has rows, and 0 if it is empty.
func count(ctx context.Context, q db.Querier, table string) (n int64, err error) {
	err = q.QueryRow(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" LIMIT 1) t").Scan(&n) //nolint:gosec // a constant
	return n, err
}

// Read restores an export that Write has written. The schema of the database must be current, and
// the database must not have assets. Read writes in transactions of up to batchRows rows. Finished
// returns ErrUnfinished until Read has finished. rows is the number of restored rows.
//
// Read returns ErrUnfinished if an earlier restore has not finished. It also returns an error if
// the database has assets, or if the export is of another schema, truncated, or not in the format
// of Write. It returns errors of r and of the database.
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
	tables map[string]tables.Table // by name

	table   tables.Table // table of the current rows; its name is empty before the first table
	ofTable int64        // number of rows of table so far
	batch   [][]any      // rows that were read and not yet written
	bytes   int          // size in bytes of the lines of the rows in batch
}

// next returns the next line. It returns an error if the export ends before its last line.
func (r *reader) next() ([]byte, error) {
	text, err := r.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the export is truncated after line %d", r.lines)
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
		return errors.New("this is not an export of alds: the first line is wrong")
	}
	_, schema, err := r.d.Schema(ctx)
	switch {
	case err != nil:
		return err
	case h.Form != form || h.Schema != schema:
		return fmt.Errorf("the export is of release %s with schema %d, but this release has schema %d: "+
			"restore the export with release %[1]s, then run `migrate` of this release", h.Release, h.Schema, schema)
	}
	return r.d.Write(ctx, func(tx *db.Tx) error { return r.prepare(ctx, tx) })
}

// prepare deletes the rows that migrations inserted, and marks the restore as unfinished. It
// returns ErrUnfinished if an earlier restore has not finished, and another error if the database
// has assets.
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
	r.tables = map[string]tables.Table{}
	for _, t := range all {
		r.tables[t.Name] = t
		if _, err := tx.Exec(ctx, "DELETE FROM "+r.d.Dialect.Quote(t.Name)); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, "INSERT INTO "+unfinished+" (id, began_at) VALUES (1, "+r.d.Dialect.NowMicros+")")
	return err
}

// take processes a line after the header. The result ended is true if the line was the last line.
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
			return false, fmt.Errorf("the export has %d rows, but its last line says %d", r.rows, *l.Rows)
		}
		return true, r.d.Write(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM "+unfinished)
			return err
		})
	}
	var known bool
	if r.table, known = r.tables[l.Table]; !known {
		return false, fmt.Errorf("table %s does not exist in this schema", l.Table)
	}
	return false, nil
}

// takeRow adds a row to the batch, and writes the batch if it is full. size is the length of
// the row's line in bytes.
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
		return fmt.Errorf("a row has a column that does not exist in table %s", r.table.Name)
	}
	r.rows++
	r.ofTable++
	r.batch = append(r.batch, values)
	if r.bytes += size; len(r.batch) < batchRows && r.bytes < batchBytes {
		return nil
	}
	return r.flush(ctx)
}

// parse converts a JSON value into an argument of INSERT, for a column of the given kind.
func parse(kind tables.Kind, text json.RawMessage) (any, error) {
	switch kind {
	case tables.Integer:
		var n int64
		err := json.Unmarshal(text, &n)
		return n, err
	case tables.Float:
		var f float64
		err := json.Unmarshal(text, &f)
		return f, err
	case tables.JSON:
		return string(text), nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil || kind == tables.Text {
		return s, err
	}
	return base64.StdEncoding.DecodeString(s)
}

// flush writes the batch in one transaction. It reports progress about every 50,000 rows.
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

// endTable writes the last batch of a table and reports its number of rows.
func (r *reader) endTable(ctx context.Context) error {
	if len(r.batch) > 0 {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	if r.table.Name != "" {
		r.at(r.table.Name, r.ofTable)
	}
	r.table, r.ofTable = tables.Table{}, 0
	return nil
}
