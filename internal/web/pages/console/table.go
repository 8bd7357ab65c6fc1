package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/web/ui"
)

// Bounds of a table of rows.
const (
	maxResultRows    = 1000 // rows of all tables of an answer together
	maxResultColumns = 100
	maxCellItems     = 20  // items of a list in a cell
	maxCell          = 300 // bytes of a text in a cell
	maxDeep          = 4   // nested lists and rows in a cell
)

// resultTable is a result set in the form of a table.
type resultTable struct {
	Columns []string
	Rows    [][]resultCell // one cell for each column
	Count   int            // all rows, including those that are not shown
	Wide    bool           // some columns are not shown
	Page    resultPage     // cursor and total of the query
}

// resultPage has the cursor and total that a query can request. Spec: interface 4.3.7.
type resultPage struct {
	Next  *string
	Total *int
}

// resultCell is a value as a sequence of texts and links.
type resultCell []linkedText

// linkedText is a text. If Oid is set, it is a link to the asset.
type linkedText struct{ Text, Oid string }

// readTable decodes a list of rows. Its columns are the member names of all rows, in the order
// in which they first appear. It keeps at most the given number of rows.
func readTable(d *json.Decoder, most int) (resultTable, error) {
	var t resultTable
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return t, errJSON
	}
	var rows []jsonObject
	err := eachElement(d, func() error {
		if t.Count++; t.Count > most {
			var skipped json.RawMessage
			return d.Decode(&skipped)
		}
		value, err := readOrdered(d)
		row, ok := value.(jsonObject)
		if !ok {
			row = jsonObject{{Name: "value", Value: value}}
		}
		rows = append(rows, row)
		return err
	})
	t.fill(rows)
	return t, err
}

// fill sets the columns and cells from rows.
func (t *resultTable) fill(rows []jsonObject) {
	at := map[string]int{}
	for _, row := range rows {
		for _, f := range row {
			if _, known := at[f.Name]; !known && len(t.Columns) == maxResultColumns {
				t.Wide = true
			} else if !known {
				at[f.Name] = len(t.Columns)
				t.Columns = append(t.Columns, f.Name)
			}
		}
	}
	for _, row := range rows {
		cells := make([]resultCell, len(t.Columns))
		for _, f := range row {
			if i, shown := at[f.Name]; shown {
				cells[i] = cellOf(f.Value)
			}
		}
		t.Rows = append(t.Rows, cells)
	}
}

// Hidden returns the number of rows that are not shown.
func (t resultTable) Hidden() int { return t.Count - len(t.Rows) }

// cellOf returns a value as texts and links.
func cellOf(v any) resultCell {
	var c resultCell
	c.add(v, 0)
	return c
}

func (c *resultCell) add(v any, depth int) {
	if depth > maxDeep {
		c.text("…")
		return
	}
	switch v := v.(type) {
	case nil:
	case jsonObject:
		c.row(v, depth)
	case []any:
		for i, item := range v {
			if i == maxCellItems {
				c.text(fmt.Sprintf(" and %d more", len(v)-i))
				return
			}
			if i > 0 {
				c.text(separator(item))
			}
			c.add(item, depth+1)
		}
	case string:
		switch {
		case v == oid.Null:
			return
		case namesAsset(v):
			*c = append(*c, linkedText{Text: v, Oid: v})
		default:
			c.text(beginOf(ui.RoleName(v), maxCell))
		}
	default:
		c.text(fmt.Sprint(v))
	}
}

// separator returns the text before a list item. Rows with several values contain commas, so
// they are separated by semicolons.
func separator(item any) string {
	if row, ok := item.(jsonObject); ok && len(row) > 1 {
		return "; "
	}
	return ", "
}

// row adds a row within a cell: the asset of the row and the other values of the row.
func (c *resultCell) row(row jsonObject, depth int) {
	row = slices.DeleteFunc(slices.Clone(row), func(f jsonMember) bool { return isNothing(f.Value) })
	for i, f := range row {
		token, _ := f.Value.(string)
		switch {
		case f.Name == "_oid" && namesAsset(token):
			*c = append(*c, linkedText{Text: token, Oid: token})
			continue
		case i > 0:
			c.text(" ")
		}
		if f.Name != "Name" && f.Name != "_oid" {
			c.text(f.Name + ": ")
		}
		if c.add(f.Value, depth+1); i+1 < len(row) && f.Name != "_oid" {
			c.text(",")
		}
	}
}

// isNothing reports whether a value is empty, so that a cell need not show it.
func isNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case jsonObject:
		return len(v) == 1 && v.get("_oid") == oid.Null
	case []any:
		return len(v) == 0
	}
	return v == ""
}

// text appends text to the cell.
func (c *resultCell) text(text string) {
	if n := len(*c); n > 0 && (*c)[n-1].Oid == "" {
		(*c)[n-1].Text += text
		return
	}
	*c = append(*c, linkedText{Text: text})
}

// namesAsset reports whether a text is an Oid, with or without a moment.
func namesAsset(text string) bool {
	if !strings.Contains(text, ":") || len(text) > 100 {
		return false
	}
	_, err := oid.Parse(text)
	return err == nil
}

// beginOf returns a text, cut off after a number of bytes.
func beginOf(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
