package importer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// table is a CSV whose first row names the columns. A name may come more than once;
// its column then has several values.
type table struct {
	tape    *tape
	csv     *csv.Reader
	columns []string
	header  []byte
}

// newTable reads the header. Errors: one that says what is wrong with it.
func newTable(r io.Reader, separator rune) (*table, error) {
	t := &table{tape: newTape(r)}
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

// next reads a row. A cell that is empty is no value.
func (t *table) next() (record, error) {
	row, err := t.csv.Read()
	if errors.Is(err, io.EOF) || errors.Is(err, errRecordTooLong) {
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
		if i < len(t.columns) && text != "" {
			rec.fields[t.columns[i]] = append(rec.fields[t.columns[i]], text)
		}
	}
	return rec, nil
}
