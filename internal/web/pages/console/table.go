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
	maxResultRows    = 1000 // of all tables of an answer
	maxResultColumns = 100
	maxCellItems     = 20  // of a list in a cell
	maxCell          = 300 // bytes of the text of a cell
	maxDeep          = 4   // lists and rows within each other in a cell
)

// resultTable is a result set as a table.
type resultTable struct {
	Columns []string
	Rows    [][]resultCell // one cell for each column
	Count   int            // of all rows, also those that are not shown
	Wide    bool           // it has more columns than are shown
	Page    resultPage     // what the answer says beside the rows
}

// resultPage is what a query asks for beside its rows. Spec: interface 4.3.7.
type resultPage struct {
	Next  *string
	Total *int
}

// resultCell is a value as text and links.
type resultCell []linkedText

// linkedText is a text that may lead to an asset.
type linkedText struct{ Text, Oid string }

// readTable reads the list of rows that comes next. Its columns are the names of all
// rows, as they come; it shows at most as many rows as said.
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

// fill makes the cells of rows.
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

// Hidden is how many rows are not shown.
func (t resultTable) Hidden() int { return t.Count - len(t.Rows) }

// cellOf returns a value as text and links.
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

// separator stands before an item of a list: rows have commas of their own.
func separator(item any) string {
	if row, ok := item.(jsonObject); ok && len(row) > 1 {
		return "; "
	}
	return ", "
}

// row adds a row within a cell: its asset, and what else it says.
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

// isNothing reports whether a value says nothing within a cell.
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

// text adds text behind that which is there.
func (c *resultCell) text(text string) {
	if n := len(*c); n > 0 && (*c)[n-1].Oid == "" {
		(*c)[n-1].Text += text
		return
	}
	*c = append(*c, linkedText{Text: text})
}

// namesAsset reports whether a text names an asset or a version of one.
func namesAsset(text string) bool {
	if !strings.Contains(text, ":") || len(text) > 100 {
		return false
	}
	_, err := oid.Parse(text)
	return err == nil
}

// beginOf returns the begin of a text that is too long.
func beginOf(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	return strings.ToValidUTF8(text[:bytes], "") + "…"
}
