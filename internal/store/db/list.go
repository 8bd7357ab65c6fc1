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

// List returns a sub-select with one column v, which contains the values, and the single argument
// of the sub-select. So the text of a statement is the same for any number of values. With a
// placeholder for each value, each number of values would be another statement. MariaDB also
// rewrites long lists, and drivers and servers limit their length. If Dialect.Unfolds is false, the
// server cannot read a List.
//
// values is a []int64, a []float64, or a []string. Each text must be Listable. If bytes is true,
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
		panic(err) // cannot happen: the numbers are finite, and all strings have a JSON form
	}
	if d.mysql {
		return "(SELECT " + prefix + "v" + suffix + " AS v FROM JSON_TABLE(?, '$[*]' COLUMNS(v " + kind + " PATH '$')) l)", string(text)
	}
	return "(SELECT " + prefix + "value" + suffix + " AS v FROM json_each(?))", string(text)
}

// IDs returns the SQL text after IN for any number of ids, and the arguments of this text. The text
// is a List. If the server cannot read a List, the text contains the ids themselves. The ids must
// come from the database or from alds, not from user input.
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

// Pairs returns the condition that a row of asset_version has one of these pairs of id and moment,
// and the arguments of the condition. A list of ids and a list of moments would match more: all
// combinations of them. Servers would plan for all combinations, and sometimes read them. A list of
// pairs is not enough either: MariaDB uses no index for it, and SQLite would look up all
// combinations. So SQLite gets the rowids of the rows.
// Example: "(t0.id, t0.moment) IN (SELECT l.a, l.b FROM JSON_TABLE(?, …) l)",
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
