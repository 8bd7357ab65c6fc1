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
)

// form is the number of the form of the lines.
const form = 1

// header is the first line.
type header struct {
	ALDS    string `json:"alds"` // "export"
	Form    int    `json:"form"`
	Release string `json:"release"`
	Schema  int    `json:"schema"` // the last migration
}

// unfinished is the table that has a row while a restore has not ended.
const unfinished = "unfinished_restore"

// left are the tables of which nothing is written.
var left = []string{"schema_migration", "process", "system_check", "write_lock", "member_write", unfinished}

// Progress is told the rows of a table so far, now and then and at its end.
type Progress func(table string, rows int64)

// every is how many rows lie between two reports of progress.
const every = 50_000

// Write writes all data of a database in one snapshot, whatever is written meanwhile.
// Shape: see the package. It returns how many rows there are.
// Errors: those of reading and writing, and a text that is not UTF-8.
func Write(ctx context.Context, d *db.DB, w io.Writer, release string, at Progress) (rows int64, err error) {
	out := bufio.NewWriterSize(w, 1<<20)
	err = d.ReadLong(ctx, func(tx *db.Tx) error {
		tables, err := dataTables(ctx, tx, d.Dialect)
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
		for _, t := range tables {
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

// dataTables returns the tables that hold data, by name, without the columns of locks.
func dataTables(ctx context.Context, q db.Querier, d *db.Dialect) ([]db.Table, error) {
	all, err := db.Tables(ctx, q, d)
	all = slices.DeleteFunc(all, func(t db.Table) bool { return slices.Contains(left, t.Name) })
	for i := range all {
		all[i].Columns = slices.DeleteFunc(all[i].Columns, func(c db.TableColumn) bool { return c.Name == db.LockCount })
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

func writeTable(ctx context.Context, q db.Querier, d *db.Dialect, t db.Table, w *bufio.Writer, at Progress) (int64, error) {
	if err := writeLine(w, map[string]string{"table": t.Name}); err != nil {
		return 0, err
	}
	p := newParts(q, d, t, w)
	for told, more := int64(0), true; more; {
		var err error
		if more, err = p.next(ctx); err != nil {
			return p.rows, err
		}
		if p.rows/every > told/every || !more {
			told = p.rows
			at(t.Name, told)
		}
	}
	return p.rows, nil
}

// cell is a column of the row that was read last.
type cell struct {
	db.TableColumn
	name    string // as the key of a JSON object
	integer sql.NullInt64
	float   sql.NullFloat64
	text    sql.RawBytes // nil for NULL
}

func (c *cell) target() any {
	switch c.Kind {
	case db.Integer:
		return &c.integer
	case db.Float:
		return &c.float
	}
	return &c.text
}

// value is the cell as an argument of a statement.
func (c *cell) value() any {
	switch c.Kind {
	case db.Integer:
		return c.integer.Int64
	case db.Bytes:
		return bytes.Clone(c.text)
	}
	return string(c.text)
}

// append appends the cell to an object, unless it is NULL. begun is where the members of the
// object begin.
func (c *cell) append(b []byte, begun int) ([]byte, error) {
	if !c.integer.Valid && !c.float.Valid && c.text == nil {
		return b, nil
	}
	if len(b) > begun {
		b = append(b, ',')
	}
	b = append(b, c.name...)
	switch c.Kind {
	case db.Integer:
		return strconv.AppendInt(b, c.integer.Int64, 10), nil
	case db.Float:
		return appendFloat(b, c.float.Float64), nil
	case db.Bytes:
		b = append(b, '"')
		return append(base64.StdEncoding.AppendEncode(b, c.text), '"'), nil
	case db.JSON:
		return appendDocument(b, c.text)
	}
	if !utf8.Valid(c.text) {
		return b, fmt.Errorf("%s is not UTF-8", c.Name)
	}
	return value.AppendString(b, c.text), nil
}

func appendFloat(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }

// appendDocument appends a JSON text in the one form that all databases give: keys
// sorted, no space, numbers with a fraction in their shortest form.
func appendDocument(b []byte, text []byte) ([]byte, error) {
	read := json.NewDecoder(bytes.NewReader(text))
	read.UseNumber()
	var v any
	if err := read.Decode(&v); err != nil {
		return b, fmt.Errorf("JSON %.100s: %w", text, err)
	}
	return appendValue(b, v), nil
}

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
