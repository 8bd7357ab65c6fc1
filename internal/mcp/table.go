package mcp

import (
	"encoding/json"
	"slices"
	"strings"
)

// table prints rows of a query as lines. Columns are separated by "|". A column that has the same
// value in all rows is printed once, before the rows.
type table struct {
	columns []string
	rows    [][]string // the Oid and the value of each column
	long    int        // maximum number of bytes of a value
}

// tableOf reads the values of some rows. Nested selects of the query have the text of their from as
// their column.
func tableOf(columns []string, rows []row) *table {
	t := &table{columns: columns, long: maxCell}
	if len(rows) == 1 {
		t.long = maxLong
	}
	for _, r := range rows {
		cells := make([]string, 0, len(columns)+1)
		cells = append(cells, r.oid())
		for _, c := range columns {
			cells = append(cells, clipped(r.text(c), t.long))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// minShared is the number of rows from which on equal columns are printed once.
const minShared = 3

// print appends the rows to the lines. It returns the number of rows that did fit.
func (t *table) print(l *lines) (printed int) {
	shown := make([]int, 0, len(t.columns))
	var shared []string
	for i, c := range t.columns {
		if v := t.same(i + 1); v != nil {
			shared = append(shared, c+" = "+*v)
		} else {
			shown = append(shown, i)
		}
	}
	if len(shared) > 0 {
		l.add("In all rows: ", strings.Join(shared, "|"))
	}
	head := []string{"Oid"}
	for _, i := range shown {
		head = append(head, t.columns[i])
	}
	l.add(strings.Join(head, "|"))
	for _, cells := range t.rows {
		line := []string{cells[0]}
		for _, i := range shown {
			line = append(line, cells[i+1])
		}
		for len(line) > 1 && line[len(line)-1] == "" {
			line = line[:len(line)-1]
		}
		if !l.add(strings.Join(line, "|")) {
			break
		}
		printed++
	}
	return printed
}

// same returns the value that all rows have in a column; nil: they differ, or there are few rows.
func (t *table) same(column int) *string {
	if len(t.rows) < minShared {
		return nil
	}
	first := t.rows[0][column]
	for _, cells := range t.rows[1:] {
		if cells[column] != first {
			return nil
		}
	}
	return &first
}

// columnsOf returns the columns of a select: its tokens, and the from of its nested selects.
func columnsOf(selected []json.RawMessage) []string {
	var names []string
	for _, one := range selected {
		name := textOf(one)
		if name == "" {
			var nested struct{ From string }
			if json.Unmarshal(one, &nested) == nil {
				name = nested.From
			}
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
