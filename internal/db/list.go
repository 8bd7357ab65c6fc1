package db

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxListed is how many characters a text of a List may have on MySQL: a longer
// column is not kept in a table that can be searched.
const maxListed = 400

// List returns a sub-select of one column called v with the values, and its one
// argument, so that its text is the same for any number of them. MariaDB
// rewrites longer lists of placeholders, drivers and servers take only so many,
// and each length would be a statement of its own. Where Dialect.Unfolds is false there
// is none.
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

// IDs returns what stands behind an IN of any number of ids, which are numbers of ours,
// and its arguments: a List, or where there is none the ids themselves.
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

// Listable reports whether a text may stand in a List as it is.
func (d *Dialect) Listable(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\x00") && (!d.mysql || len(s) <= maxListed || utf8.RuneCountInString(s) <= maxListed)
}

// Pairs returns the condition that rows of asset_version, by their columns id and
// moment, are some of which the ids and moments are given, and its arguments. A list for
// each column would mean their product, which servers plan for, and read where a column
// has few values; a list of pairs finds no key on MariaDB. SQLite looks up the product
// for a list of pairs, too, and is given the rows.
// Shape: "(t0.id, t0.moment) IN (SELECT l.a, l.b FROM JSON_TABLE(?, …) l)", "[[1003,1265],[1004,1271]]".
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
