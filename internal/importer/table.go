package importer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// table is a CSV whose first row has the names of the columns. Columns with the same name are one
// column with several values.
type table struct {
	tape    *tape
	csv     *csv.Reader
	columns []string
	header  []byte
}

// newTable reads the header. It returns an error if the file is empty or the header is wrong.
func newTable(r io.Reader, separator rune) (*table, error) {
	t := &table{tape: newTape(newRowReader(r, separator))}
	t.csv = csv.NewReader(t.tape)
	t.csv.Comma = separator
	t.csv.ReuseRecord = true
	t.csv.FieldsPerRecord = -1
	row, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	for _, name := range row {
		t.columns = append(t.columns, strings.TrimSpace(name))
	}
	t.header, _ = t.tape.cut(t.csv.InputOffset(), "\r\n")
	if err := checkUTF8(t.header); err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	return t, nil
}

func (t *table) head() []byte   { return t.header }
func (t *table) suffix() string { return ".csv" }

// next reads a row. An empty cell has no value.
func (t *table) next() (record, error) {
	row, err := t.csv.Read()
	if errors.Is(err, io.EOF) || errors.Is(err, errRecordTooLong) || errors.Is(err, errTooManyFields) {
		return record{}, err
	}
	var parsing *csv.ParseError
	if err != nil && !errors.As(err, &parsing) {
		return record{}, err
	}
	rec := record{fields: map[string][]any{}}
	rec.raw, rec.line = t.tape.cut(t.csv.InputOffset(), "\r\n")
	switch {
	case err != nil:
		rec.err = parsing.Err
	case len(row) != len(t.columns):
		rec.err = fmt.Errorf("the row has %d fields, the header %d", len(row), len(t.columns))
	default:
		rec.err = checkUTF8(rec.raw)
	}
	for i, text := range row {
		switch {
		case i >= len(t.columns):
		case text != "":
			rec.fields[t.columns[i]] = append(rec.fields[t.columns[i]], text)
		case !rec.has(t.columns[i]):
			rec.fields[t.columns[i]] = nil
		}
	}
	return rec, nil
}

var errTooManyFields = fmt.Errorf("a row has more than %d fields", maxFields)

// rowReader ends the reading of a CSV when a row has too many fields. encoding/csv would read
// the whole row into memory first.
type rowReader struct {
	r         io.Reader
	separator byte // the last byte of the separator
	n         int  // number of separators in the row so far
	begins    bool // true: the next character is the first of a field
	quoted    bool // true: inside a field that began with a quote
	closed    bool // true: the last character was a quote that may have ended such a field
}

func newRowReader(r io.Reader, separator rune) *rowReader {
	s := string(separator)
	return &rowReader{r: r, separator: s[len(s)-1], begins: true}
}

// Read implements io.Reader. Errors: errTooManyFields; errors of r.
func (f *rowReader) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	for _, c := range b[:n] {
		if f.quoted {
			f.closed = c == '"'
			f.quoted = !f.closed
			continue
		}
		f.quoted = c == '"' && (f.begins || f.closed)
		f.begins, f.closed = c == f.separator || c == '\n', false
		switch c {
		case '\n':
			f.n = 0
		case f.separator:
			if f.n++; f.n >= maxFields {
				return 0, errTooManyFields
			}
		}
	}
	return n, err
}
