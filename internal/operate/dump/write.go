package dump

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/tables"
)

// form is the version of the export format.
const form = 1

// header is the first line of an export.
type header struct {
	ALDS    string `json:"alds"` // "export"
	Form    int    `json:"form"`
	Release string `json:"release"`
	Schema  int    `json:"schema"` // number of the last migration
}

// unfinished is the name of a table. The table has a row while a restore has not finished.
const unfinished = "unfinished_restore"

// left has the names of the tables that an export omits.
var left = []string{"schema_migration", "process", "system_check", "write_lock", "member_write", unfinished}

// Progress is called about every 50,000 rows, and at the end of each table. rows is the number of
// rows of the table so far.
type Progress func(table string, rows int64)

// every is the number of rows between two calls of Progress.
const every = 50_000

// Write exports all data of a database from one snapshot, which does not contain concurrent writes.
// The package comment describes the format. release is stored in the header. rows is the number of
// exported rows. Write returns errors of the database and of w, and an error for a text that is not
// UTF-8.
func Write(ctx context.Context, d *db.DB, w io.Writer, release string, at Progress) (rows int64, err error) {
	out := bufio.NewWriterSize(w, 1<<20)
	err = d.ReadLong(ctx, func(tx *db.Tx) error {
		all, err := dataTables(ctx, tx, d.Dialect)
		if err != nil {
			return err
		}
		schema, _, err := d.Schema(ctx)
		if err != nil {
			return err
		}
		if err := writeLine(out, header{"export", form, release, schema}); err != nil {
			return err
		}
		for _, t := range all {
			n, err := writeTable(ctx, tx, d.Dialect, t, out, at)
			if err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
			rows += n
		}
		return writeLine(out, end{&rows})
	})
	if err != nil {
		return 0, err
	}
	return rows, out.Flush()
}

// dataTables returns the tables of an export in the order of tables.All, without the columns
// that count locks.
func dataTables(ctx context.Context, q db.Querier, d *db.Dialect) ([]tables.Table, error) {
	all, err := tables.All(ctx, q, d)
	all = slices.DeleteFunc(all, func(t tables.Table) bool { return slices.Contains(left, t.Name) })
	for i := range all {
		all[i].Columns = slices.DeleteFunc(all[i].Columns, func(c tables.Column) bool { return c.Name == db.LockCount })
	}
	return all, err
}

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

func writeTable(
	ctx context.Context, q db.Querier, d *db.Dialect, t tables.Table, w *bufio.Writer, at Progress,
) (int64, error) {
	if err := writeLine(w, map[string]string{"table": t.Name}); err != nil {
		return 0, err
	}
	p := newParts(q, d, t, w)
	for reported, more := int64(0), true; more; {
		var err error
		if more, err = p.next(ctx); err != nil {
			return p.rows, err
		}
		if p.rows/every > reported/every || !more {
			reported = p.rows
			at(t.Name, reported)
		}
	}
	return p.rows, nil
}

// cell is a column with its value in the row that was read last. The kind of the column determines
// which of the fields integer, float and text has the value.
type cell struct {
	tables.Column
	name    string // the name as a JSON key: quoted, with a colon
	integer sql.NullInt64
	float   sql.NullFloat64
	text    sql.RawBytes // nil for NULL
}

// target returns the pointer for Scan.
func (c *cell) target() any {
	switch c.Kind {
	case tables.Integer:
		return &c.integer
	case tables.Float:
		return &c.float
	}
	return &c.text
}

// value returns the value as an argument of a statement. The value stays valid when the next row is
// scanned.
func (c *cell) value() any {
	switch c.Kind {
	case tables.Integer:
		return c.integer.Int64
	case tables.Bytes:
		return bytes.Clone(c.text)
	}
	return string(c.text)
}

// append appends the cell to a JSON object, unless the value is NULL. begun is the offset of the
// first member of the object in b.
func (c *cell) append(b []byte, begun int) ([]byte, error) {
	if !c.integer.Valid && !c.float.Valid && c.text == nil {
		return b, nil
	}
	if len(b) > begun {
		b = append(b, ',')
	}
	b = append(b, c.name...)
	switch c.Kind {
	case tables.Integer:
		return strconv.AppendInt(b, c.integer.Int64, 10), nil
	case tables.Float:
		return appendFloat(b, c.float.Float64), nil
	case tables.Bytes:
		b = append(b, '"')
		return append(base64.StdEncoding.AppendEncode(b, c.text), '"'), nil
	case tables.JSON:
		return appendDocument(b, c.text)
	}
	if !utf8.Valid(c.text) {
		return b, fmt.Errorf("%s is not UTF-8", c.Name)
	}
	return value.AppendString(b, c.text), nil
}

func appendFloat(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }

// appendDocument appends a JSON text in a form that does not depend on the database. Keys are
// sorted, there are no spaces, and numbers with a fraction or an exponent have their shortest form.
func appendDocument(b []byte, text []byte) ([]byte, error) {
	read := json.NewDecoder(bytes.NewReader(text))
	read.UseNumber()
	var v any
	if err := read.Decode(&v); err != nil {
		return b, fmt.Errorf("JSON %.100s: %w", text, err)
	}
	return appendValue(b, v), nil
}

// appendValue appends a decoded JSON value in the form of appendDocument.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(append(value.AppendString(b, name), ':'), v[name])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e)
		}
		return append(b, ']')
	case string:
		return value.AppendString(b, v)
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return appendFloat(b, f)
		}
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}
