package db

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxListed is the maximum number of characters of a text in a List on MySQL. A longer column
// is not kept in a table that can be searched.
const maxListed = 400

// List returns a sub-select of the values, with one column v, and its single argument. So the
// text of a statement is the same for any number of values. With placeholders each number of
// values would be another statement; MariaDB rewrites long lists, and drivers and servers
// limit their length. If Dialect.Unfolds is false, the server cannot read a List.
// Shape: []int64, []float64, or []string of which each is Listable; with bytes
// the texts compare byte by byte.
func (d *Dialect) List(values any, bytes bool) (sql string, arg any) {
	kind, prefix, suffix := "", "", ""
	switch values.(type) {
	case []int64:
		kind = "BIGINT"
	case []float64:
		kind = "DOUBLE"
	case []string:
		if bytes {
			prefix, suffix = d.Bytes()
		}
		kind = fmt.Sprintf("VARCHAR(%d) CHARACTER SET utf8mb4%s", maxListed, d.Collate)
	default:
		panic(fmt.Sprintf("db: no list of %T", values))
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // numbers are finite, and strings always have a form
	}
	if d.mysql {
		return "(SELECT " + prefix + "v" + suffix + " AS v FROM JSON_TABLE(?, '$[*]' COLUMNS(v " + kind + " PATH '$')) l)", string(text)
	}
	return "(SELECT " + prefix + "value" + suffix + " AS v FROM json_each(?))", string(text)
}

// IDs returns what follows IN for any number of ids, and its arguments. It is a List, or the
// ids themselves if the server cannot read a List. The ids must be numbers of alds, not
// input.
func (d *Dialect) IDs(ids []int64) (sql string, args []any) {
	if d.Unfolds {
		sql, arg := d.List(ids, false)
		return sql, []any{arg}
	}
	if len(ids) == 0 {
		return "(NULL)", nil
	}
	text := []byte("(")
	for _, id := range ids {
		text = append(strconv.AppendInt(text, id, 10), ',')
	}
	text[len(text)-1] = ')'
	return string(text), nil
}

// Listable reports whether a text may be a value of a List.
func (d *Dialect) Listable(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\x00") && (!d.mysql || len(s) <= maxListed || utf8.RuneCountInString(s) <= maxListed)
}

// Pairs returns the condition that rows of asset_version have one of these pairs of id and
// moment, and its arguments. One list for each column would mean their product: servers plan
// for all of it, and read it when a column has few values. MariaDB finds no key for a list of
// pairs. SQLite would look up the product even for pairs, so it gets the rows.
// Shape: "(t0.id, t0.moment) IN (SELECT l.a, l.b FROM JSON_TABLE(?, …) l)",
// "[[1003,1265],[1004,1271]]".
func (d *Dialect) Pairs(alias string, pairs [][2]int64) (sql string, args []any) {
	open, end := byte('['), byte(']')
	if !d.Unfolds {
		open, end = '(', ')'
	}
	text := make([]byte, 0, 24*len(pairs)+2)
	for i, p := range pairs {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, open), p[0], 10)
		text = append(strconv.AppendInt(append(text, ','), p[1], 10), end)
	}
	if !d.Unfolds {
		return "(" + alias + ".id, " + alias + ".moment) IN (" + string(text) + ")", nil
	}
	args = []any{"[" + string(text) + "]"}
	if d.mysql {
		return "(" + alias + ".id, " + alias + ".moment) IN (SELECT l.a, l.b FROM JSON_TABLE(?, '$[*]' COLUMNS(a BIGINT PATH '$[0]', b BIGINT PATH '$[1]')) l)", args
	}
	return alias + ".rowid IN (SELECT v.rowid FROM json_each(?) l CROSS JOIN asset_version v" +
		" ON v.id = json_extract(l.value, '$[0]') AND v.moment = json_extract(l.value, '$[1]'))", args
}
